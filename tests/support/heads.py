"""Small heads with random weights, on a small language model."""

from pathlib import Path

from elmo_keras import Elmo
from elmo_keras.heads import (
    ESIM,
    CoreferenceModel,
    DependencyParser,
    QuestionAnswering,
    Tagger,
    TextClassifier,
    TokenVectors,
    save_head,
)
from elmo_keras.heads.head import PREDICATES
from elmo_keras.heads.parser.decoding import lemma_rule
from tests.support.task_models import built

WORDS = ["the", "bank", "of"]
ENDINGS = ["e", "nk", "r", "ver"]
TAGS = ["DET", "NOUN", "X"]
SPANS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
ROLES = ["B-A0", "B-V", "I-A0", "O"]
MAKERS = {
    "pos": lambda vectors: Tagger(vectors, tags=TAGS, units=3),
    "ner": lambda vectors: Tagger(vectors, tags=SPANS, units=3),
    "plain": lambda vectors: Tagger(vectors, tags=SPANS, units=3, crf=False),
    "srl": lambda vectors: Tagger(vectors, tags=ROLES, units=3, predicate_dim=2),
    "predicates": lambda vectors: Tagger(vectors, tags=["B-V", "O"], units=3),
    "sentiment": lambda vectors: TextClassifier(vectors, labels=["0", "1"], units=3),
    "ngrams": lambda vectors: TextClassifier(
        vectors, labels=["0", "1"], ngram_rows=64, units=3
    ),
    "emotions": lambda v: TextClassifier(
        v, labels=["a", "b", "c"], multi_label=True, units=3
    ),
    "entail": lambda vectors: ESIM(vectors, labels=["no", "yes"], units=3),
    "qa": lambda vectors: QuestionAnswering(vectors, units=3),
    "doubting": lambda v: QuestionAnswering(v, units=3, unanswerable=True),
    "ud": lambda vectors: DependencyParser(
        vectors,
        relations=["dep", "nmod", "punct"],
        labels={
            "upos": TAGS,
            "xpos": ["A", "B"],
            "feats": ["Number=Sing", "_"],
            "lemma": [lemma_rule("banks", "bank"), lemma_rule("The", "the")],
            "joined": ["no", "yes"],
        },
        lemmas={"banks": "known"},
        units=3,
        arc_units=7,
        relation_units=2,
        label_units=5,
    ),
    "coref": lambda vectors: CoreferenceModel(
        vectors, units=3, hidden_units=5, longest=3
    ),
}


def task_model(kind, language_model, elmo_at="input", *, word_dim=5, **elmo):
    """A model of a task with random weights on the language model's own."""
    n = 2 if elmo_at == "both" else 1
    layer = Elmo.from_pretrained(language_model, num_representations=n, **elmo)
    weights = layer.bilm.get_weights()
    endings = ENDINGS if kind == "ud" else ()
    options = {"elmo": layer, "elmo_at": elmo_at, "endings": endings}
    vectors = TokenVectors(WORDS if word_dim else [], word_dim, 0, **options)
    model = built(MAKERS[kind](vectors))
    layer.bilm.set_weights(weights)
    return model


def save_task_model(kind, language_model, folder, elmo_at="input", **elmo):
    """The path of the model's file."""
    model = task_model(kind, language_model, elmo_at, **elmo)
    path = Path(folder) / f"{kind}.keras"
    model.save(path)
    return path


def make_head(
    kind, language_model, folder, elmo_at="input", *, settings=None, **metadata
):
    """The folder of a head, below `folder`."""
    head = Path(folder) / kind
    model = task_model(kind, language_model, elmo_at, **(settings or {}))
    save_head(model, str(language_model), head, **metadata)
    if kind == "srl":
        model = task_model("predicates", language_model)
        save_head(model, str(language_model), head / PREDICATES)
    return head
