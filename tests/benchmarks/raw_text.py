"""Scores pipelines from raw text, by the programs with which others score.

    python -m tests.benchmarks.raw_text DATA [--no-spacy] [--heads NAME …]

DATA is the folder of the corpora, whose dev parts are read; scores go into the package's
file, those of spaCy too unless it is left out. Words, parts of speech and trees are scored
by `udtools`, the scorer of CoNLL 2018, on EWT's paragraphs and on ten sentences of GSD
joined by spaces. Entities are spans of characters with their types, micro F1; KLUE's
official figures are F1 over characters in strict IOB2, macro first, by `seqeval`, on the
sentences that `ko-ner` did not learn from. Roles count with their predicate, found by the
head; a document of coreference is its tokens joined by spaces, all documents are scored as
one by `scorch`.
"""

import contextlib
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.metrics import roc_auc_score

from elmo_keras import pipeline
from elmo_keras.heads import read_documents, read_roles, read_squad
from elmo_keras.heads.annotate.formats import conllu
from elmo_keras.heads.answering.scores import squad_scores, squad_statistics
from elmo_keras.heads.coreference.readers import without_singletons
from elmo_keras.heads.pipeline import predict_texts
from elmo_keras.heads.reading import hold_out
from elmo_keras.heads.tagger.entities import (
    bio_tags,
    count_spans,
    entities,
    f1_of_spans,
)
from elmo_keras.heads.tagger.pipeline import WordPipeline
from elmo_keras.heads.texts import read_text
from elmo_keras.hub.catalogue import BOX
from tests.benchmarks import runner
from tools import make_heads as make

Entity = tuple[int, int, str]
KLUE = "ko_klue/klue-ner-v1.1_dev.first4000.tsv"
ALSO = dict(UAS="UAS", UPOS="UPOS", XPOS="XPOS", UFeats="FEATS", Lemmas="LEMMA")
KLUE_HELD_OUT = 0.2  # by the recipe of `ko-ner`
COLUMNS = "pipeline", "text", "score", "elmo-keras", "spaCy", "also"


class Document(NamedTuple):
    """A raw text, and the words of its sentences with their tags, if it has some."""

    text: str
    sentences: list[list[Entity]]  # begin, end, tag
    rows: str = ""  # rows of CoNLL-U, one sentence after the other

    @property
    def words(self) -> list[Entity]:
        return [word for sentence in self.sentences for word in sentence]


def main(data: Path, /, *, no_spacy: bool = False, heads: tuple[str, ...] = ()) -> None:
    systems = {"official": "official"}
    if not no_spacy:
        systems["spaCy"] = "with_spacy"
    with contextlib.ExitStack() as stack:
        workers = {
            name: stack.enter_context(runner.worker(script))
            for name, script in systems.items()
        }
        official = workers["official"]
        print(f"Scored by {official.hello}, F1 × 100.\n")
        runner.head(*COLUMNS)
        ewt = list(read_treebank(data / "en_ewt/en_ewt-ud-dev.conllu"))
        gum = list(read_treebank(data / "en_ud_gum/en_gum-ud-dev.conllu"))
        gsd = list(read_treebank(data / "ko_ud_gsd/ko_gsd-ud-dev.conllu", 10))
        spacy = None
        if not no_spacy:
            spacy = workers["spaCy"].ask("read", texts=[d.text for d in ewt])
        scorers = {
            "en-ud": lambda: (
                score_trees("en-ud", "EWT", ewt, official)
                + score_trees("en-ud", "GUM", gum, official)
            ),
            "ko-ud": lambda: score_trees("ko-ud", "GSD", gsd, official),
            "en-pos": lambda: (
                score_words("en-pos", "EWT", ewt, official, spacy)
                + score_words("en-pos", "GUM", gum, official)
            ),
            "ko-pos": lambda: score_words("ko-pos", "GSD", gsd, official),
            "en-ner": lambda: score_entities(ewt, data, spacy) + score_tweets(data),
            "ko-ner": lambda: score_klue(data / KLUE, official),
            "en-srl": lambda: score_roles(ewt, data / "en_srl_ewt/dev.conll"),
            "en-coref": lambda: [
                row
                for name, title in (("litbank", "LitBank"), ("gum", "OntoGUM"))
                for row in score_coreference(
                    data / f"en_coref_{name}/dev.conll", title, official
                )
            ],
            "en-qa": lambda: score_answers(
                data / "en_qa/dev.json", data / "en_qa_unanswerable/dev.json"
            ),
            "ko-sentiment": lambda: score_reviews(data / "ko_nsmc/ratings_test.txt"),
        }
        for name in heads or scorers:
            rows = [{"pipeline": name} | row for row in scorers[name]()]
            make.record(BOX / "scores.json", rows)
            for row in rows:
                runner.row(*(row.get(column, "") for column in COLUMNS))


