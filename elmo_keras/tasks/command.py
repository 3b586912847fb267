"""The commands of the tasks: each trains a model and prints its scores."""

from typing import Annotated

from cyclopts import Parameter

from elmo_keras.tasks.task import (
    Answering,
    Classification,
    Coreference,
    Entailment,
    Settings,
    Tagging,
    Task,
)
from elmo_keras.util.command import import_tensorflow

FIELDS = Parameter(name="*")  # of a dataclass: each is an option
Options = Annotated[Settings, FIELDS]


def tag(*, settings: Options, task: Annotated[Tagging | None, FIELDS] = None) -> None:
    """Trains a tagger: parts of speech, named entities, semantic roles.

    Files are CoNLL-U (--kind pos: accuracy), columns with entities as IO, BIO, BIOES
    or BMES (--kind ner: F1 of entities), or columns with the word, the predicate and a
    column of BIO tags or brackets for each predicate (--kind srl: F1 of arguments as the
    script of CoNLL-2005 counts, without the predicate itself, which is given; --kind
    predicates: F1 of the predicates in the same files).

        elmo-keras tag --train train.conllu --dev dev.conllu --output DIR
        elmo-keras tag --train train.conll --dev dev.conll --output DIR --model en
    """
    _train(task or Tagging(), settings)


def classify(
    *, settings: Options, task: Annotated[Classification | None, FIELDS] = None
) -> None:
    """Trains a classifier of texts.

    Files are JSON lines, or tables whose first line names the columns: `text` and
    `label`; or `labels` if a text may have none or several. The scores are accuracy, or
    macro and micro F1.

        elmo-keras classify --train train.jsonl --dev dev.jsonl --output DIR
        elmo-keras classify --train train.tsv --output DIR --model ko
    """
    _train(task or Classification(), settings)


def entail(
    *, settings: Options, task: Annotated[Entailment | None, FIELDS] = None
) -> None:
    """Trains a model of entailment: whether a hypothesis follows from a premise.

    Files are JSON lines, or tables whose first line names the columns: `premise`,
    `hypothesis` and `label`. The score is accuracy.

        elmo-keras entail --train train.tsv --dev dev.tsv --output DIR --model en
    """
    _train(task or Entailment(), settings)


def answer(
    *, settings: Options, task: Annotated[Answering | None, FIELDS] = None
) -> None:
    """Trains a model that answers questions with a span of a text.

    Files are SQuAD's JSON, version 1.1 or 2.0; a model learns that some questions have
    no answer if --train has such questions, and gives none where that raises F1 on the
    held-out ones. The scores are F1 and exact match as SQuAD's scripts compute them.

        elmo-keras answer --train train.json --dev dev.json --output DIR
    """
    _train(task or Answering(), settings)


def coreference(
    *, settings: Options, task: Annotated[Coreference | None, FIELDS] = None
) -> None:
    """Trains a model of coreference: which mentions refer to the same entity.

    Files have the columns of CoNLL-2012. Each step reads one document, so --batch-size
    has no effect; the documents of --train are cut into parts of --sentences. The first
    score is the mean F1 of MUC, B³ and CEAF φ4. Whether entities that are mentioned only
    once are learned, found and scored depends on --train: they are if it has such,
    unless --no-singletons leaves them out of all files.

        elmo-keras coreference --train train.conll --dev dev.conll --output DIR
    """
    _train(task or Coreference(), settings)


def _train(task: Task, settings: Settings) -> None:
    import_tensorflow()
    from elmo_keras.tasks.fit import MODEL, train

    results = train(task, settings, progress=True)
    for part in ("dev", "test"):
        if scores := results[part]:
            text = ", ".join(f"{name} {100 * x:.2f}" for name, x in scores.items())
            print(f"{part}: {text}")
    print(f"The model is in {settings.output / MODEL}")
