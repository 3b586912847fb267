"""ELMo in pipelines of spaCy: `elmo`, `elmo_ner`, `elmo_pos` and `elmo_ud`; needs spaCy."""

import contextlib
import functools
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, Token
from spacy.training import Example
from spacy.util import minibatch

from elmo_keras.embed.embedder import Embedder
from elmo_keras.heads.find import absolute_head
from elmo_keras.heads.head import copy_model
from elmo_keras.heads.pipeline import pipeline
from elmo_keras.heads.texts import Text
from elmo_keras.hub.local_files import absolute


class _Component:
    """A component. A model at a path is saved in the pipeline's folder."""

    def __init__(self, model: str, load: Callable[[str], Any]):
        self._path, self._load, self._loaded = model, load, None
        # spaCy makes a component before it reads the folder in which its model lies.
        with contextlib.suppress(FileNotFoundError):
            self._loaded = self._load(self._path)

    @property
    def loaded(self) -> Any:
        """The object that computes; `FileNotFoundError` if no folder holds it."""
        if self._loaded is None:
            self._loaded = self._load(self._path)
        return self._loaded

    def to_disk(self, path: Path, *, exclude: Iterable[str] = ()) -> None:
        source = Path(self._path)
        target = path / f"model{source.suffix if source.is_file() else ''}"
        for earlier in path.glob("model*"):  # `from_disk` would read it
            if earlier.resolve() != source.resolve():
                shutil.rmtree(earlier) if earlier.is_dir() else earlier.unlink()
        if source.is_absolute() and source.resolve() != target.resolve():
            path.mkdir(parents=True, exist_ok=True)
            copy_model(source, target)

    def from_disk(self, path: Path, *, exclude: Iterable[str] = ()) -> "_Component":
        for saved in path.glob("model*"):  # none if the model has a name
            self._path = str(saved.absolute())
            self._loaded = self._load(self._path)
        return self

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        """Yields the documents with the component's annotation."""
        for docs in minibatch(stream, batch_size):
            self._annotate(docs)
            yield from docs

    def _annotate(self, docs: Sequence[Doc]) -> None:
        raise NotImplementedError


@Language.factory("elmo", assigns=["doc.tensor"])
class ElmoPipe(_Component):
    """Sets `doc.tensor`, with a row for each token.

    `vector` and `similarity` of documents, spans and tokens follow from it; the row of
    white space is the mean over the tokens, which leaves that of the document
    unchanged. Each sentence is read on its own if an earlier component has found them,
    else a document is one. In a document that comes from another process or a file,
    spaCy uses static vectors if its vocabulary has some, and the `similarity` of two
    tokens, or texts, of one spelling is 1.

    Args:
        model, layers, mix, gamma, arithmetic: as in `Embedder`, for vectors of tokens; `"en"`
            comes with the package and has 256 numbers a token.
    """

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: str = "en",
        layers: str | int = "mix",
        mix: Sequence[float] | None = None,
        gamma: float | None = None,
        arithmetic: str | None = None,
    ):
        if layers == "all":
            raise ValueError("A token has one vector. `layers` should not be 'all'.")
        options = {"layers": layers, "mix": mix, "gamma": gamma}
        load = functools.partial(Embedder, arithmetic=arithmetic, **options)
        super().__init__(absolute(model), load)

    def _annotate(self, docs):
        sentences = [sentence for doc in docs for sentence in _split_sentences(doc)]
        vectors = self.loaded([[t.text for t in s] for s in sentences])
        for doc in docs:
            doc.tensor = np.zeros((len(doc), self.loaded.dim), np.float32)
            # spaCy would use static vectors, and compare the spelling of two tokens.
            for hooks in doc.user_hooks, doc.user_span_hooks, doc.user_token_hooks:
                hooks.update(_HOOKS)
        for sentence, rows in zip(sentences, vectors):
            for token, row in zip(sentence, rows):
                token.doc.tensor[token.i] = row
        for doc in docs:
            space = np.array([token.is_space for token in doc], bool)
            if space.any() and not space.all():
                doc.tensor[space] = doc.tensor[~space].mean(axis=0)


class _Analyzer(_Component):
    """Runs a pipeline over the sentences of documents, or over documents without any."""

    type = "words"  # the type of the pipeline

    def __init__(self, nlp: Language, name: str, model: str):
        super().__init__(absolute_head(model), self._load_pipeline)

    def _load_pipeline(self, model):
        loaded = pipeline(model)
        if loaded.type != self.type:
            raise ValueError(f"{model} labels no {self.type}. Give one that does.")
        return loaded

    @property
    def labels(self) -> tuple[str, ...]:
        # spaCy asks before the folder of a model is read.
        return () if self._loaded is None else tuple(self._loaded.labels)

    def _annotate(self, docs):
        for doc, results in zip(docs, self.loaded.pipe(map(_read, docs))):
            self._set(doc, results)

    def _set(self, doc: Doc, results: list[dict]) -> None:
        raise NotImplementedError


