"""Makes the heads of the package again: `python -m tools.make_heads DATA OUT [NAME …]`.

DATA is the folder of the corpora; OUT/NAME becomes the head and its card, OUT/work holds
what was trained. Finished heads are not trained again, so the same command resumes.
"""

import collections
import itertools
import json
import re
import sys
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression

from elmo_keras import pipeline
from elmo_keras.heads import (
    Answering,
    Classification,
    Coreference,
    EntityTagging,
    Parsing,
    PosTagging,
    RoleTagging,
    Settings,
    read_columns,
    save_head,
    train_task,
)
from elmo_keras.heads.answering.scores import exact_match
from elmo_keras.heads.classifier.ngrams import ngram_rows
from elmo_keras.heads.head import HEAD, PREDICATES, load_task_model
from elmo_keras.heads.reading import hold_out, read_rows
from elmo_keras.heads.run import read_data
from elmo_keras.heads.tagger.entities import bio_tags, entities
from elmo_keras.heads.tagger.span_ends import ENDS, SpanEnds
from elmo_keras.heads.tagger.task import PredicateTagging
from elmo_keras.heads.token_batch import TokenBatch
from elmo_keras.hub.catalogue import CARD
from elmo_keras.text.word_rules import HANDLE
from tools import scores
from tools.calibration import (
    calibration_error,
    fit_odds,
    fit_temperature,
    sampling_error,
)
from tools.convert import convert
from tools.silver import write_silver

# Types of other sets → those of `en-ner`; others are no entities.
ENTITIES = {
    "person": "PER",
    "location": "LOC",
    "corporation": "ORG",
    "group": "ORG",
} | {name: name for name in ("PER", "LOC", "ORG")}
OTHER = "MISC", "OTH"
UNER, TWEETS = "Universal NER over EWT's dev", "Broad Twitter Corpus, h"
WIKIGOLD = "en_ner_misc/wikigold/CONLL-format/data/wikigold.conll.txt"
# Corpora that are joined, by the titles of their held-out parts.
TREES = {"EWT": "en_ewt/en_ewt-ud-", "GUM": "en_ud_gum/en_gum-ud-"}
DOCUMENTS = {"LitBank": "en_coref_litbank/", "OntoGUM": "en_coref_gum/"}
JOINED = {"en-pos": TREES, "en-ud": TREES, "en-coref": DOCUMENTS}
CONLLU, CONLL = ("train.conllu", "dev.conllu"), ("train.conll.gz", "dev.conll")
FILES = {"en-pos": CONLLU, "en-ud": CONLLU, "en-coref": CONLL}
KOREAN_TREES = "ko_ud_gsd/ko_gsd-ud"
SILVER = "ko-ud-train.conllu"  # has trees that parsers find in raw text, too
SEEDS = 1, 2, 3  # a parser each
NGRAM_ROWS = 2**20  # rows of weights in `ko-sentiment`
ENGLISH_TREES = (
    "UD English-EWT (CC BY-SA 4.0) and five genres of UD English-GUM r2.16 (annotation CC "
    "BY 4.0, texts CC BY or CC BY-SA)"
)
GSD = "UD Korean-GSD in the conventions of r2.17 (CC BY-SA 4.0)"
SCRIPT = (
    "**Measures.** LAS and UAS are those of UD's script, without subtypes of relations."
)


class Recipe(NamedTuple):
    """How a head is trained, and what its card says of its text."""

    task: Any
    settings: dict[str, Any]
    text: str  # data sets and their licences, and what was held out
    dev: str  # what chose the epoch
    predicates: dict[str, Any] | None = None  # settings of the head that finds them
    ngrams: bool = False  # whether a classifier gets weights of character n-grams
    notes: str = ""  # a paragraph of the card
    licence: str = "CC BY-SA 4.0"
    tokenizer: str = "words"  # splits as the treebank of its tokens
    ends: Path | None = (
        None  # columns with types `TYPE/N` of spans that end within a token
    )


