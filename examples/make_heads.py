"""Makes the heads of the package again: `python examples/make_heads.py DATA OUT [NAME …]`.

DATA is the folder of the corpora; OUT/NAME becomes the head and its card, OUT/work holds
what was trained. Finished heads are not trained again, so the same command resumes.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from elmo_keras.hub.catalogue import CARD
from elmo_keras.tasks import (
    Answering,
    Classification,
    Coreference,
    Parsing,
    Settings,
    Tagging,
    hold_out,
    read_columns,
    save_head,
    train,
)
from elmo_keras.tasks.data import read_rows
from elmo_keras.tasks.entities import entities
from elmo_keras.tasks.span_ends import SpanEnds

# Types of other sets → those of `en-ner`; others are no entities.
ENTITIES = {
    "person": "PER",
    "location": "LOC",
    "corporation": "ORG",
    "group": "ORG",
} | {name: name for name in ("PER", "LOC", "ORG")}
WIKIGOLD = "en_ner_misc/wikigold/CONLL-format/data/wikigold.conll.txt"
UNER = "en_ner_uner/en_ewt-ud-dev.iob2"
TAGGER: dict[str, Any] = {"word_dim": 50}
# The groups of emotions of GoEmotions' authors; surprise and others are in none.
SENTIMENTS = {
    emotion: sentiment
    for sentiment, emotions in {
        "positive": "admiration amusement approval caring desire excitement gratitude joy "
        "love optimism pride relief",
        "negative": "anger annoyance disappointment disapproval disgust embarrassment fear "
        "grief nervousness remorse sadness",
        "neutral": "neutral",
    }.items()
    for emotion in emotions.split()
}


class Recipe(NamedTuple):
    """How a head is trained, and what its card says of its text."""

    task: Any
    settings: dict[str, Any]
    text: str  # data sets and their licences, and what was held out
    dev: str  # what chose the epoch
    predicates: dict[str, Any] | None = None  # settings of the head that finds them
    licence: str = "CC BY-SA 4.0"
    tokenizer: str = "words"  # of the treebank that its tokens come from
    ends: Path | None = (
        None  # columns with types `TYPE/N` of spans that end within a token
    )


def recipes(data: Path, work: Path) -> dict[str, Recipe]:
    """The recipe of each name; paths of the data that are missing fail when they are read."""

    def files(stem, train="-train.conllu", dev="-dev.conllu"):
        return {"train": Path(f"{stem}{train}"), "dev": Path(f"{stem}{dev}")}

    roles = files(data / "en_srl_ewt", "/train.conll.gz", "/dev.conll")
    return {
        "en-pos": Recipe(
            Tagging(kind="pos"),
            TAGGER | files(data / "en_ewt/en_ewt-ud"),
            "UD English-EWT (CC BY-SA 4.0)",
            dev="EWT",
            tokenizer="ewt",
        ),
        "en-ner": Recipe(
            Tagging(kind="ner"),
            files(work / "en-ner", ".train.conll", ".dev.conll")
            | {"elmo_dropout": 0.5},
            "Wikigold (CC BY 4.0), WNUT-17 (CC BY 4.0), Broad Twitter Corpus (CC BY 4.0) "
            "and Universal NER over UD English-EWT's dev (CC BY-SA 4.0); held out: a fifth "
            "of Wikigold and of Universal NER, WNUT-17's dev, the tweets `h`",
            dev="all four sets together",
            tokenizer="ewt",
        ),
        "en-srl": Recipe(
            Tagging(kind="srl"),
            roles | {"epochs": 8, "units": 250},
            "PropBank's roles over UD English-EWT (both CC BY-SA 4.0)",
            dev="EWT, given predicates",
            predicates=roles | {"units": 100},
            tokenizer="ewt",
        ),
        "en-coref": Recipe(
            Coreference(no_singletons=True),
            {
                "train": work / "en-coref.train.conll.gz",
                "dev": data / "en_coref_litbank/dev.conll",
            },
            "LitBank (CC BY 4.0) and OntoGUM (annotation CC BY 4.0, texts CC BY or CC "
            "BY-SA); held out: LitBank's dev",
            dev="LitBank",
        ),
        "en-qa": Recipe(
            Answering(),
            files(data / "en_qa", "/train.json", "/dev.json") | {"epochs": 8},
            "SQuAD 1.1 (CC BY-SA 4.0), SQuADShifts (CC BY 4.0), TyDi QA (Apache-2.0), "
            "over Wikipedia",
            dev="SQuAD and others, `en_qa`",
        ),
        "en-ud": Recipe(
            Parsing(tokenizer="ewt"),
            files(data / "en_ewt/en_ewt-ud") | {"epochs": 8},
            "UD English-EWT (CC BY-SA 4.0)",
            dev="EWT",
            tokenizer="ewt",
        ),
        "ko-ud": Recipe(
            Parsing(tokenizer="gsd"),
            files(data / "ko_ud_gsd/ko_gsd-ud") | {"epochs": 8},
            "UD Korean-GSD (CC BY-SA 4.0)",
            dev="GSD",
            tokenizer="gsd",
        ),
        "ko-pos": Recipe(
            Tagging(kind="pos"),
            TAGGER | files(data / "ko_ud_gsd/ko_gsd-ud"),
            "UD Korean-GSD (CC BY-SA 4.0)",
            dev="GSD",
            tokenizer="gsd",
        ),
        "ko-ner": Recipe(
            Tagging(kind="ner"),
            {"train": work / "ko-ner.train.conll", "word_dim": 35},
            "KLUE v1.1's named entities, the first 4,000 sentences of its dev, a fifth of "
            "them held out (CC BY-SA 4.0)",
            dev="KLUE, a fifth, words with particles",
            ends=work / "ko-ner.ends.conll",
        ),
        "en-sentiment": Recipe(
            Classification(),
            files(work / "en-sentiment", ".train.jsonl", ".dev.jsonl")
            | {"limit": 20_000, "word_dim": 25, "min_count": 6, "epochs": 4},
            "GoEmotions (Apache-2.0, comments of Reddit), those whose emotions are of one "
            "of its authors' groups: 20,000 of positive, negative or neutral ones",
            dev="GoEmotions",
            licence="Apache-2.0 for the head; the language model has its own",
        ),
        "ko-sentiment": Recipe(
            Classification(),
            files(work / "ko-sentiment", ".train.jsonl", ".valid.jsonl")
            | {"word_dim": 25, "min_count": 6, "epochs": 4},
            "Naver movie reviews (CC0)",
            dev="Naver reviews",
            licence="CC0 1.0 for the head; the language model has its own",
        ),
    }


def prepare(name: str, data: Path, work: Path) -> None:
    """Writes the files of a recipe that are not read as they are published."""
    if name == "en-ner":
        join_entities(data, work)
    elif name == "en-coref":
        names = "en_coref_litbank", "en_coref_gum"
        parts = [(data / name / "train.conll.gz").read_bytes() for name in names]
        (work / "en-coref.train.conll.gz").write_bytes(b"".join(parts))
    elif name == "ko-ner":
        source = data / "ko_klue/klue-ner-v1.1_dev.first4000.tsv"
        run("convert.py", "klue-ner", source, work / "ko-ner.train.conll")
        run("convert.py", "klue-ner-ends", source, work / "ko-ner.ends.conll")
    elif name == "ko-sentiment":
        for part in ("train", "valid"):
            source = data / f"ko_nsmc/ratings_{part}.txt"
            target = work / f"ko-sentiment.{part}.jsonl"
            run("convert.py", "nsmc", source, target)
            rename_labels(target, {"0": "negative", "1": "positive"})
    elif name == "en-sentiment":
        for part in ("train", "dev"):
            target = work / f"en-sentiment.{part}.jsonl"
            run("convert.py", "goemotions", data / f"en_goemotions/{part}.tsv", target)
            rename_labels(target, SENTIMENTS)


def rename_labels(file: Path, names: dict[str, str]) -> None:
    """Gives each text of JSON lines one label; those that have none or several go."""
    texts = []
    for _, row in read_rows(file):
        labels = {names.get(x) for x in row.get("labels", [row.get("label")])}
        if len(labels) == 1 and None not in labels:
            texts.append(json.dumps({"text": row["text"], "label": labels.pop()}))
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")


def join_entities(data: Path, work: Path) -> None:
    """Writes one file of entities to train on, and one that is held out."""
    read = {
        part: [
            example
            for name in names.split()
            for example in read_columns(data / f"en_ner_{name}.conll")
        ]
        for part, names in (
            ("train", "wnut17/wnut17train btc/a btc/b btc/e btc/g"),
            ("dev", "wnut17/emerging.dev btc/h"),
        )
    }
    for name in (WIKIGOLD, UNER):
        for part, some in zip(read, hold_out(read_columns(data / name), 0.2)):
            read[part] += some
    for part, examples in read.items():
        with (work / f"en-ner.{part}.conll").open("w", encoding="utf-8") as file:
            for example in examples:
                tags = joined_types(example["tags"])
                for token, tag in zip(example["tokens"], tags):
                    print(token, tag, sep="\t", file=file)
                print(file=file)


def joined_types(tags: Sequence[str]) -> list[str]:
    """Tags with the types of `en-ner`; those of other types are `O`."""
    names = [ENTITIES.get(tag[2:], ENTITIES.get(tag[2:].lower())) for tag in tags]
    return [f"{tag[:2]}{name}" if name else "O" for tag, name in zip(tags, names)]


def make_head(name: str, recipe: Recipe, output: Path, **changes: Any) -> None:
    """Trains a head, and writes it with its card; `changes` are other settings."""
    folder, scores, by_label = output / name, [], []
    heads = {folder: (recipe.task, recipe.settings)}
    if recipe.predicates:
        heads[folder / "predicates"] = Tagging(kind="predicates"), recipe.predicates
    for head, (task, own) in heads.items():
        work = output / "work" / "-".join(head.relative_to(output).parts)
        options: dict[str, Any] = {"model": name[:2]} | own | changes
        settings = Settings(output=work, **options)
        values = train(task, settings, progress=True)["dev"]
        (score, value), *others = ((k, 100 * v) for k, v in values.items())
        row = {"pipeline": name, "text": recipe.dev, "part": "dev", "score": score}
        if head != folder:
            row["text"] = f"{recipe.dev.partition(',')[0]}, its predicates"
        if others:
            row["also"] = ", ".join(f"{key} {x:.2f}" for key, x in others)
        scores.append(row | {"elmo-keras": round(value, 2)})
        ends = span_ends(recipe.ends) if recipe.ends else None
        save_head(
            work / "model.keras",
            options["model"],
            head,
            ends=ends,
            language=name[:2],
            tokenizer=recipe.tokenizer,
        )
        card = (work / CARD).read_text("utf-8")
        by_label += re.findall(r"^(?:F1 by label|Most frequent).*", card, re.M)
    size = sum(file.stat().st_size for file in folder.rglob("head.*")) / 1e6
    card = [
        f"# {name}",
        f"A head of `{options['model']}`, {size:.2f} MB in int8, for "
        f'`elmo_keras.pipeline("{name}")`.',
        f"**Text.** {recipe.text}. **Licence.** {recipe.licence}.",
        "**Scores.** The text of the part `dev` chose the epoch, that of `test` nothing.",
        f"<!-- scores: {name} -->\n\n<!-- end -->",
        *by_label[:2],
        f"Made by `python examples/make_heads.py DATA OUT {name}`.",
    ]
    record(output / "scores.json", scores)
    new = output / "work" / CARD  # the card says that a head is finished
    new.write_text("\n\n".join(card) + "\n", encoding="utf-8")
    new.replace(folder / CARD)
    print(f"The head is in {folder}", flush=True)


def record(file: Path, rows: Sequence[dict]) -> None:
    """Adds scores to a file, in place of those of the same pipeline, text and part."""
    old = json.loads(file.read_text("utf-8")) if file.exists() else []
    keys = "pipeline", "text", "part", "score"
    merged = {tuple(row[key] for key in keys): row for row in [*old, *rows]}
    lines = [json.dumps(row, ensure_ascii=False) for row in merged.values()]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def run(program: str, *arguments: object) -> None:
    """Runs another program of this folder."""
    path = Path(__file__).with_name(program)
    subprocess.run([sys.executable, path, *map(str, arguments)], check=True)


def span_ends(columns: Path) -> SpanEnds:
    """Learned from the sentences that train a head."""
    examples, _ = hold_out(read_columns(columns), 0.2)
    spans = (
        (e["tokens"][end - 1], type_)
        for e in examples
        for _, end, type_ in entities(e["tags"])
    )
    parts = ((token, *type_.partition("/")) for token, type_ in spans)
    return SpanEnds.fit([(token, name, int(n or 0)) for token, name, _, n in parts])


def main(data: Path, output: Path, *names: str, **changes: Any) -> None:
    """Makes heads, all if no name is given."""
    work = output / "work"
    work.mkdir(parents=True, exist_ok=True)
    known = recipes(data, work)
    if unknown := set(names) - set(known):
        sys.exit(f"There is no {unknown.pop()}. The heads are: {', '.join(known)}")
    for name in names or known:
        if not (output / name / CARD).exists():
            prepare(name, data, work)
            make_head(name, known[name], output, **changes)
    run("scores.py", output)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("Usage: make_heads.py DATA OUT [NAME …]")
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