@Language.factory(
    "elmo_ner",
    assigns=["doc.ents"],
    default_config={"model": "en-ner"},
    default_score_weights={
        "ents_f": 1.0,
        "ents_p": 0,
        "ents_r": 0,
        "ents_per_type": None,
    },
)
class ElmoEntities(_Analyzer):
    """Adds entities to `doc.ents` that overlap none of an earlier component.

    Args:
        model: a pipeline of entities, see `elmo_keras.pipeline`.
    """

    type = "entities"

    def score(self, examples: Iterable[Example], **options: Any) -> dict[str, Any]:
        """Scores as spaCy's `ner`: `ents_f`, `ents_p`, `ents_r` and `ents_per_type`."""
        return get_ner_prf(examples, **options)

    def _set(self, doc, results):
        spans = [Span(doc, r["start"], r["end"], r["label"]) for r in results]
        # Not where an earlier component set an entity (I, B) or blocked one (B).
        free = [s for s in spans if all(token.ent_iob_ in ("", "O") for token in s)]
        doc.set_ents(free, default="unmodified")


@Language.factory(
    "elmo_pos",
    assigns=["token.pos"],
    default_config={"model": "en-pos"},
    default_score_weights={"pos_acc": 1.0},
)
class ElmoTags(_Analyzer):
    """Sets `token.pos_`.

    Args:
        model: a pipeline of parts of speech, see `elmo_keras.pipeline`.
    """

    def score(self, examples: Iterable[Example], **options: Any) -> dict[str, Any]:
        """Scores as spaCy's `morphologizer`: `pos_acc`."""
        return Scorer.score_token_attr(examples, "pos", **options)

    def _set(self, doc, results):
        for token in doc:
            if token.is_space:
                token.pos_ = "SPACE"
        for result in results:
            doc[result["start"]].pos_ = result["label"]


@Language.factory(
    "elmo_ud",
    assigns=[
        *("token.dep", "token.head", "token.lemma", "token.morph", "token.pos"),
        *("token.tag", "token.is_sent_start", "doc.sents"),
    ],
    default_config={"model": "en-ud"},
    default_score_weights={"dep_las": 1.0, "dep_uas": 0, "lemma_acc": 0, "pos_acc": 0},
)
class ElmoSyntax(_Analyzer):
    """Sets trees of Universal Dependencies, lemmas, morphology and tags.

    White space depends on the token before it, or at the start on the one after it.

    Args:
        model: a pipeline of syntax, see `elmo_keras.pipeline`.
    """

    type = "syntax"

    @property
    def labels(self) -> tuple[str, ...]:
        return () if self._loaded is None else tuple(self._loaded.model.relations)

    def score(self, examples: Iterable[Example], **options: Any) -> dict[str, Any]:
        """Scores as spaCy's `parser`, `lemmatizer` and `morphologizer`."""
        examples = list(examples)
        scores = Scorer.score_deps(examples, "dep", **options)
        for name in "lemma", "pos":
            scores |= Scorer.score_token_attr(examples, name, **options)
        return scores

    def _set(self, doc, results):
        sentences: dict[int, list[dict]] = {}
        for result in results:
            sentences.setdefault(result["sentence"], []).append(result)
        heads, relations = [max(i - 1, 0) for i in range(len(doc))], ["dep"] * len(doc)
        if results:
            heads[: results[0]["start"]] = [results[0]["start"]] * results[0]["start"]
        for token in doc:
            if token.is_space:
                token.pos_, token.tag_, token.lemma_ = "SPACE", "_SP", token.text
        for words in sentences.values():
            for word in words:
                token = doc[word["start"]]
                is_root = word["head"] < 0
                heads[token.i] = token.i if is_root else words[word["head"]]["start"]
                relations[token.i] = "ROOT" if is_root else word["deprel"]
                token.pos_ = word["upos"]
                token.tag_ = word.get("xpos", word["upos"])
                token.lemma_ = word.get("lemma", token.text)
                token.set_morph(word.get("feats", ""))
        ids = [doc.vocab.strings.add(relation) for relation in relations]
        offsets = np.subtract(heads, np.arange(len(doc))).astype(np.int64)
        columns = np.array([offsets.astype(np.uint64), ids], np.uint64).T
        doc.from_array([HEAD, DEP], columns)


def _read(doc):
    """The sentences of a document, with spans in tokens."""
    sentences = [sentence for sentence in _split_sentences(doc) if sentence]
    return Text(
        [token.text for token in doc],
        [[token.text for token in sentence] for sentence in sentences],
        [[(token.i, token.i + 1) for token in sentence] for sentence in sentences],
    )


def _split_sentences(doc):
    """The tokens of each sentence, without white space."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
    return [[token for token in span if not token.is_space] for span in spans]


def _mean_vector(part: Doc | Span | Token) -> np.ndarray:
    """The vector of a token; the mean over a document or a span, as spaCy's."""
    rows = part.doc.tensor
    if isinstance(part, Span):
        rows = rows[part.start : part.end]
    elif isinstance(part, Token):
        rows = rows[part.i : part.i + 1]
    return rows.sum(axis=0) / max(len(rows), 1)


def _cosine(part: Doc | Span | Token, other: Doc | Span | Token) -> float:
    lengths = part.vector_norm * other.vector_norm
    return float(np.dot(part.vector, other.vector)) / lengths if lengths else 0.0


_HOOKS = {"vector": _mean_vector, "similarity": _cosine, "has_vector": bool}
