"""The models of AllenNLP's storage: the paper's own, and those of contributors."""

from elmo_keras.models.file_names import SOFTMAX, VOCABULARY, WEIGHTS
from elmo_keras.models.published_model import (
    PublishedModel,
    RemoteFile,
    options_and_weights,
)

BASE = "https://allennlp.s3.amazonaws.com/models/elmo"
NEWS = "1 Billion Word Benchmark"
ORIGINAL = "2x4096_512_2048cnn_2xhighway"
ORIGINAL_MEGABYTES = 374


def _files(folder, stem=None, weights="weights"):
    stem = f"{BASE}/{folder}/elmo_{stem or folder}"
    return options_and_weights(f"{stem}_options.json", f"{stem}_{weights}.hdf5")


def _with_size(files, size):
    options, weights = files
    return options, weights._replace(size=size)


def _softmax(folder, vocabulary):
    address = f"{BASE}/{folder}/elmo_{folder}_softmax_weights.hdf5"
    return (
        RemoteFile(address, SOFTMAX),
        RemoteFile(f"{BASE}/{vocabulary}", VOCABULARY),
    )


def _checkpoint():
    folder = f"{BASE}/{ORIGINAL}_tf_checkpoint"
    endings = ".index", ".data-00000-of-00001"
    names = ["checkpoint", "options.json", *(f"model.ckpt-935588{e}" for e in endings)]
    return (
        *(RemoteFile(f"{folder}/{name}", name) for name in names),
        RemoteFile(f"{BASE}/vocab-2016-09-10.txt", VOCABULARY),
    )


ALLENNLP_MODELS = (
    PublishedModel(
        "small",
        "English",
        _files("2x1024_128_2048cnn_1xhighway"),
        text=NEWS,
        megabytes=54,
    ),
    PublishedModel(
        "medium",
        "English",
        _files("2x2048_256_2048cnn_1xhighway"),
        text=NEWS,
        megabytes=112,
    ),
    PublishedModel(
        "original",
        "English",
        _with_size(_files(ORIGINAL), 374_434_792),
        text=NEWS,
        megabytes=ORIGINAL_MEGABYTES,
        extra=_softmax(ORIGINAL, f"{ORIGINAL}/vocab-2016-09-10.txt"),
    ),
    PublishedModel(
        "original_checkpoint",
        "English",
        _checkpoint(),
        "TF 1 checkpoint",
        text=f"{NEWS}, with softmax",
    ),
    PublishedModel(
        "5.5B",
        "English",
        _files(f"{ORIGINAL}_5.5B"),
        aliases=("large",),
        text="Wikipedia and news",
        megabytes=ORIGINAL_MEGABYTES,
        extra=_softmax(
            f"{ORIGINAL}_5.5B",
            f"{ORIGINAL}_5.5B/tf_checkpoint/vocab-enwiki-news-500000.txt",
        ),
    ),
    PublishedModel(
        "pubmed",
        "English",
        _files("contributed/pubmed", ORIGINAL, "weights_PubMed_only"),
        text="PubMed",
        megabytes=ORIGINAL_MEGABYTES,
    ),
    PublishedModel(
        "pt",
        "Portuguese",
        _files("contributed/pt", "pt"),
        aliases=("portuguese",),
        text="Wikipedia",
    ),
    PublishedModel(
        "pt_brwac",
        "Portuguese",
        text="brWaC",
        unavailable=(
            "only the address of its options is known, "
            f"{BASE}/contributed/pt/brwac/options.json. With its weights "
            f"(elmo_pt_weights_dgx1.hdf5) save both in a folder, as options.json and "
            f"{WEIGHTS}, and give the folder"
        ),
    ),
    PublishedModel(
        "japanese",
        "Japanese",
        layout="",
        unavailable="AllenNLP listed it in 2019 and withdrew it; nlpl:160 is Japanese",
    ),
)
