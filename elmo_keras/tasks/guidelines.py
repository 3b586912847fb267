"""Makes a predicted tree follow the guidelines of Universal Dependencies.

The rules are those that hold for all languages, level 3 of UD's validator: which parts of
speech a relation takes, which words have no dependents, which relations go from left to
right, one subject and one object, and punctuation that no arc crosses.

Reference: https://universaldependencies.org/validation-rules.html
"""

import bisect
import re
from collections.abc import Sequence

from elmo_keras.tasks.trees import ROOT

_NOUNS = "NOUN", "PROPN", "PRON"
# Relation → the parts of speech that it takes; or, after ^, those that it does not take.
_TAGS = {
    "det": "DET PRON",
    "nummod": "NUM NOUN SYM",
    "advmod": "ADV ADJ CCONJ DET PART SYM",
    "expl": "PRON DET PART",
    "aux": "AUX",
    "cop": "AUX PRON DET SYM",
    "case": "^PROPN ADJ PRON DET NUM AUX",
    "mark": "^NOUN PROPN ADJ PRON DET NUM AUX INTJ",
    "cc": "^NOUN PROPN ADJ PRON DET NUM VERB AUX INTJ",
    "punct": "PUNCT",
    "fixed": "^PROPN",
}
# Part of speech → its relation in place of one that doesn't take it.
_INSTEAD = {"PUNCT": "punct", "ADJ": "amod", "ADV": "advmod", "NUM": "nummod"}
_INSTEAD |= {"DET": "det", "AUX": "aux"} | dict.fromkeys(_NOUNS, "nmod")
# Relation → those of the dependents that a word with it may have.
_OF_ALL = "goeswith fixed reparandum conj cc punct".split()
_DEPENDENTS = {
    "case": ["advmod", "obl", *_OF_ALL],
    "mark": ["advmod", "obl", *_OF_ALL],
    "aux": _OF_ALL,
    "cop": _OF_ALL,
    "clf": ["advmod", "obl", *_OF_ALL],
    "cc": [name for name in _OF_ALL if name != "cc"],
    "fixed": ["goeswith", "reparandum", "conj", "punct"],
    "goeswith": [],
    "punct": ["punct"],
    "det": "case advmod obl clf flat compound discourse parataxis det".split()
    + _OF_ALL,
}
_TO_THE_RIGHT = "conj", "fixed", "flat", "goeswith", "appos"
_NOMINAL = "nsubj obj iobj obl vocative dislocated expl nmod".split()


def follow_guidelines(
    sentence: dict[str, list], is_apart: Sequence[bool]
) -> dict[str, list]:
    """A sentence with a tree that follows the rules; one that does is returned as it is.

    Args:
        sentence: its columns, see `trees`, with `upos`.
        is_apart: whether there is space between a word and the one before it.
    """
    if "upos" not in sentence:
        return {name: list(column) for name, column in sentence.items()}
    tree = _Tree(sentence, is_apart)
    tree.mend_relations()
    tree.mend_functional_words()
    tree.mend_clauses()
    tree.mend_goeswith()
    tree.mend_punctuation()
    return {name: column[1:] for name, column in tree.columns.items()}