def recipes(data: Path, work: Path) -> dict[str, Recipe]:
    """The recipe of each name; paths of the data that are missing fail when they are read."""

    def files(stem, train="-train.conllu", dev="-dev.conllu"):
        return {"train": Path(f"{stem}{train}"), "dev": Path(f"{stem}{dev}")}

    roles = files(data / "en_srl_ewt", "/train.conll.gz", "/dev.conll")
    korean = files(data / KOREAN_TREES)
    return {
        "en-pos": Recipe(
            PosTagging(),
            files(work / "en-pos") | {"word_dim": 50, "min_count": 3},
            ENGLISH_TREES,
            dev="EWT and GUM",
            tokenizer="ewt",
        ),
        "en-ner": Recipe(
            EntityTagging(),
            files(work / "en-ner", ".train.conll", ".dev.conll")
            | {"elmo_dropout": 0.5},
            "Wikigold (CC BY 4.0), WNUT-17 (CC BY 4.0), Broad Twitter Corpus (CC BY 4.0) "
            "and Universal NER over UD English-EWT (CC BY-SA 4.0); held out: a fifth of "
            "Wikigold, the dev of WNUT-17 and of Universal NER, the tweets `h`",
            dev="all four sets together",
            notes="**Names.** Handles and hashtags (`@name`, `#name`) are one token and no "
            "names, adjectives of places (`Korean`) no places.",
            tokenizer="ewt",
        ),
        "en-srl": Recipe(
            RoleTagging(),
            roles | {"epochs": 8, "units": 250},
            "PropBank's roles over UD English-EWT (both CC BY-SA 4.0)",
            dev="EWT, given predicates",
            predicates=roles | {"units": 100},
            tokenizer="ewt",
        ),
        "en-coref": Recipe(
            Coreference(no_singletons=True),
            files(work / "en-coref", "-train.conll.gz", "-dev.conll"),
            "LitBank (CC BY 4.0) and OntoGUM (annotation CC BY 4.0, texts CC BY or CC "
            "BY-SA); held out: the dev of both",
            dev="LitBank and OntoGUM",
        ),
        "en-qa": Recipe(
            Answering(),
            files(data / "en_qa", "/train.json", "/dev.json") | {"epochs": 8},
            "SQuAD 1.1 (CC BY-SA 4.0), SQuADShifts (CC BY 4.0), TyDi QA (Apache-2.0), "
            "over Wikipedia",
            dev="SQuAD and others, `en_qa`",
            notes="**Limits.** It always answers, and its score hardly tells whether the "
            "text has an answer: the area under the ROC curve is .54 on questions of SQuAD "
            "2.0.",
        ),
        "en-ud": Recipe(
            Parsing(tokenizer="ewt"),
            files(work / "en-ud") | {"epochs": 10, "endings": 0, "min_count": 3},
            ENGLISH_TREES,
            dev="EWT and GUM",
            notes=f"{SCRIPT} GUM has newer guidelines than EWT, of features above all; the "
            "head learned both.",
            tokenizer="ewt",
        ),
        "ko-ud": Recipe(
            Parsing(tokenizer="gsd"),
            korean | {"train": work / SILVER, "min_count": 5, "epochs": 16},
            f"{GSD}, and the raw sentences of KLUE's train (CC BY-SA 4.0) as three parsers "
            "of GSD read them together",
            dev="GSD",
            notes=SCRIPT,
            tokenizer="gsd",
        ),
        "ko-pos": Recipe(
            PosTagging(),
            korean | {"word_dim": 50},
            GSD,
            dev="GSD",
            notes="**Scheme.** Universal parts of speech over whole eojeols with their "
            "particles, as GSD has them: nearly all names are NOUN. Kaist's treebank has "
            "another scheme.",
            tokenizer="gsd",
        ),
        "ko-ner": Recipe(
            EntityTagging(),
            {"train": work / "ko-ner.train.conll", "word_dim": 35},
            "KLUE v1.1's named entities, the first 4,000 sentences of its dev, a fifth of "
            "them held out (CC BY-SA 4.0)",
            dev="KLUE, a fifth, words with particles",
            ends=work / "ko-ner.ends.conll",
        ),
        "ko-sentiment": Recipe(
            Classification(),
            files(work / "ko-sentiment", ".train.jsonl", ".valid.jsonl")
            | {"word_dim": 25, "min_count": 6, "epochs": 4},
            "Naver movie reviews (CC0)",
            ngrams=True,
            notes="**Limits.** Logits of the network and weights of hashed character "
            "n-grams are added. Double negation is read as one: 재미없지 않다 and 최악은 "
            "아니다 are called negative. A text without a verdict gets a label too.",
            dev="Naver reviews",
            licence="CC0 1.0 for the head; the language model has its own",
        ),
    }