def score_row(
    text: str, score: str, value: float, *, part: str = "dev", **more: Any
) -> dict[str, Any]:
    """A row of the file of scores; `more` is what is said besides, and spaCy's score."""
    row = {"text": text, "part": part, "score": score} | more
    return row | {"elmo-keras": round(value, 2)}


def read_treebank(path: Path, n_sentences: int | None = None) -> Iterator[Document]:
    """The paragraphs of CoNLL-U, or documents of N sentences each."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    document = Document("", [])
    for i, block in enumerate(blocks):
        starts = "\n# newpar" in f"\n{block}" or "\n# newdoc" in f"\n{block}"
        if i % n_sentences == 0 if n_sentences else starts:
            if document.sentences:
                yield document
            document = Document("", [])
        text, words = _read_sentence(block, document.text)
        rows = f"{document.rows}{block}\n\n"
        document = Document(text, [*document.sentences, words], rows)
    yield document


def _read_sentence(block, text):
    """The text with that of a sentence, and the places and tags of its words."""
    words, after = [], 0  # words up to number `after` are in a token that was read
    rows = [line.split("\t") for line in block.split("\n") if line[0] != "#"]
    for number, form, _, tag, *_, misc in rows:
        first, _, last = number.partition("-")
        if "." in first:
            continue
        if last:
            begin, after = len(text), int(last)
        elif int(first) <= after:  # a part of the token
            end = min(begin + len(form), len(text.rstrip()))
            words.append((begin, end, tag))
            begin = end
            continue
        else:
            words.append((len(text), len(text) + len(form), tag))
        text += form + ("" if "SpaceAfter=No" in misc else " ")
    return text, words


def to_conllu(documents: Iterable[Document]) -> str:
    """Words and tags in the columns that the scorer reads, in trees of two levels."""
    lines = []
    for document in documents:
        for sentence in document.sentences:
            for i, (begin, end, tag) in enumerate(sentence, 1):
                form, head = document.text[begin:end], int(i > 1)
                relation = "dep" if head else "root"
                lines.append(f"{i}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_")
            lines.append("")
    return "\n".join(lines) + "\n"


def tag(
    pipe: WordPipeline, texts: Sequence[str]
) -> list[tuple[Document, list[Entity]]]:
    """Each text with the words and tags of its sentences; and the results as spans."""
    documents = []
    read = (read_text(i, text, pipe.tokenizer) for i, text in enumerate(texts))
    for text, (predictions,) in predict_texts([pipe], read):
        results = pipe.annotate(text, predictions)
        spans = [(r["start"], r["end"], r["label"]) for r in results]
        tags = {begin: label for begin, _, label in spans}
        sentences = [[(a, b, tags.get(a, "X")) for a, b in row] for row in text.spans]
        documents.append((Document(text.source, sentences), spans))
    return documents


def score_words(
    name: str,
    title: str,
    gold: list[Document],
    official: runner.Worker,
    read_by_spacy: list[dict] | None = None,
) -> list[dict]:
    pipe = pipeline(name)
    predicted = [token["label"] for row in pipe(words_of(gold)) for token in row]
    tags = [t for d in gold for _, _, t in d.words]
    right = sum(map(str.__eq__, tags, predicted))
    columns = [[document for document, _ in tag(pipe, [d.text for d in gold])]]
    if read_by_spacy:
        columns.append(
            [Document(d.text, x["sentences"]) for d, x in zip(gold, read_by_spacy)]
        )
    accuracy, *others = (
        official_scores(official, gold, to_conllu(documents), ["UPOS"])["UPOS"]
        for documents in columns
    )
    more: dict[str, Any] = {"spaCy": round(others[0], 2)} if others else {}
    return [
        score_row(f"{title}, raw text", "F1 of UPOS", accuracy, **more),
        score_row(title, "accuracy", 100 * right / len(tags)),
    ]


def words_of(documents: list[Document]) -> list[list[str]]:
    return [[d.text[a:b] for a, b, _ in s] for d in documents for s in d.sentences]


def official_scores(official, gold, system, measures):
    gold = "".join(document.rows for document in gold)
    options = {"gold": gold, "system": system, "measures": measures}
    return official.ask("universal_dependencies", **options)


def score_trees(
    name: str, title: str, gold: list[Document], official: runner.Worker
) -> list[dict]:
    """All columns of `annotate`'s CoNLL-U; on the treebank's own sentences and words too."""
    pipe, columns = pipeline(name), []
    for texts in [d.text for d in gold], words_of(gold):
        read = [read_text(i, text, pipe.tokenizer) for i, text in enumerate(texts)]
        rows = [
            conllu(text, [pipe], predictions)
            for text, predictions in predict_texts([pipe], read)
        ]
        columns.append(official_scores(official, gold, "".join(rows), ["LAS", *ALSO]))
    return [
        score_row(
            text,
            "LAS",
            scores["LAS"],
            also=", ".join(f"{name} {scores[key]:.2f}" for key, name in ALSO.items()),
        )
        for text, scores in zip((f"{title}, raw text", title), columns)
    ]


def micro_f1(counts: Iterable[Sequence[int]]) -> float:
    return 100 * f1_of_spans(*(sum(column) for column in zip(*counts)))["F1"]


def score_entities(
    documents: list[Document], data: Path, read_by_spacy: list[dict] | None
) -> list[dict]:
    """Entities of Universal NER over the texts of EWT, whose sentences it names."""
    examples = make.entity_sets(data)[make.UNER][1]
    path = data / "en_ner_uner/en_ewt-ud-dev.iob2"
    ids = re.findall("# sent_id = (.+)", path.read_text(encoding="utf-8"))
    by_id = dict(zip(ids, examples, strict=True))
    pipe, gold, rows = pipeline("en-ner"), [], []
    for document in documents:
        end, spans = 0, []
        for name in re.findall("# sent_id = (.+)", document.rows):
            words = []
            for token in by_id[name]["tokens"]:
                begin = document.text.index(token, end)
                end = begin + len(token)
                words.append((begin, end))
            for first, last, type_ in entities(by_id[name]["tags"]):
                spans.append((words[first][0], words[last - 1][1], type_))
        gold.append(spans)
    spacy_score: dict[str, Any] = {}
    if read_by_spacy:
        predicted = [[tuple(e) for e in x["entities"]] for x in read_by_spacy]
        spacy_score["spaCy"] = round(micro_f1(map(count_spans, gold, predicted)), 2)
    for change, how, more in (
        (str, "raw text", spacy_score),
        (str.lower, "lower case", {}),
        (str.upper, "capitals", {}),
    ):
        texts = ["".join(map(change, d.text)) for d in documents]
        assert [*map(len, texts)] == [len(d.text) for d in documents]
        f1 = f1_of_entities(gold, pipe(texts))
        rows.append(score_row(f"{make.UNER}, {how}", "F1", f1, **more))
    return rows


def score_tweets(data: Path) -> list[dict]:
    """Names in tweets as people write them; handles and hashtags count neither way."""
    examples, texts, gold = make.entity_sets(data)[make.TWEETS][1], [], []
    for example in examples:
        ends = [*itertools.accumulate(len(token) + 1 for token in example["tokens"])]
        begins, spans = [0, *ends], entities(example["tags"])
        gold.append([(begins[a], ends[b - 1] - 1, t) for a, b, t in spans])
        texts.append(" ".join(example["tokens"]))
    rows = [
        [r for r in row if r["text"][0] not in "@#"]
        for row in pipeline("en-ner")(texts)
    ]
    return [score_row(f"{make.TWEETS}, raw text", "F1", f1_of_entities(gold, rows))]


def f1_of_entities(gold: Iterable, results: Iterable[list[dict]]) -> float:
    predicted = ([(r["start"], r["end"], r["label"]) for r in row] for row in results)
    return micro_f1(map(count_spans, gold, predicted))


def score_klue(path: Path, official: runner.Worker) -> list[dict]:
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    rows = [
        [line.split("\t") for line in block.split("\n") if not line.startswith("##")]
        for block in blocks
    ]
    examples = [[*zip(*row)] for row in rows if row]
    held_out = hold_out(examples, KLUE_HELD_OUT)[1]
    texts = ["".join(characters) for characters, _ in held_out]
    predicted = tag(pipeline("ko-ner"), texts)
    system = [bio_tags(spans, len(text)) for (_, spans), text in zip(predicted, texts)]
    gold = [list(tags) for _, tags in held_out]
    scores = official.ask("entities", gold=gold, system=system)
    also = f"KLUE's macro F1 {scores['macro']:.2f}"
    title = "KLUE, a fifth, raw text, characters"
    return [score_row(title, "F1", scores["micro"], also=also)]


def score_roles(documents: list[Document], path: Path) -> list[dict]:
    """Predicates, and arguments with their predicates, of EWT's sentences."""
    gold: dict[tuple, set] = {}  # of a sentence
    for example in read_roles(path):
        predicate = example["predicate"].index(1)
        spans = {(predicate, *span) for span in entities(example["tags"])}
        gold.setdefault(tuple(example["tokens"]), set()).update(spans)
    pipe = pipeline("en-srl")
    pairs = []
    for document, predicted in zip(documents, pipe([d.text for d in documents])):
        expected, labelled = set(), set()
        for words in document.sentences:
            frames_ = gold.get(tuple(document.text[a:b] for a, b, _ in words))
            if frames_ is not None:
                labelled.update(begin for begin, _, _ in words)
                expected |= {
                    (words[at][0], words[first][0], words[end - 1][1], label)
                    for at, first, end, label in frames_
                }
        pairs.append((expected, {x for x in frames(predicted) if x[0] in labelled}))
    predicates, arguments = (
        micro_f1(
            count_spans(
                *([x for x in row if (x[3] == "V") == is_predicate] for row in pair)
            )
            for pair in pairs
        )
        for is_predicate in (True, False)
    )
    title, also = "EWT, raw text, its own predicates", f"predicates {predicates:.2f}"
    return [score_row(title, "F1", arguments, also=also)]


