"""The commands of the tasks: each trains a model, or compares several in a table."""

from typing import Annotated

from cyclopts import Parameter

from elmo_keras.tasks.answer.task import Answering
from elmo_keras.tasks.classify.task import Classification
from elmo_keras.tasks.compare import compare
from elmo_keras.tasks.coreference_task import Coreference
from elmo_keras.tasks.entail.task import Entailment
from elmo_keras.tasks.tag.task import Tagging

# The fields of a dataclass are options of the command.
FIELDS = Parameter(name="*")


def tag(task: Annotated[Tagging, FIELDS]) -> None:
    """Trains taggers: parts of speech, named entities, semantic roles.

    Files are CoNLL-U (--kind pos: accuracy), columns with entities as IO, BIO, BIOES
    or BMES (--kind ner: F1 of entities), KLUE's entities (--kind klue), or columns with the
    word, the predicate and a column of BIO tags or brackets for each predicate (--kind srl: F1 of
    arguments as the script of CoNLL-2005 counts, without the predicate itself, which is
    given; --kind predicates: F1 of the predicates in the same files).

        elmo-keras tag --train train.conllu --dev dev.conllu --output DIR
        elmo-keras tag --train train.conll --dev dev.conll --output DIR --model en \\
            --baseline --seeds 1 2 3
        elmo-keras tag --train train.conll --dev dev.conll --output DIR --model en \\
            --table shares --picture shares.png
    """
    compare(task)


def classify(task: Annotated[Classification, FIELDS]) -> None:
    """Trains classifiers of texts.

    Files are lines of `__label__LABEL text` (--format fasttext), lines of trees as in
    the Stanford Sentiment Treebank (trees), or a table with the columns `document` and
    `label` (nsmc). Each text has one label, and the score is accuracy. With --format
    goemotions, each line has a text, the indices of its labels (named in --labels) and
    an id; the scores are macro and micro F1.

        elmo-keras classify --train train.txt --dev dev.txt --output DIR
        elmo-keras classify --format nsmc --train train.tsv --output DIR --model ko \\
            --baseline --seeds 1 2 3
    """
    compare(task)


def entail(task: Annotated[Entailment, FIELDS]) -> None:
    """Trains models of entailment: whether a hypothesis follows from a premise.

    Files are lines of premise, hypothesis and label, separated by tabs (--format tabs),
    SNLI's and MultiNLI's lines of JSON (snli), KorNLI's table (kornli), or KLUE's JSON
    (klue). The score is accuracy.

        elmo-keras entail --train train.txt --dev dev.txt --output DIR
        elmo-keras entail --format snli --train snli_1.0_train.jsonl --output DIR \\
            --model en --baseline --seeds 1 2 3
    """
    compare(task)


def answer(task: Annotated[Answering, FIELDS]) -> None:
    """Trains models that answer questions with a span of a text.

    Files are SQuAD's JSON, version 1.1 or 2.0; a model learns that some questions have
    no answer if --train has such questions, and gives none where that raises F1 on the
    held-out ones. The scores are F1 and exact match as SQuAD's scripts compute them.

        elmo-keras answer --train train.json --dev dev.json --output DIR
    """
    compare(task)


def coreference(task: Annotated[Coreference, FIELDS]) -> None:
    """Trains models of coreference: which mentions refer to the same entity.

    Files have the columns of CoNLL-2012. Each step reads one document, so --batch-size
    has no effect; the documents of --train are cut into parts of --sentences. The first
    score is the mean F1 of MUC, B³ and CEAF φ4. Whether entities that are mentioned only
    once are learned, found and scored depends on --train: they are if it has such,
    unless --no-singletons leaves them out of all files.

        elmo-keras coreference --train train.conll --dev dev.conll --output DIR
    """
    compare(task)