def prepare(name: str, data: Path, work: Path) -> None:
    """Writes the files of a recipe that are not read as they are published."""
    if name == "en-ner":
        join_entities(data, work)
    elif name in JOINED:
        for part in FILES[name]:
            parts = [(data / f"{x}{part}").read_bytes() for x in JOINED[name].values()]
            (work / f"{name}-{part}").write_bytes(b"".join(parts))
    elif name == "ko-ud":
        add_silver(data, work)
    elif name == "ko-ner":
        source = data / "ko_klue/klue-ner-v1.1_dev.first4000.tsv"
        convert("klue-ner", source, work / "ko-ner.train.conll")
        convert("klue-ner-ends", source, work / "ko-ner.ends.conll")
    elif name == "ko-sentiment":
        for part in ("train", "valid"):
            source = data / f"ko_nsmc/ratings_{part}.txt"
            target = work / f"ko-sentiment.{part}.jsonl"
            convert("nsmc", source, target)
            rows = [row for _, row in read_rows(target)]
            names = {"0": "negative", "1": "positive"}
            lines = [json.dumps(row | {"label": names[row["label"]]}) for row in rows]
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")


def add_silver(data: Path, work: Path) -> None:
    """Trains parsers of Korean trees, and writes these with what they find in more text."""
    if (work / SILVER).exists():
        return
    train, dev = (data / f"{KOREAN_TREES}-{part}.conllu" for part in ("train", "dev"))
    parsers = []
    for seed in SEEDS:
        folder, options = work / f"ko-ud-{seed}", {"model": "ko", "epochs": 30}
        settings = Settings(output=folder, train=train, dev=dev, seed=seed, **options)
        train_task(Parsing(tokenizer="gsd"), settings, progress=True)
        parsers.append(pipeline(folder))
    rows = (data / "ko_klue_raw/train-raw-sent.tsv").read_text("utf-8").splitlines()
    texts = [row.split("\t")[1] for row in rows]
    write_silver(parsers, texts, train, work / SILVER, copies=3)


def join_entities(data: Path, work: Path) -> None:
    """Writes one file of entities to train on, and one that is held out."""
    for part, sets in zip(("train", "dev"), zip(*entity_sets(data).values())):
        with (work / f"en-ner.{part}.conll").open("w", encoding="utf-8") as file:
            for example in itertools.chain(*sets):
                for row in zip(example["tokens"], example["tags"]):
                    print(*row, sep="\t", file=file)
                print(file=file)


def entity_sets(data: Path) -> dict[str, tuple[list[dict], list[dict]]]:
    """What `en-ner` learns from, and what is held out, by the name of the latter."""

    def read(*names):
        return [*itertools.chain(*(read_columns(data / name) for name in names))]

    def read_tweets(parts):
        return [*map(join_handles, read(*(f"en_ner_btc/{x}.conll" for x in parts)))]

    train, dev = hold_out(read(WIKIGOLD), 0.2)
    uner, wnut = "en_ner_uner/en_ewt-ud-{}.iob2", "en_ner_wnut17/"
    uner, uner_dev = (read(uner.format(part)) for part in ("train", "dev"))
    sets = {
        "Wikigold, a fifth": (train, dev),
        UNER: (uner, uner_dev),
        "WNUT-17": (
            read(f"{wnut}wnut17train.conll"),
            read(f"{wnut}emerging.dev.conll"),
        ),
        TWEETS: (read_tweets("abeg"), read_tweets("h")),
    }
    adjectives = other_names([*train, *uner])
    return {
        name: ([names_of(e, adjectives) for e in train], [names_of(e) for e in dev])
        for name, (train, dev) in sets.items()
    }


def other_names(examples: list[dict]) -> set[str]:
    """Words that are mostly entities of other types than places, as `Korean` is."""
    counts = collections.Counter()
    for example in examples:
        for begin, end, type_ in entities(example["tags"]):
            if end - begin == 1:
                counts[example["tokens"][begin]] += 1 if type_ in OTHER else -1
    return {word for word, n in counts.items() if n > 0}


def join_handles(example: dict) -> dict[str, list]:
    """An example whose handles and hashtags are one token, as `split_words` leaves them."""
    tokens, tags = [], []
    for token, tag in zip(example["tokens"], example["tags"]):
        if tokens and tokens[-1] in "@#" and re.fullmatch(HANDLE, tokens[-1] + token):
            tokens[-1] += token
        else:
            tokens.append(token)
            tags.append(tag)
    return {"tokens": tokens, "tags": tags}


