"""Makes the heads of the package again: `python -m elmo_keras.pipelines.make DATA OUT`.

DATA is the folder of the corpora; OUT/NAME becomes the head and its card, OUT/work holds
what was trained. Finished heads are not trained again, so the same command resumes.
"""

import collections
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import App, Parameter

from elmo_keras.files import replacing
from elmo_keras.hub.catalogue import CARD
from elmo_keras.pipelines.head_files import save_head
from elmo_keras.pipelines.light_heads import Batch
from elmo_keras.pipelines.pipeline import PREDICATES, RolePipeline, pipeline
from elmo_keras.tasks.answer.task import Answering
from elmo_keras.tasks.classify.task import Classification
from elmo_keras.tasks.coreference_task import Coreference
from elmo_keras.tasks.data import hold_out
from elmo_keras.tasks.entities import entities, span_scores
from elmo_keras.tasks.results import model_file
from elmo_keras.tasks.run import run
from elmo_keras.tasks.tag.tagged_text import read_conll
from elmo_keras.tasks.tag.task import Tagging
from elmo_keras.tasks.task import Task
from elmo_keras.util.command import run as run_command

# Types of other sets → those of `en-ner`; others are no entities.
ENTITIES = {
    "person": "PER",
    "location": "LOC",
    "corporation": "ORG",
    "group": "ORG",
} | {name: name for name in ("PER", "LOC", "ORG")}
WIKIGOLD = "en_ner_misc/wikigold/CONLL-format/data/wikigold.conll.txt"
UNER = "en_ner_uner/en_ewt-ud-dev.iob2"
LABELS, CONFUSIONS = 20, 8  # of a card, at most
NOTHING = "none"  # where there is no span
SETTINGS: dict[str, Any] = {
    "arithmetic": "int8",
    "layer_norm": True,
    "elmo_dropout": 0.3,
    "word_dim": 0,
    "character_dim": 0,
    "schedule": "cosine",
    "epochs": 8,
    "patience": 99,
}
TAGGER: dict[str, Any] = {"word_dim": 50, "units": 160, "epochs": 12}


class Recipe(NamedTuple):
    """How a head is trained, and what its card says of its text."""

    task: Task
    text: str  # data sets and their licences, and what was held out
    predicates: Task | None = None
    label_names: dict[str, str] | None = None
    licence: str = "CC BY-SA 4.0"


def recipes(data: Path, work: Path) -> dict[str, Recipe]:
    """The recipe of each name; paths of the data that are missing fail when they are read."""

    def settings(name, train, dev=None, **changes):
        model = {"elmo": (name[:2],), "output": work / name}
        return SETTINGS | {"train": train, "dev": dev} | model | changes

    def tagging(name, train, dev=None, **changes):
        return Tagging(**settings(name, train, dev, **TAGGER | changes))

    ewt, gsd = data / "en_ewt/en_ewt-ud", data / "ko_ud_gsd/ko_gsd-ud"
    roles = data / "en_srl_ewt/train.conll.gz", data / "en_srl_ewt/dev.conll"
    klue = data / "ko_klue/klue-ner-v1.1_dev.first4000.tsv"
    ner, coref, nsmc = work / "en-ner", work / "en-coref", data / "ko_nsmc/ratings"
    return {
        "en-pos": Recipe(
            tagging("en-pos", Path(f"{ewt}-train.conllu"), Path(f"{ewt}-dev.conllu")),
            "UD English-EWT (CC BY-SA 4.0)",
        ),
        "en-ner": Recipe(
            tagging(
                "en-ner",
                Path(f"{ner}.train.conll"),
                Path(f"{ner}.dev.conll"),
                word_dim=0,  # better on text of other kinds
                elmo_dropout=0.5,
            ),
            "Wikigold (CC BY 4.0), WNUT-17 (CC BY 4.0), Broad Twitter Corpus (CC BY 4.0) and "
            "Universal NER over UD English-EWT's dev (CC BY-SA 4.0); held out: a fifth of "
            "Wikigold and of Universal NER, WNUT-17's dev, the tweets `h`",
        ),
        "en-srl": Recipe(
            tagging("en-srl", *roles, kind="srl", word_dim=0, epochs=8, units=250),
            "PropBank's roles over UD English-EWT (both CC BY-SA 4.0)",
            tagging(
                "en-srl-predicates", *roles, kind="predicates", word_dim=0, units=100
            ),
        ),
        "en-coref": Recipe(
            Coreference(
                **settings(
                    "en-coref",
                    Path(f"{coref}.train.conll.gz"),
                    data / "en_coref_litbank/dev.conll",
                    no_singletons=True,
                    word_dim=50,
                    character_dim=64,
                    epochs=15,
                )
            ),
            "LitBank (CC BY 4.0) and OntoGUM (annotation CC BY 4.0, texts CC BY or CC "
            "BY-SA); held out: LitBank's dev",
        ),
        "en-qa": Recipe(
            Answering(
                **settings("en-qa", data / "en_qa/train.json", data / "en_qa/dev.json")
            ),
            "SQuAD 1.1 (CC BY-SA 4.0), SQuADShifts (CC BY 4.0), TyDi QA (Apache-2.0), over "
            "Wikipedia",
        ),
        "ko-pos": Recipe(
            tagging("ko-pos", Path(f"{gsd}-train.conllu"), Path(f"{gsd}-dev.conllu")),
            "UD Korean-GSD (CC BY-SA 4.0)",
        ),
        "ko-ner": Recipe(
            tagging("ko-ner", klue, kind="klue", word_dim=35),
            "KLUE v1.1's named entities, the first 4,000 sentences of its dev, a fifth of them "
            "held out (CC BY-SA 4.0)",
        ),
        "ko-sentiment": Recipe(
            Classification(
                **settings(
                    "ko-sentiment",
                    Path(f"{nsmc}_train.txt"),
                    Path(f"{nsmc}_valid.txt"),
                    format="nsmc",
                    word_dim=25,
                    min_count=6,
                    epochs=4,
                    units=100,
                )
            ),
            "Naver movie reviews (CC0)",
            label_names={"0": "negative", "1": "positive"},
            licence="CC0 1.0 for the head; the language model has its own",
        ),
    }


