"""Scores of a parser → trees, and the columns of their words.

A sentence is a dict of columns, each a list with a value for every word, named as in
CoNLL-U: `tokens`, `lemma`, `upos`, `xpos`, `feats`, `head`, the number of the head from 1 and
0 for the root, and `deprel`; and `joined`, whether a word is written together with the one
before it, as the second of a multiword token.
"""

import collections
import difflib
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from elmo_keras.base.argument_checks import check_labels, check_lines
from elmo_keras.heads.light import softmax
from elmo_keras.heads.texts import join
from elmo_keras.heads.token_batch import parts_of

ROOT = "root"  # the relation of the word whose head is 0, and of no other
LABELS = "upos", "xpos", "feats", "lemma", "joined"
TREE_COLUMNS = "tokens", "lemma", "upos", "xpos", "feats", "head", "deprel", "joined"
JOINED = "no", "yes"
LONGEST = 500  # words that are linked to each other; a longer sentence is cut
SLOPE = 0.1  # of a parser's leaky ReLU below 0
_CASES = {"same": str, "lower": str.lower, "title": str.capitalize}
WHOLE = "="  # before a lemma that has nothing of its form
SEPARATOR = "\t"
LIKELY = 0.003  # probability of a rule that may take the place of the best one


def check_columns(
    relations: Sequence[str],
    labels: Mapping[str, Sequence[str]],
    lemmas: Mapping[str, str],
) -> None:
    """Refuses what the columns of a tree can't hold; for the arguments see `TreeDecoder`."""
    rules = map(read_rule, labels.get("lemma", ()))
    check_lines(lemmas=[*lemmas.values()], lemma=["".join(map(str, r)) for r in rules])
    check_labels(relations=relations)
    check_labels(**{k: names for k, names in labels.items() if k != "lemma"})


def spanning_tree(scores: np.ndarray) -> np.ndarray:
    """The heads of the tree with the highest sum of scores whose root has one dependent.

    Args:
        scores: `(words, words + 1)`, of each word's head; the first column is the root.

    Returns:
        The head of each word, int `(words,)`: 0 for the root, else 1 + the index of a word.

    >>> spanning_tree(np.array([[1.0, 0, 3], [2, 5, 0]])).tolist()
    [0, 1]

    Reference: Chu and Liu 1965; Edmonds 1967; McDonald et al. 2005.
    """
    n = len(scores)
    # A square of head by dependent, in which the root comes first.
    square = np.full((n + 1, n + 1), -np.inf)
    square[:, 1:] = scores.T
    np.fill_diagonal(square, -np.inf)
    heads = _best_heads(square)
    if (heads[1:] == 0).sum() > 1:
        # One arc from the root costs more than all others could gain.
        finite = square[np.isfinite(square)]
        square[0, 1:] -= (n + 1) * (np.ptp(finite) + 1)
        heads = _best_heads(square)
    return heads[1:]


def _best_heads(scores):
    """The best heads for a square of scores, head by dependent; 0 is the root."""
    heads = scores.argmax(axis=0)
    heads[0] = 0
    cycle = find_cycle(heads)
    if cycle is None:
        return heads
    # The cycle becomes one node, the last; an arc into it replaces one of its own.
    is_other = np.ones(len(scores), bool)
    is_other[cycle] = False
    others = np.flatnonzero(is_other)
    into = scores[others[:, None], cycle] - scores[heads[cycle], cycle]
    out = scores[cycle[:, None], others]
    smaller = np.full((len(others) + 1,) * 2, -np.inf)
    smaller[:-1, :-1] = scores[others[:, None], others]
    smaller[:-1, -1] = into.max(axis=1)
    smaller[-1, :-1] = out.max(axis=0)
    *solved, source = _best_heads(smaller)
    sources = np.append(others, -1)[solved]
    heads[others] = np.where(sources < 0, cycle[out.argmax(axis=0)], sources)
    heads[cycle[into[source].argmax()]] = others[source]
    heads[0] = 0
    return heads


def find_cycle(heads: np.ndarray) -> np.ndarray | None:
    """The nodes of a cycle of heads, or None; 0 is its own head."""
    ends = heads
    for _ in range(len(heads).bit_length()):
        ends = ends[ends]
    if not ends.any():
        return None
    cycle = [ends.max()]
    while (node := heads[cycle[-1]]) != cycle[0]:
        cycle.append(node)
    return np.array(cycle)


