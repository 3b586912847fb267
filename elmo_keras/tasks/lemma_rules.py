"""Lemmas by rules that are learned from pairs of a form and its lemma.

A rule such as `lower 0  1 y` (letter case, the number of letters to take off at the front
and what comes in their place, and the same at the end; separated by tabs) is a label that
a network can choose for a word. Rules fit forms that no training text had.

Reference: Chrupała 2006; Straka 2018, section 3.2.
"""

import difflib

_CASES = {"same": str, "lower": str.lower, "title": str.capitalize}
_WHOLE = "="  # before a lemma that has nothing of its form
SEPARATOR = "\t"


def lemma_rule(form: str, lemma: str) -> str:
    """The rule that makes a lemma of a form.

    >>> lemma_rule("Cities", "city").split(SEPARATOR)
    ['lower', '0', '', '3', 'y']
    >>> apply_rule(lemma_rule("Cities", "city"), "berries")
    'berry'
    """
    case = "lower" if lemma == lemma.lower() else "same"
    if case == "same" and form.isupper() and not lemma.isupper():
        case = "title"
    cased = _CASES[case](form)
    begin, at, size = difflib.SequenceMatcher(
        None, cased, lemma, autojunk=False
    ).find_longest_match()
    if not size:
        return f"{_WHOLE}{lemma}"
    front, end = str(begin), str(len(cased) - begin - size)
    return SEPARATOR.join([case, front, lemma[:at], end, lemma[at + size :]])


def apply_rule(rule: str, form: str) -> str:
    """The lemma of a form; the form itself where the rule does not fit."""
    if rule.startswith(_WHOLE):
        return rule[1:]
    case, front, before, end, after = rule.split(SEPARATOR)
    cased = _CASES[case](form)
    first, last = int(front), len(cased) - int(end)
    return before + cased[first:last] + after if first < last else form
