"""The kinds of heads, a row each. Whoever adds a kind adds a folder and a row.

A reference `MODULE:NAME` names what a kind needs within `elmo_keras.heads`. It is imported
when it is first used, so that only training, exports and heads without a light network
wait for TensorFlow.
"""

import importlib
from typing import Any, NamedTuple

from elmo_keras.base.argument_checks import shortened


class Kind(NamedTuple):
    name: str  # as users give it
    task: str  # how its examples are read, learned and scored
    model: str  # the network by Keras
    pipeline: str  # text in, answers out
    light: str | None = None  # the network without TensorFlow, if there is one
    graph: str | None = None  # answers by TensorFlow alone, if heads are exported
    arithmetic: str = "int8"  # computes the layers that `light` reads
    # Layers and weights that make logits, which a head's temperature divides.
    logits: tuple[str, ...] = ()


_TAGGER = {
    "model": "tagger.model:Tagger",
    "light": "tagger.light:LightTagger",
    "graph": "tagger.graph:answers",
    "logits": ("tag_scores", "crf"),
}
_ROWS = (
    Kind(
        "pos",
        "tagger.task:PosTagging",
        pipeline="tagger.pipeline:WordPipeline",
        **_TAGGER,
    ),
    Kind(
        "ner",
        "tagger.task:EntityTagging",
        pipeline="tagger.pipeline:EntityPipeline",
        **_TAGGER,
    ),
    Kind(
        "srl",
        "tagger.task:RoleTagging",
        pipeline="tagger.pipeline:RolePipeline",
        **_TAGGER,
    ),
    Kind(
        "ud",
        task="parser.task:Parsing",
        model="parser.model:DependencyParser",
        pipeline="parser.pipeline:SyntaxPipeline",
        light="parser.light:LightParser",
        logits=("arcs", "relation_scores"),
    ),
    Kind(
        "coref",
        task="coreference.task:Coreference",
        model="coreference.model:CoreferenceModel",
        pipeline="coreference.pipeline:CoreferencePipeline",
        light="coreference.light:LightCoreference",
        arithmetic="float32",  # by int8, GUM's F1 is 0.4 lower
        logits=("mention_scores", "antecedents/bilinear", "antecedents/scores"),
    ),
    Kind(
        "qa",
        task="answering.task:Answering",
        model="answering.model:QuestionAnswering",
        pipeline="answering.pipeline:AnswerPipeline",
        light="answering.light:LightAnswerer",
        graph="answering.graph:answers",
        logits=("start_scores", "end_scores", "no_answer_score"),
    ),
    Kind(
        "classify",
        task="classifier.task:Classification",
        model="classifier.model:TextClassifier",
        pipeline="classifier.pipeline:LabelPipeline",
        light="classifier.light:LightClassifier",
        graph="label_model:answers",
        logits=("decision", "ngrams"),
    ),
    Kind(
        "entail",
        task="entailment.task:Entailment",
        model="entailment.model:ESIM",
        pipeline="entailment.pipeline:EntailmentPipeline",
        graph="label_model:answers",
        logits=("decision",),
    ),
)
KINDS = {kind.name: kind for kind in _ROWS}


def find_kind(name: str) -> Kind:
    """The kind of a name; a ValueError lists the names."""
    if name not in [*KINDS]:
        raise ValueError(
            f"`kind` should be one of {', '.join(KINDS)}. Received: {shortened(name):.200}"
        )
    return KINDS[name]


def load(reference: str | None) -> Any:
    """Imports the object that a reference names.

    Raises:
        ValueError: the kind has none.
    """
    if reference is None:
        raise ValueError("This kind of head has no such part.")
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(f"elmo_keras.heads.{module}"), name)


def load_models() -> None:
    """Imports the networks of all kinds, so that Keras knows their classes."""
    for kind in KINDS.values():
        load(kind.model)