def encode_tree(
    sentence: Mapping[str, Any],
    relations: Sequence[str],
    labels: Mapping[str, Sequence[str]],
) -> np.ndarray:
    """The targets of a sentence: int32 `(words, 2 + labels)`.

    The columns are the head, the index of the relation, and that of each of `labels`; −1
    for a label that the parser does not know, and for the relation of the root.
    """
    pairs = [(sentence["deprel"], relations)]
    pairs += [(label_values(sentence, name), names) for name, names in labels.items()]
    columns = [sentence["head"]]
    for values, names in pairs:
        index = {name: i for i, name in enumerate(names)}
        columns.append([index.get(value, -1) for value in values])
    return np.array(columns, np.int32).T


def label_values(sentence: Mapping[str, Any], name: str) -> list[str | None]:
    """The values of a column that a parser learns: for lemmas rules; None is not known."""
    if name != "lemma":
        return sentence[name]
    pairs = zip(sentence["tokens"], sentence["lemma"])
    return [lemma and lemma_rule(form, lemma) for form, lemma in pairs]


def known_lemmas(sentences: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Form → lemma, of forms with the same lemma in at least nine of ten places."""
    counts = collections.defaultdict(collections.Counter)
    for sentence in sentences:
        for form, lemma in zip(sentence["tokens"], sentence["lemma"]):
            if lemma is not None:
                counts[form][lemma] += 1
    lemmas = {}
    for form, lemma_counts in sorted(counts.items()):
        ((lemma, n),) = lemma_counts.most_common(1)
        if 10 * n >= 9 * lemma_counts.total():
            lemmas[form] = lemma
    return lemmas


def lemma_rule(form: str, lemma: str) -> str:
    """The rule that makes a lemma of a form, a label that a network can choose for a word.

    It is the letter case, the number of letters to take off at the front and what comes in
    their place, and the same at the end; separated by tabs.

    >>> lemma_rule("Cities", "city").split(SEPARATOR)
    ['lower', '0', '', '3', 'y']
    >>> apply_rule(lemma_rule("Cities", "city"), "berries")
    'berry'

    Reference: Chrupała 2006; Straka 2018, section 3.2.
    """
    case = "lower" if lemma == lemma.lower() else "same"
    if case == "same" and form.isupper() and not lemma.isupper():
        case = "title"
    cased = _CASES[case](form)
    begin, at, size = difflib.SequenceMatcher(
        None, cased, lemma, autojunk=False
    ).find_longest_match()
    if not size:
        return f"{WHOLE}{lemma}"
    front, end = str(begin), str(len(cased) - begin - size)
    return SEPARATOR.join([case, front, lemma[:at], end, lemma[at + size :]])


def apply_rule(rule: str, form: str) -> str:
    """The lemma of a form; the form itself where the rule does not fit."""
    case, front, before, end, after = read_rule(rule)
    if case == WHOLE:
        return before
    cased = _CASES[case](form)
    first, last = front, len(cased) - end
    return before + cased[first:last] + after if first < last else form


def read_rule(rule: str) -> tuple[str, int, str, int, str]:
    """Case, letters off at the front and what is put there, and the same at the end."""
    if rule.startswith(WHOLE):
        return WHOLE, 0, rule[1:], 0, ""
    case, front, before, end, after = rule.split(SEPARATOR)
    return case, int(front), before, int(end), after


class TreeDecoder:
    """Finds the trees for the scores of a parser.

    The score of a word is the probability p that its head and its relation are right, as
    if one didn't depend on the other. What they have in common is learned from held-out
    trees: `score = sigmoid(slope · log(p / (1 − p)) + bias)`.

    Args:
        relations, labels, lemmas: as of `DependencyParser`.
        slope, bias: of the logarithm of a score's odds.

    Reference: Platt 1999.
    """

    def __init__(
        self,
        relations: Sequence[str],
        labels: Mapping[str, Sequence[str]],
        lemmas: Mapping[str, str],
        *,
        slope: float = 1.0,
        bias: float = 0.0,
    ):
        self.relations, self.labels, self.lemmas = relations, labels, lemmas
        self.slope, self.bias = slope, bias
        self._learned = {*lemmas.values()}

    def trees(
        self,
        scores: Mapping[str, np.ndarray],
        sentences: Sequence[Sequence[str]],
        words: Container[str] | None = None,
    ) -> list[dict[str, list]]:
        """The columns of each sentence, and `score`, how likely head and relation are.

        Args:
            scores: the outputs of a `DependencyParser`, of flat sentences `(tokens, …)`.
            sentences: their words.
            words: of the language. A rule's lemma that is none of them, nor was learned,
                gives way to that of another likely rule.
        """
        parts = parts_of(np.array([*map(len, sentences)], int))
        names = "root", "dependent", "head"
        rows = [_find_heads(*(scores[name][part] for name in names)) for part in parts]
        heads, likely = map(np.concatenate, zip((np.zeros(0, int), []), *rows))
        firsts = np.repeat([part.start for part in parts], [*map(len, sentences)])
        at_head = np.maximum(firsts.astype(int) + heads - 1, 0)
        relations, p = self._find_relations(scores, heads, at_head)
        columns = {"head": heads.tolist(), "deprel": relations}
        for name, labels in self.labels.items():
            columns[name] = [labels[i] for i in scores[name].argmax(axis=1).tolist()]
        if "lemma" in columns:
            triples = zip(join(sentences), columns["lemma"], scores["lemma"])
            columns["lemma"] = [self._lemma(*triple, words) for triple in triples]
        columns["score"] = self._calibrate(likely * p).tolist()
        return [
            {"tokens": list(tokens)} | {name: x[part] for name, x in columns.items()}
            for tokens, part in zip(sentences, parts)
        ]

    def _find_relations(self, scores, heads, at_head):
        """Each word's relation to its head, and how likely it is."""
        size = scores["relation"].shape[1] // len(self.relations)
        relation = scores["relation"].reshape(-1, len(self.relations), size)
        # The last number of each head's vector is 1.
        vectors = scores["relation_head"][at_head, :-1]
        products = np.einsum("nrd,nd->nr", relation[..., :-1], vectors)
        products += relation[..., -1]
        best = products.argmax(axis=1)
        names = [self.relations[i] if h else ROOT for i, h in zip(best, heads.tolist())]
        return names, np.where(heads, _share(products, best), 1)

    def _calibrate(self, p):
        right, wrong = p**self.slope, (1 - p) ** self.slope
        return right / (right + np.exp(-self.bias) * wrong)

    def _lemma(self, form, rule, scores, words):
        """The lemma that a form always has, or that of a rule."""
        if known := self.lemmas.get(form):
            return known
        lemma = apply_rule(rule, form)
        if words is None or lemma.lower() == form.lower():
            return lemma
        if lemma in self._learned or lemma in words:
            return lemma
        rules = sorted(zip((-softmax(scores)).tolist(), self.labels["lemma"]))
        lemmas = [apply_rule(rule, form) for p, rule in rules if -p >= LIKELY]
        return min(
            lemmas,
            key=lambda x: (x not in self._learned, x not in words),
            default=lemma,
        )


def _find_heads(root, dependents, heads):
    """The head of each word of a sentence, 0 for the root, and how likely it is."""
    result, likely = np.zeros(len(heads), int), np.zeros(len(heads), np.float32)
    for first in range(0, len(heads), LONGEST):
        piece = slice(first, first + LONGEST)
        # By einsum, as BLAS would start threads for this.
        arcs = np.einsum("id,jd->ij", dependents[piece], heads[piece])
        arcs = np.concatenate([root[piece], arcs], axis=1)
        tree, words = spanning_tree(arcs), np.arange(len(arcs))
        arcs[words, words + 1] = -np.inf  # a word is not its own head
        likely[piece] = _share(arcs, tree)
        result[piece] = np.where(tree, tree + first, 0)
    # The roots of later pieces hang on the first one.
    roots = np.flatnonzero(result == 0)
    result[roots[1:]] = roots[:1] + 1
    return result, likely


def _share(scores, columns):
    """The softmax of each row at a column."""
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p[np.arange(len(p)), columns] / p.sum(axis=1)