def names_of(example: dict, no_places: Collection[str] = ()) -> dict[str, list]:
    """An example with the types of `en-ner`.

    Handles and hashtags are no names, and single words of `no_places` no places.
    """
    tokens = example["tokens"]
    pairs = zip(tokens, example["tags"])
    tags = ["O" if re.fullmatch(HANDLE, token) else tag for token, tag in pairs]
    spans = [
        (begin, end, type_)
        for begin, end, name in entities(tags)
        if (type_ := ENTITIES.get(name, ENTITIES.get(name.lower())))
        and not (type_ == "LOC" and end - begin == 1 and tokens[begin] in no_places)
    ]
    return {"tokens": tokens, "tags": bio_tags(spans, len(tokens))}


def make_head(
    name: str, recipe: Recipe, data: Path, output: Path, **changes: Any
) -> None:
    """Trains a head, and writes it with its card; `changes` are other settings."""
    folder, rows, by_label, saved = output / name, [], [], []
    heads = {folder: (recipe.task, recipe.settings)}
    if recipe.predicates:
        heads[folder / PREDICATES] = PredicateTagging(), recipe.predicates
    for head, (task, own) in heads.items():
        work = output / "work" / "-".join(head.relative_to(output).parts)
        options: dict[str, Any] = {"model": name[:2]} | own | changes
        settings = Settings(output=work, **options)
        values = train_task(task, settings, progress=True)["dev"]
        (score, value), *others = ((k, 100 * v) for k, v in values.items())
        row = {"pipeline": name, "text": recipe.dev, "part": "dev", "score": score}
        if head != folder:
            row["text"] = f"{recipe.dev.partition(',')[0]}, its predicates"
        if others:
            row["also"] = ", ".join(f"{key} {x:.2f}" for key, x in others)
        rows.append(row | {"elmo-keras": round(value, 2)})
        ends = span_ends(recipe.ends).kernel if recipe.ends else None
        file, read = work / "model.keras", read_data(task, settings)
        if recipe.ngrams:
            file = add_ngrams(file, read.train, read.dev)
        save_head(
            file,
            options["model"],
            head,
            arrays={} if ends is None else {ENDS: ends},
            language=name[:2],
            tokenizer=recipe.tokenizer,
        )
        saved.append((head, task, held_out_parts(name, recipe, data, read.dev)))
        card = (work / CARD).read_text("utf-8")
        by_label += re.findall(r"^(?:F1 by label|Most frequent).*", card, re.M)
    calibrated = [calibrate(*row) for row in saved]
    files = folder.rglob("head.*")
    size = sum(len(zlib.compress(file.read_bytes())) for file in files) / 1e6
    card = [
        f"# {name}",
        f"A head of `{options['model']}`, {size:.2f} MB in int8, for "
        f'`elmo_keras.pipeline("{name}")`.',
        f"**Text.** {recipe.text}. **Licence.** {recipe.licence}.",
        *filter(None, [recipe.notes]),
        "**Scores.** The text of the part `dev` chose the epoch, that of `test` nothing.",
        f"<!-- scores: {name} -->\n\n<!-- end -->",
        *by_label[:2],
        *(f"**Calibration.** {line}" for line in calibrated),
        f"Made by `python -m tools.make_heads DATA OUT {name}`.",
    ]
    record(output / "scores.json", rows)
    new = output / "work" / CARD  # the card says that a head is finished
    new.write_text("\n\n".join(card) + "\n", encoding="utf-8")
    new.replace(folder / CARD)
    print(f"The head is in {folder}", flush=True)


