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
_INSTEAD = {
    "PUNCT": "punct",
    "ADJ": "amod",
    "NUM": "nummod",
    "DET": "det",
    "AUX": "aux",
}
_INSTEAD |= {"NOUN": "nmod", "PROPN": "nmod", "PRON": "nmod", "ADV": "advmod"}
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
    sentence = {name: list(column) for name, column in sentence.items()}
    if "upos" in sentence:
        tree = _Tree(sentence, is_apart)
        tree.mend_relations()
        tree.mend_functional_words()
        tree.mend_clauses()
        tree.mend_goeswith()
        tree.mend_punctuation()
    return sentence


class _Tree:
    """A sentence whose columns are changed; words are numbered from 1."""

    def __init__(self, sentence, is_apart):
        self.sentence, self.is_apart = sentence, is_apart
        self.heads, self.relations = sentence["head"], sentence["deprel"]
        # Without subtypes; that of the root is nothing.
        self.names = ["", *(name.partition(":")[0] for name in self.relations)]
        feats = sentence.get("feats", [""] * len(self.heads))
        self.tags = [
            re.sub(r".*ExtPos=(\w+).*", r"\1", x) if "ExtPos=" in x else upos
            for upos, x in zip(sentence["upos"], feats)
        ]
        self.words = range(1, len(self.heads) + 1)
        self.children = [[] for _ in [0, *self.words]]
        for word, head in zip(self.words, self.heads):
            self.children[head].append(word)

    def set_head(self, word, head):
        self.children[self.head(word)].remove(word)
        bisect.insort(self.children[head], word)
        self.heads[word - 1] = head

    def set_relation(self, word, name, subtype=""):
        self.names[word] = name
        self.relations[word - 1] = name + subtype

    def head(self, word):
        return self.heads[word - 1]

    def dependents(self, word, *relations):
        return [w for w in self.children[word] if self.names[w] in relations]

    def ancestors(self, word):
        found = []
        while word := self.head(word):
            found.append(word)
        return found

    def mend_relations(self):
        """Relations that do not take a word's part of speech, or go to the right only."""
        for word in self.words:
            tag, relation = self.tags[word - 1], self.names[word]
            if relation == ROOT:
                continue
            if self._refuses(relation, word) or tag == "PUNCT" and relation != "punct":
                self.set_relation(word, _INSTEAD.get(tag, "dep"))
            elif relation in _TO_THE_RIGHT and word < self.head(word):
                self.set_relation(word, "dep")

    def _refuses(self, relation, word):
        """Whether a relation does not take a word."""
        names, tag = _TAGS.get(relation, "^"), self.tags[word - 1]
        if relation == "advmod" and self.dependents(word, "goeswith"):
            return False
        return (
            (tag in names[1:].split()) if names[0] == "^" else tag not in names.split()
        )

    def mend_functional_words(self):
        """The dependents of words that have none go to these words' heads."""
        order = list(self.children[0])
        for word in order:  # from the top down
            order += self.children[word]
            while not self._may_have(self.head(word), word):
                self.set_head(word, self.head(self.head(word)))
            if self.names[word] in _TO_THE_RIGHT and word < self.head(word):
                self.set_relation(word, "dep")
            # No word is `fixed` to a name.
            if (
                self.names[word] == "fixed"
                and self.tags[self.head(word) - 1] == "PROPN"
            ):
                self.set_relation(word, "flat")

    def _may_have(self, head, word):
        relation = self.names[head]
        if relation not in _DEPENDENTS or self.names[word] in _DEPENDENTS[relation]:
            return True
        feats = self.sentence.get("feats", self.tags)
        if relation == "det" and "Poss=Yes" in feats[head - 1]:
            return self.names[word] in ("appos", "acl", "nmod")
        negates = "Polarity=Neg" in feats[word - 1] and relation != "punct"
        is_adverb = self.sentence["upos"][word - 1] in ("PART", "ADV")
        return negates and is_adverb and self.names[word] == "advmod"

    def mend_clauses(self):
        """A predicate has one subject and one object, and a nominal no `obl`."""
        for word in self.words:
            subjects = self.dependents(word, "nsubj", "csubj")
            inner = [
                w for w in subjects if not self.relations[w - 1].endswith(":outer")
            ]
            for other in inner[:-1]:
                self.set_relation(other, self.names[other], ":outer")
            for other in self.dependents(word, "obj")[1:]:
                self.set_relation(other, "obl")
        for word in self.words:
            head = self.head(word)
            is_nominal = head and self.sentence["upos"][head - 1] in (
                "NOUN",
                "PROPN",
                "PRON",
            )
            if (
                self.names[word] == "obl"
                and is_nominal
                and self.names[head] in _NOMINAL
                and not self.dependents(head, "cop", "nsubj", "csubj")
            ):
                self.set_relation(word, "nmod")

    def mend_goeswith(self):
        """Parts of a word follow it, after a space each; they have no lemma of their own."""
        for word in self.words:
            parts = self.dependents(word, "goeswith")
            if parts and (
                parts != [*range(word + 1, word + 1 + len(parts))]
                or not all(self.is_apart[part - 1] for part in parts)
                or any(self.children[part] for part in parts)
            ):
                for part in parts:
                    self.set_relation(part, "flat")
                continue
            for part in parts:
                for name, value in ("lemma", "_"), ("upos", "X"), ("feats", "_"):
                    if name in self.sentence:
                        self.sentence[name][part - 1] = value
            if parts and "feats" in self.sentence:
                feats = {*self.sentence["feats"][word - 1].split("|"), "Typo=Yes"} - {
                    "_"
                }
                self.sentence["feats"][word - 1] = "|".join(
                    sorted(feats, key=str.lower)
                )

    def mend_punctuation(self):
        """Punctuation hangs where no arc crosses another because of it."""
        if not self._has_crossing():
            return
        for word in self.words:
            if self.names[word] != "punct" or self._is_projective(
                word, self.head(word)
            ):
                continue
            near = [w for w in (word - 1, word + 1) if w in self.words]
            candidates = [w for n in near for w in (n, *self.ancestors(n))]
            candidates = [*self.ancestors(self.head(word)), *candidates, *self.words]
            for head in candidates:
                if (
                    word not in (head, *self.ancestors(head))
                    and self._may_have(head, word)
                    and self._is_projective(word, head)
                ):
                    self.set_head(word, head)
                    break

    def _has_crossing(self):
        """Whether two arcs cross, with that from the root."""
        arcs = sorted(
            map(sorted, zip(self.words, self.heads)), key=lambda a: (a[0], -a[1])
        )
        ends = []
        for low, high in arcs:
            while ends and ends[-1] <= low:
                ends.pop()
            if ends and ends[-1] < high:
                return True
            ends.append(high)
        return False

    def _is_projective(self, word, head):
        """Whether a word with this head is in no gap, and has none to it."""
        low, high = sorted((word, head))
        above = {0, head, *self.ancestors(head)}
        if any(head not in self.ancestors(w) for w in range(low + 1, high)):
            return False
        left = range(head + 1 if head < word else 1, word)
        right = range(word + 1, head if head > word else len(self.heads) + 1)
        crossing = [
            w for w in left if self.head(w) > word and self.head(w) not in above
        ]
        crossing += [
            w for w in right if self.head(w) < word and self.head(w) not in above
        ]
        if head < word:
            crossing = [w for w in crossing if w < word or self.head(w) > head]
        else:
            crossing = [w for w in crossing if w > word or self.head(w) < head]
        return not crossing
