"""Models that were published in places of their own."""

from elmo_keras.models.file_names import OPTIONS, WEIGHTS
from elmo_keras.models.published_model import (
    PublishedModel,
    RemoteFile,
    archive,
    options_and_weights,
)

GERMAN = "https://github.com/t-systems-on-site-services-gmbh/german-elmo-model/releases"
EMBEDDIA = "https://www.clarin.si/repository/xmlui/bitstream/handle/11356/1277"
EMBEDDIA_LANGUAGES = {
    "hr": "croatian",
    "et": "estonian",
    "fi": "finnish",
    "lv": "latvian",
    "lt": "lithuanian",
    "sl": "slovenian",
    "sv": "swedish",
}
DROPBOX = "https://www.dropbox.com/s"
CROSS_LINGUAL = {
    "en": ("English", "1h62kc1qdcuyy2u"),
    "es": ("Spanish", "ygfjm7zmufl5gu2"),
    "fr": ("French", "mm64goxb8wbawhj"),
    "it": ("Italian", "owfou7coi04dyxf"),
    "pt": ("Portuguese", "ul82jsal1khfw5b"),
    "sv": ("Swedish", "boptz21zrs4h3nw"),
    "de": ("German", "2kbjnvb12htgqk8"),
}
MIRROR_OF_ORIGINAL = "lysandre/elmo-2x4096_512_2048cnn_2xhighway"
TF_HUB = "https://tfhub.dev"
DEEPPAVLOV = "http://files.deeppavlov.ai/deeppavlov_data"
APACHE = "Apache 2.0"


def _embeddia(code, language):
    return PublishedModel(
        language,
        language.title(),
        archive(f"{EMBEDDIA}/{language}-elmo.tar.gz"),
        "tar.gz",
        aliases=(code,),
        text="EMBEDDIA",
    )


def _cross_lingual(code, language, key):
    return PublishedModel(
        f"crosslingual_{code}",
        language,
        options_and_weights(
            f"{DROPBOX}/ypjuzlf7kj957g3/options262.json?dl=1",
            f"{DROPBOX}/{key}/{code}_weights.hdf5?dl=1",
        ),
        text="Wikipedia (Schuster et al. 2019)",
    )


def _tf_hub(version):
    handle = f"google/elmo/{version}"
    address = f"{TF_HUB}/{handle}?tf-hub-format=compressed"
    return PublishedModel(
        handle,
        "English",
        (RemoteFile(address, f"elmo_{version}.tar.gz"),),
        "TF Hub",
        aliases=(f"{TF_HUB}/{handle}",),
        text="1 Billion Word Benchmark",
    )


def _deeppavlov(name, text, file):
    return PublishedModel(
        name,
        "Russian",
        archive(f"{DEEPPAVLOV}/{file}"),
        "TF Hub",
        text=text,
        licence=APACHE,
    )


_GERMAN_FILES = (
    RemoteFile(
        f"{GERMAN}/download/files_1/options.json",
        OPTIONS,
        "sha1:04afb8bc77acf5e65633ced2efc1e91d05332e89",
    ),
    RemoteFile(
        f"{GERMAN}/download/files_1/weights.hdf5",
        WEIGHTS,
        "sha1:9084adab3eefaed4f07da7331217fcb873417add",
    ),
)

OTHER_MODELS = (
    PublishedModel(
        "german",
        "German",
        _GERMAN_FILES,
        text="Wikipedia with talk pages",
        licence="BSD 2-clause",
    ),
    PublishedModel(
        "german_checkpoint",
        "German",
        layout="TF 1 checkpoint",
        text="Wikipedia with talk pages, with softmax",
        licence="BSD 2-clause",
        unavailable=(
            f"it is published in four parts at {GERMAN}/tag/files_1. Join them, unpack "
            "bilm-output-result.tgz, and give the folder"
        ),
    ),
    PublishedModel(
        "seqvec",
        "proteins",
        archive("https://rostlab.org/~deepppi/seqvec.zip"),
        "zip",
        text="UniRef50; a word is an amino acid",
        licence="MIT",
    ),
    PublishedModel(
        "seqvec_checkpoint",
        "proteins",
        archive("https://rostlab.org/~deepppi/seqvec_checkpoint.tar.gz"),
        "TF 1 checkpoint",
        text="UniRef50",
        licence="MIT",
    ),
    *(_embeddia(code, language) for code, language in EMBEDDIA_LANGUAGES.items()),
    *(_cross_lingual(code, *of) for code, of in CROSS_LINGUAL.items()),
    *map(_tf_hub, (1, 2, 3)),
    _deeppavlov(
        "deeppavlov_ru_news", "news", "elmo_ru-news_wmt11-16_1.5M_steps.tar.gz"
    ),
    _deeppavlov("deeppavlov_ru_wiki", "Wikipedia", "elmo_ru-wiki_600k_steps.tar.gz"),
    PublishedModel(
        "deeppavlov_ru_lm",
        "Russian",
        licence=APACHE,
        unavailable=(
            "no public source states the address of elmo-lm-ready4fine-tuning-ru-…. "
            "Unpack the archive that DeepPavlov downloads, and give the folder"
        ),
    ),
    PublishedModel(
        "ratsgo_ko",
        "Korean",
        layout="TF 1 checkpoint",
        text="Wikipedia, film reviews and KorQuAD; morphemes of mecab",
        unavailable=(
            "Google Drive gives it only to a browser: "
            "https://drive.google.com/uc?id=1go2JtVeYBOjkBCWJWk8inkSpVg7VfFVp. Unpack "
            "it and give the folder"
        ),
    ),
    PublishedModel(
        "spark_nlp",
        "English",
        layout="TF Hub",
        unavailable="Spark NLP's `elmo` is google/elmo/3 in another form; give that name",
    ),
)