def record(file: Path, rows: Sequence[dict]) -> None:
    """Adds scores to a file, in place of those of the same pipeline, text and part.

    A row without spaCy's score keeps the one that is there.
    """
    old = json.loads(file.read_text("utf-8")) if file.exists() else []
    keys = "pipeline", "text", "part", "score"
    merged: dict[tuple, dict] = {}
    for row in [*old, *rows]:
        key = tuple(row[key] for key in keys)
        merged[key] = merged.get(key, {}) | row
    lines = [json.dumps(row, ensure_ascii=False) for row in merged.values()]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def add_ngrams(file: Path, train: list[dict], dev: list[dict]) -> Path:
    """Gives a saved classifier of two labels the weights of character n-grams, in a new file.

    They are those of a logistic regression on the text that the classifier learned from;
    another one on held-out text weighs the logits of both.
    """
    model: Any = load_task_model(file)
    labels = [[model.labels.index(e["label"]) for e in part] for part in (train, dev)]
    matrices = [ngram_counts([e["tokens"] for e in part]) for part in (train, dev)]
    kept = np.flatnonzero(np.bincount(matrices[0].indices, minlength=NGRAM_ROWS) >= 10)
    alone = LogisticRegression(C=2, solver="liblinear", dual=True, max_iter=30, tol=0.1)
    alone.fit(matrices[0][:, kept], labels[0])
    weights = np.zeros(NGRAM_ROWS)
    step = np.abs(alone.coef_).max() / 31  # few values make a small file
    weights[kept] = np.rint(alone.coef_[0] / step) * step
    p = np.array(model.example_scores(model.batches(dev)))
    columns = [np.log(p[:, 1] / p[:, 0]), matrices[1] @ weights]
    both = LogisticRegression(C=100).fit(np.transpose(columns), labels[1])
    of_network, of_ngrams = both.coef_[0]
    config = model.get_config() | {"ngram_rows": NGRAM_ROWS}
    wide: Any = type(model).from_config(config)
    wide.build()
    old, new = model.named_weights(), wide.named_weights()
    for name, weight in old.items():
        scale = of_network if name.startswith("decision/") else 1
        new[name].assign(scale * np.array(weight))
    new["decision/bias"].assign_add([0, both.intercept_[0]])
    new["ngrams/kernel"].assign(np.transpose([0 * weights, of_ngrams * weights]))
    wide.token_vectors.elmo.bilm.set_weights(
        model.token_vectors.elmo.bilm.get_weights()
    )
    new_file = file.with_name("with_ngrams.keras")  # a resumed run reads the old one
    wide.save(new_file)
    return new_file


def ngram_counts(texts: Sequence[Sequence[str]]) -> scipy.sparse.csr_matrix:
    """The counts that `NgramScores` multiplies with its weights."""
    rows = [ngram_rows(tokens, NGRAM_ROWS) for tokens in texts]
    values = np.concatenate([np.full(len(r), len(r) ** -0.5) for r in rows])
    ends = np.cumsum([0, *map(len, rows)])
    shape = len(rows), NGRAM_ROWS
    counts = scipy.sparse.csr_matrix((values, np.concatenate(rows), ends), shape)
    counts.sum_duplicates()
    return counts


def held_out_parts(
    name: str, recipe: Recipe, data: Path, dev: list[dict]
) -> dict[str, list[dict]]:
    """Held-out examples by their texts; names in Korean texts end within words."""
    if name == "en-ner":
        return {title: examples for title, (_, examples) in entity_sets(data).items()}
    if recipe.ends:
        _, examples = hold_out(read_columns(recipe.ends), 0.2)
        return {"KLUE, characters": [*map(in_characters, examples)]}
    if name in JOINED:
        corpora, (_, part) = JOINED[name].items(), FILES[name]
        return {title: recipe.task.read(data / f"{x}{part}") for title, x in corpora}
    return {recipe.dev: dev}


def in_characters(example: dict) -> dict[str, Any]:
    """A text, and its entities by characters, of columns with types `TYPE/N`."""
    ends = [*itertools.accumulate(len(token) + 1 for token in example["tokens"])]
    begins, spans = [0, *ends], {}
    for first, end, type_ in entities(example["tags"]):
        label, _, rest = type_.partition("/")
        spans[begins[first], ends[end - 1] - 1 - int(rest or 0)] = label
    return {"text": " ".join(example["tokens"]), "spans": spans}


def calibrate(head: Path, task: Any, parts: Mapping[str, list[dict]]) -> str:
    """Gives a head the numbers at which its scores fit half of held-out texts best.

    Returns what the card says of its scores on the other half.
    """
    card = json.loads((head / HEAD).read_bytes())
    some = [e for part in parts.values() for e in part[::2]]

    def answer(examples=some, **values):
        text = json.dumps(card | values, ensure_ascii=False, separators=(",", ":"))
        (head / HEAD).write_text(f"{text}\n", encoding="utf-8")
        return scored(pipeline(head), task, examples)

    plain, fitted = {"temperature": 1.0}, {}
    if task.kind == "ud":
        plain |= {"score_slope": 1.0, "score_bias": 0.0}
    if len(answer(**plain)[0]):
        fitted["temperature"] = fit_temperature(
            lambda t: answer(**plain | {"temperature": t})
        )
    if task.kind == "ud":
        names = "score_slope", "score_bias"
        fitted |= zip(names, fit_odds(*answer(**plain | fitted)))
    cells = []
    for title, part in parts.items():
        pairs = [answer(part[1::2], **values) for values in (plain, plain | fitted)]
        if not len(pairs[0][0]):
            continue
        before, after = (f"{100 * calibration_error(*pair):.1f}" for pair in pairs)
        least = f"{100 * sampling_error(pairs[1][0]):.1f}"
        cells.append(f"{title} {before} → {after} (sampling alone {least})")
    numbers = ", ".join(f"{name} {value:g}" for name, value in fitted.items())
    return (
        f"`head.json` has {numbers} from half of dev. Expected calibration error on the "
        f"other half, per cent, without → with it: {'; '.join(cells)}."
    )