def join_entities(data: Path, work: Path) -> None:
    """Writes one file of entities to train on, and one that is held out."""
    train, dev = [], []
    for name in (WIKIGOLD, UNER):
        part, held_out = hold_out(read_conll(data / name), 0.2)
        train, dev = train + part, dev + held_out
    for name in "en_ner_wnut17/wnut17train en_ner_btc/a en_ner_btc/b en_ner_btc/e en_ner_btc/g".split():
        train += read_conll(data / f"{name}.conll")
    for name in "en_ner_wnut17/emerging.dev", "en_ner_btc/h":
        dev += read_conll(data / f"{name}.conll")
    for name, examples in ("train", train), ("dev", dev):
        lines = [f"{line}\n" for example in examples for line in _columns(example)]
        (work / f"en-ner.{name}.conll").write_text("".join(lines), encoding="utf-8")


def _columns(example) -> Iterator[str]:
    for token, tag in zip(example["tokens"], joined_types(example["tags"])):
        yield f"{token}\t{tag}"
    yield ""


def joined_types(tags: Sequence[str]) -> list[str]:
    """Tags with the types of `en-ner`; those of other types are `O`."""
    names = [ENTITIES.get(tag[2:], ENTITIES.get(tag[2:].lower())) for tag in tags]
    return [f"{tag[:2]}{name}" if name else "O" for tag, name in zip(tags, names)]


def join_documents(data: Path, work: Path) -> None:
    """Writes one file of the documents of both sets of coreference."""
    names = "en_coref_litbank", "en_coref_gum"
    parts = [(data / name / "train.conll.gz").read_bytes() for name in names]
    (work / "en-coref.train.conll.gz").write_bytes(b"".join(parts))


def make(
    data: Path,
    output: Path,
    names: Annotated[Sequence[str], Parameter(consume_multiple=True)] = (),
    /,
) -> None:
    """Trains heads, all if no name is given, and writes them with their cards."""
    work = output / "work"
    work.mkdir(parents=True, exist_ok=True)
    known = recipes(data, work)
    if unknown := set(names) - set(known):
        raise ValueError(
            f"There is no {unknown.pop()}. The heads are: {', '.join(known)}"
        )
    for name in names or known:
        if (output / name / CARD).exists():
            continue
        if name == "en-ner":
            join_entities(data, work)
        if name == "en-coref":
            join_documents(data, work)
        _make_head(name, known[name], output / name)


