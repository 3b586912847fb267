"""Lemmas by rules that are learned from pairs of a form and its lemma.

A rule such as `lower 0  1 y` (letter case, the number of letters to take off at the front
and what comes in their place, and the same at the end; separated by tabs) is a label that
a network can choose for a word. Rules fit forms that no training text had.

Reference: Chrupała 2006; Straka 2018, section 3.2.
"""

import difflib

_CASES = {"same": str, "lower": str.lower, "title": str.capitalize}
WHOLE = "="  # before a lemma that has nothing of its form
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