class _Tree:
    """A sentence whose columns are changed; words are numbered from 1, the root is 0."""

    def __init__(self, sentence, is_apart):
        self.columns = {name: ["", *column] for name, column in sentence.items()}
        self.heads, self.relations = self.columns["head"], self.columns["deprel"]
        self.upos, self.is_apart = self.columns["upos"], is_apart
        self.names = [name.partition(":")[0] for name in self.relations]
        self.feats = self.columns.get("feats", [""] * len(self.heads))
        self.tags = [
            re.sub(r".*ExtPos=(\w+).*", r"\1", x) if "ExtPos=" in x else upos
            for upos, x in zip(self.upos, self.feats)
        ]
        self.words = range(1, len(self.heads))
        self.children = [[] for _ in self.heads]
        for word in self.words:
            self.children[self.heads[word]].append(word)

    def set_head(self, word, head):
        self.children[self.heads[word]].remove(word)
        bisect.insort(self.children[head], word)
        self.heads[word] = head

    def set_relation(self, word, name, subtype=""):
        self.names[word] = name
        self.relations[word] = name + subtype

    def dependents(self, word, *relations):
        return [w for w in self.children[word] if self.names[w] in relations]

    def ancestors(self, word):
        found = []
        while word := self.heads[word]:
            found.append(word)
        return found

    def mend_relations(self):
        """Relations that do not take a word's part of speech, or go to the right only."""
        for word in self.words:
            tag, relation = self.tags[word], self.names[word]
            if relation == ROOT:
                continue
            if self._refuses(relation, word) or tag == "PUNCT" and relation != "punct":
                self.set_relation(word, _INSTEAD.get(tag, "dep"))
            else:
                self._point_right(word)

    def _point_right(self, word):
        if self.names[word] in _TO_THE_RIGHT and word < self.heads[word]:
            self.set_relation(word, "dep")

    def _refuses(self, relation, word):
        names = _TAGS.get(relation, "^")
        if relation == "advmod" and self.dependents(word, "goeswith"):
            return False
        is_named = self.tags[word] in names.removeprefix("^").split()
        return is_named == names.startswith("^")

    def mend_functional_words(self):
        """The dependents of words that have none go to these words' heads."""
        order = list(self.children[0])
        for word in order:  # from the top down
            order += self.children[word]
            while not self._may_have(self.heads[word], word):
                self.set_head(word, self.heads[self.heads[word]])
            self._point_right(word)
            # No word is `fixed` to a name.
            if self.names[word] == "fixed" and self.tags[self.heads[word]] == "PROPN":
                self.set_relation(word, "flat")

    def _may_have(self, head, word):
        relation = self.names[head]
        if relation not in _DEPENDENTS or self.names[word] in _DEPENDENTS[relation]:
            return True
        if relation == "det" and "Poss=Yes" in self.feats[head]:
            return self.names[word] in ("appos", "acl", "nmod")
        negates = "Polarity=Neg" in self.feats[word] and relation != "punct"
        is_adverb = self.upos[word] in ("PART", "ADV")
        return negates and is_adverb and self.names[word] == "advmod"

    def mend_clauses(self):
        """A predicate has one subject and one object, and a nominal no `obl`."""
        for word in self.words:
            subjects = self.dependents(word, "nsubj", "csubj")
            inner = [w for w in subjects if not self.relations[w].endswith(":outer")]
            for other in inner[:-1]:
                self.set_relation(other, self.names[other], ":outer")
            for other in self.dependents(word, "obj")[1:]:
                self.set_relation(other, "obl")
        for word in self.words:
            head = self.heads[word]
            if (
                self.names[word] == "obl"
                and self.upos[head] in _NOUNS
                and self.names[head] in _NOMINAL
                and not self.dependents(head, "cop", "nsubj", "csubj")
            ):
                self.set_relation(word, "nmod")

    def mend_goeswith(self):
        """Parts of a word follow it, after a space each; they have no lemma of their own."""
        for word in self.words:
            parts = self.dependents(word, "goeswith")
            if parts != [*range(word + 1, word + 1 + len(parts))] or any(
                self.children[part] or not self.is_apart[part - 1] for part in parts
            ):
                for part in parts:
                    self.set_relation(part, "flat")
                continue
            for part in parts:
                for name, value in ("lemma", "_"), ("upos", "X"), ("feats", "_"):
                    if name in self.columns:
                        self.columns[name][part] = value
            if parts and "feats" in self.columns:
                feats = {*self.feats[word].split("|"), "Typo=Yes"} - {"_"}
                self.feats[word] = "|".join(sorted(feats, key=str.lower))

    def mend_punctuation(self):
        """Punctuation hangs where no arc crosses another because of it."""
        if not self._has_crossing():
            return
        for word in self.words:
            head = self.heads[word]
            if self.names[word] != "punct" or self._is_projective(word, head):
                continue
            near = [w for w in (word - 1, word + 1) if w in self.words]
            candidates = [w for n in near for w in (n, *self.ancestors(n))]
            for other in (*self.ancestors(head), *candidates, *self.words):
                if (
                    word not in (other, *self.ancestors(other))
                    and self._may_have(other, word)
                    and self._is_projective(word, other)
                ):
                    self.set_head(word, other)
                    break

    def _has_crossing(self):
        arcs = (sorted((word, self.heads[word])) for word in self.words)
        ends = []
        for low, high in sorted(arcs, key=lambda a: (a[0], -a[1])):
            while ends and ends[-1] <= low:
                ends.pop()
            if ends and ends[-1] < high:
                return True
            ends.append(high)
        return False

    def _is_projective(self, word, head):
        """Whether a word with this head is in no gap, and has none to it."""
        low, high = sorted((word, head))
        if any(head not in self.ancestors(w) for w in range(low + 1, high)):
            return False
        above = {0, head, *self.ancestors(head)}
        heads = self.heads
        left = range(head + 1 if head < word else 1, word)
        right = range(word + 1, head if head > word else len(heads))
        crossing = [w for w in left if heads[w] > word and heads[w] not in above]
        crossing += [w for w in right if heads[w] < word and heads[w] not in above]
        if head < word:
            return all(w > word and heads[w] <= head for w in crossing)
        return all(w < word and heads[w] >= head for w in crossing)