def scored(pipe: Any, task: Any, examples: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """The scores of a pipeline's answers, and whether they are right: `(answers,)`."""
    if examples and "question" in examples[0]:
        questions = [" ".join(e["question"]) for e in examples]
        found = pipe(question=questions, context=[e["text"] for e in examples])
        pairs = [
            (r["score"], max(exact_match(r["text"], a) for a in e["answers"] or [""]))
            for r, e in zip(found, examples)
        ]
        return np.array([s for s, _ in pairs]), np.array([x > 0 for _, x in pairs])
    if examples and {"head", "clusters"} & examples[0].keys():
        pairs = (arcs if "head" in examples[0] else mentions)(pipe, examples)
        return np.array([s for s, _ in pairs]), np.array([x for _, x in pairs], bool)
    gold: dict[tuple, set] = {}  # sentence → right answers
    asked: dict[tuple, set] = {}  # sentence → predicates with known roles, or None
    for example in examples:
        key = example.get("text") or tuple(example["tokens"])
        gold.setdefault(key, set()).update(expected(task, example))
        asked.setdefault(key, set()).add(predicate_of(example))
    rows = []
    texts = [x if isinstance(x, str) else [*x] for x in gold]
    for key, results in zip(gold, pipe(texts)):
        for answer in results if isinstance(results, list) else [results]:
            roles, of = answer.get("roles", [answer]), answer.get("predicate", {})
            if of.get("start") in asked[key]:
                rows += [(r["score"], answer_key(r, of) in gold[key]) for r in roles]
    return np.array([s for s, _ in rows]), np.array([r for _, r in rows], bool)


def arcs(pipe: Any, examples: list[dict]) -> list[tuple[float, bool]]:
    """The score of each word, and whether its head and its relation are right."""
    words = itertools.chain(*pipe([e["tokens"] for e in examples]))
    columns = [[x for e in examples for x in e[key]] for key in ("head", "deprel")]
    return [
        (word["score"], (word["head"] + 1, word["deprel"]) == (head, relation))
        for word, head, relation in zip(words, *columns, strict=True)
    ]


def mentions(pipe: Any, examples: list[dict]) -> list[tuple[float, bool]]:
    """The score of each mention, and whether another one of its cluster is of its entity."""
    pairs = []
    results = pipe.predict(TokenBatch([e["sentences"] for e in examples]))
    for example, (_, clusters) in zip(examples, results):
        gold = enumerate(example["clusters"])
        entity_of = {mention: i for i, cluster in gold for mention in cluster}
        for cluster in clusters:
            counts = collections.Counter(
                entity_of.get(mention) for mention, _ in cluster
            )
            pairs += [
                (score, mention in entity_of and counts[entity_of[mention]] > 1)
                for mention, score in cluster
            ]
    return pairs


def answer_key(answer: dict, predicate: dict) -> tuple:
    return answer["label"], answer["start"], answer["end"], predicate.get("start")


def predicate_of(example: dict) -> int | None:
    return example["predicate"].index(1) if "predicate" in example else None


def expected(task: Any, example: dict) -> set[tuple]:
    """The right answers to an example, as `answer_key`."""
    if "label" in example:
        return {(example["label"], 0, len(example["tokens"]), None)}
    predicate = predicate_of(example)
    parts = example["spans"] if "spans" in example else task.parts(example)
    spans = {
        span if isinstance(span, tuple) else (span, span + 1): label
        for span, label in parts.items()
    }
    return {(label, *span, predicate) for span, label in spans.items()}


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
            make_head(name, known[name], data, output, **changes)
    scores.main(output)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("Usage: tools.make_heads DATA OUT [NAME …]")
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