def _make_head(name, recipe, folder):
    tasks = {folder: recipe.task}
    if recipe.predicates:
        tasks[folder / PREDICATES] = recipe.predicates
    scores = {}
    for head, task in tasks.items():
        (result,) = run(task)
        file = task.output / model_file(task.variants()[0], 1)
        names = recipe.label_names
        save_head(file, task.elmo[0], head, label_names=names, language=name[:2])
        scores[head] = result["dev"]
    card = _card(name, recipe, scores, _scores_by_label(folder, recipe), folder)
    with replacing(folder / CARD) as temporary:
        temporary.write_text(card, encoding="utf-8")
    print(f"The head is in {folder}", flush=True)


def _scores_by_label(folder: Path, recipe: Recipe) -> list[str]:
    """Of a tagger or classifier as it is shipped; and its most frequent mistakes."""
    task = recipe.task
    if isinstance(task, Classification):
        pairs = _compared_labels(folder, recipe)
    elif isinstance(task, Tagging):
        pairs = _compared_parts(folder, task)
    else:
        return []
    n_expected, n_predicted = collections.Counter(), collections.Counter()
    for (expected, predicted), n in pairs.items():
        n_expected[expected] += n
        n_predicted[predicted] += n
    by_label = []
    del n_expected[NOTHING]
    for label, count in n_expected.most_common(LABELS):
        f1 = span_scores(pairs[label, label], count, n_predicted[label])["F1"]
        by_label.append(f"{label} {100 * f1:.1f} ({count:,})")
    mistakes = [f"{a} → {b} ({n})" for (a, b), n in pairs.most_common() if a != b]
    return [
        f"F1 by label, with its number in the text: {', '.join(by_label)}.",
        f"Most frequent mistakes, expected → found: {', '.join(mistakes[:CONFUSIONS])}.",
    ]


def _held_out(task):
    if task.dev:
        return task.read(task.dev)
    return hold_out(task.read(task.train), task.dev_share)[1]


def _compared_labels(folder, recipe):
    """How often texts with a label got which label."""
    examples, names = _held_out(recipe.task), recipe.label_names or {}
    classify: Any = pipeline(folder)
    answers = classify([example["tokens"] for example in examples])
    expected = [names.get(e["label"], e["label"]) for e in examples]
    return collections.Counter(zip(expected, (answer["label"] for answer in answers)))


def _compared_parts(folder, task):
    """How often words or spans with a label got which label."""
    examples = _held_out(task)
    loaded: Any = pipeline(folder)
    sentences = [example["tokens"] for example in examples]
    predicates = None
    if isinstance(loaded, RolePipeline):
        predicates = [example["predicate"].index(1) for example in examples]
    layers = loaded.embedder.stream(sentences)
    answers = loaded.model.tag(Batch(sentences, layers, predicates))
    pairs = collections.Counter()
    for example, answer in zip(examples, answers):
        predicted = {(part.first, part.end): part.label for part in answer}
        tags = example["tags"]
        parts = entities(tags)
        if loaded.type == "words":
            parts = [(i, i + 1, tag) for i, tag in enumerate(tags)]
        expected = {part[:-1]: part[-1] for part in parts}
        pairs.update(
            (expected.get(key, NOTHING), predicted.get(key, NOTHING))
            for key in {*expected, *predicted}
        )
    return pairs


def _card(name, recipe, scores, by_label, folder) -> str:
    task = recipe.task
    sizes = sum(file.stat().st_size for file in folder.rglob("head.*"))
    lines = [
        f"# {name}",
        "",
        f"A head of `{task.elmo[0]}`, {sizes / 1e6:.2f} MB in int8, for "
        f'`elmo_keras.pipeline("{name}")`.',
        "",
        f"**Text.** {recipe.text}. **Licence.** {recipe.licence}.",
        "",
        "**Scores** on what was held out, which chose the epoch:",
        "",
    ]
    for head, values in scores.items():
        text = ", ".join(f"{key} {100 * value:.2f}" for key, value in values.items())
        lines.append(f"- {head.name if head != folder else name}: {text}")
    for line in by_label:
        lines += ["", line]
    lines += ["", f"Made by `python -m elmo_keras.pipelines.make DATA OUT {name}`.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    import sys

    app = App(default_command=make, result_action="return_value", print_error=False)
    sys.exit(run_command("make", lambda: app(sys.argv[1:])))