def frames(results: list[dict]) -> set[tuple]:
    """The predicates of a text, labelled `V`, and their roles: (predicate, begin, end, label)."""
    return {
        (frame["predicate"]["start"], part["start"], part["end"], label)
        for frame in results
        for part in (frame["predicate"], *frame["roles"])
        for label in [part["label"] if part is not frame["predicate"] else "V"]
    }


def score_coreference(path: Path, title: str, official: runner.Worker) -> list[dict]:
    documents = [without_singletons(d) for d in read_documents(path)]
    pipe = pipeline("en-coref")
    gold, predicted = [], []
    for i, document in enumerate(documents):
        tokens = [token for sentence in document["sentences"] for token in sentence]
        ends = [*itertools.accumulate(len(token) + 1 for token in tokens)]
        gold += [
            [[i, ends[a] - len(tokens[a]) - 1, ends[b] - 1] for a, b in cluster]
            for cluster in document["clusters"]
        ]
        predicted += [
            [[i, m["start"], m["end"]] for m in cluster]
            for cluster in pipe(" ".join(tokens))
        ]
    f1 = official.ask("coreference", gold=gold, system=predicted)
    return [score_row(f"{title}, raw text", "CoNLL F1", f1)]


def score_answers(path: Path, unanswerable: Path) -> list[dict]:
    results, some = [], [read_squad(path), read_squad(unanswerable)]
    for examples in some:
        questions = [" ".join(e["question"]) for e in examples]
        results.append(pipeline("en-qa")(questions, [e["text"] for e in examples]))
    texts, answers = [r["text"] for r in results[0]], [e["answers"] for e in some[0]]
    scores = squad_scores(squad_statistics(texts, answers))
    has_answer = [bool(e["answers"]) for e in some[1]]
    area = roc_auc_score(has_answer, [r["score"] for r in results[1]])
    title, also = "SQuAD and others, `en_qa`, raw text", 100 * scores["exact match"]
    return [
        score_row(title, "F1", 100 * scores["F1"], also=f"exact match {also:.2f}"),
        score_row("SQuAD 2.0, raw text", "has it an answer: AUC", 100 * area),
    ]


def score_reviews(path: Path) -> list[dict]:
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()[1:]]
    results = pipeline("ko-sentiment")([text for _, text, _ in rows])
    right = [
        r["label"] == ("negative", "positive")[int(y)]
        for r, (*_, y) in zip(results, rows)
    ]
    value = 100 * sum(right) / len(right)
    return [score_row("Naver reviews, raw text", "accuracy", value, part="test")]


if __name__ == "__main__":
    runner.run(main)
