"""The rules that split raw text into words: one table for `re`, RE2 and JavaScript.

A rule is a pattern and what replaces its matches. The first rule puts `MARK` before and
after each token, and the others cut tokens (`CUT`) or join them, so that what is outside
and what is inside of tokens takes turns between marks. No other character changes.

Patterns have neither lookaround nor references to groups, which RE2 lacks, and their time
is linear. A token depends only on what is between its spaces, except for `FULL_STOP` and a %.
"""

import functools
import itertools
import re
import sys
import unicodedata
from collections.abc import Iterable

Rule = tuple[str, str]

MARK = "\x1f"
CUT = MARK * 2
# White space, and joiners, which are spaces unless they follow a character.
SPACES = (
    "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\xad"
    "\ufe00-\ufe0f\ufeff"
)
# Letters and digits: all, and those outside of ASCII; and what extends the character
# before it. Other engines and scripts have other sets: see `word_rules`.
LETTER, OTHER_LETTER, EXTENDING = r"[^\W_]", r"[^\W\x00-\x7f]", "<extending>"
JOINER = "\u200d"  # joins signs, as in emoji
JOINERS = f"\xad\u200c{JOINER}\u2060"
SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"

APOSTROPHE = "['’`´]"
ABBREVIATIONS = (
    "Mr Mrs Ms Messrs Mme Mlle Dr Prof Rev Hon Gen Col Capt Cpt Cpl Lt Sgt Maj Cmdr Adm "
    "Gov Sen Rep Reps Pres Supt Insp St Ste Mt Ft Jr Sr Esq Bros Inc Ltd Co Cos Corp Dept "
    "Univ No Nos vs v Vol vol vols p pp ed eds Ed Eds Fig fig figs Op op cit ca c cf al "
    "approx est b d m fl r lit trans viz ext Ext Attn attn Ave Blvd Rd Apt Ph Fax etc eg "
    "ie Sec Conf lb lbs oz yrs hrs ft Ass't &c et Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct "
    "Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun Ala Ariz Ark Calif Colo Conn Fla "
    "Ga Ill Ind Kan La Mass Mich Minn Miss Mo Neb Nev Okla Ore Pa Que Tenn Tex Va Wash Wis"
).split()
PREFIXES = (  # a hyphen after them splits no word, as in treebanks
    "e agro ante anti arch bi bio co counter cross cyber de eco ex extra intra macro mega "
    "micro mid mini multi neo non over pan para peri post pre pro pseudo psycho quasi re "
    "semi socio sub super tri ultra un uni"
).split()
UNITS = (
    "am pm a.m p.m m k b mm cm km kg g lb lbs ft in yd mi bn mn hz khz mhz ghz kb mb gb tb "
    "hr hrs min mins sec secs mph kw mw w kwh mwh x p"
).split()


def _escape(word):
    return word.replace(".", r"\.")  # JavaScript refuses what `re.escape` escapes


def _either_case(*words: str) -> str:
    """A pattern of these words, each letter small or a capital."""
    long = "|".join(_escape(word) for word in words if len(word) > 1)
    patterns = (
        [re.sub("[a-z]", lambda m: f"[{m[0]}{m[0].upper()}]", long)] if long else []
    )
    # One class: RE2 joins `[sS]|[mM]` as letters of any case, of which ſ is one.
    if letters := "".join(word for word in words if len(word) == 1):
        patterns.append(f"[{letters}{letters.upper()}]")
    return "|".join(patterns)


def _trie(words: Iterable[str]) -> str:
    """A pattern of these words that reads each letter once."""
    tree: dict[str, list[str]] = {}
    for word in words:
        tree.setdefault(word[:1], []).append(word[1:])
    branches = [
        _escape(letter) + (_trie(rest) if letter else "")
        for letter, rest in sorted(tree.items(), reverse=True)  # an end comes last
    ]
    return f"(?:{'|'.join(branches)})" if len(branches) > 1 else branches[0]


def _word(between_letters: str, between_digits: str, *others: str) -> str:
    """A pattern of words, with signs between two letters or digits of ASCII."""
    number = f"[0-9]+(?:[{between_digits}][0-9]+)*"
    part = f"(?:{number}|[A-Za-z]+)+"
    latin = f"{part}(?:[{between_letters}]{part})*"
    character = "|".join([*others, latin, OTHER_LETTER])
    return f"(?:{character})(?:{character}|{EXTENDING})*"


def _whole(pattern: str) -> str:
    return f"{MARK}{pattern}{MARK}"


def _tokens(word: str, signs: str, *before: str) -> Rule:
    """The rule that finds tokens: addresses, words, signs, whatever extends a sign."""
    schemes = f"(?:{_either_case('https', 'http', 'ftp')})://"
    address = (
        rf"(?:{schemes}|{_either_case('www.', 'mailto:')})"
        r"[!#-;=?-~]*[A-Za-z0-9/#$%&=+@_~-]"
    )
    mail = (
        r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@"
        r"[A-Za-z0-9_-]*[A-Za-z0-9](?:\.[A-Za-z0-9-]+)*"
    )
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    sign = rf"(?:{signs}|{flag}|[^{SPACES}])(?:{JOINER}[^{SPACES}]|{EXTENDING})*"
    words = [address, mail, *before, word, APOSTROPHE + word]
    return "|".join([*words, sign]), _whole(r"\0")


def _cut(*pairs: tuple[str, str]) -> Rule:
    """Cuts words of one of these pairs of patterns, at most four: RE2 has groups to \\9."""
    words = "|".join(f"({first})({last})" for first, last in pairs)
    first, last = (
        "".join(f"\\{i}" for i in range(k, 2 * len(pairs) + 1, 2)) for k in (1, 2)
    )
    return _whole(f"(?:{words})"), _whole(first + CUT + last)


def _cut_apostrophe(contractions: str) -> Rule:
    """Cuts an apostrophe from the word after it, except from these words."""
    return (
        _whole(f"({APOSTROPHE})(?:({contractions})|({LETTER}[^{MARK}]*))"),
        _whole(rf"\1\2{CUT}\3"),
    )


_CLITICS = _either_case("s", "m", "d", "re", "ve", "ll")
_CONTRACTED = f"([Nn]{APOSTROPHE}[Tt]|{APOSTROPHE}(?:{_CLITICS}))"
_CONTRACTIONS = f"{_CONTRACTED}?{_CONTRACTED}{MARK}", rf"{CUT}\1{CUT}\2{MARK}"
_ELISIONS = _either_case("tis", "twas", "em")
# A full stop that ends a text is a token, also after an abbreviation.
FULL_STOP = rf"([A-Za-z])\.({MARK}[{SPACES}]*)$", rf"\1{CUT}.\2"
_ABBREVIATED = [
    (
        _whole(rf"({_trie(ABBREVIATIONS)}|(?:[A-Za-z]\.)+[A-Za-z]|Ph\.D|[A-Z])")
        + _whole(r"\."),
        _whole(r"\1."),
    ),
    FULL_STOP,
]
# Handles and hashtags; one that begins with a number is no time or price, such as `@5pm`.
HANDLE = "[@#](?:_*[A-Za-z][A-Za-z0-9_]+|[0-9_]+[A-Za-z][A-Za-z0-9_]{2,})"
_GSD_WORD = _word(
    ".,'’/&-", ".,'’/&:~-", "[A-Za-z0-9가-힣](?:-[A-Za-z0-9가-힣])+|[가-힣](?:~[0-9]+)+"
)
_NOT = "ai ar do did does is was are were has have had ca wo could would should"
_IS = "that he she there here what let who"
RULES = {
    "words": [
        _tokens(_word(".,'’·/&-", ".,'’·/&:-"), r"\.+|!+|\?+|~+|-{2,}|—+|–+|''|``"),
        _CONTRACTIONS,
        _cut_apostrophe(f"{_CLITICS}|{_ELISIONS}"),
        *_ABBREVIATED,
        # A number keeps its % beside Hangul.
        (f"([0-9]){CUT}%({MARK} ?{MARK}[가-힣])", r"\1%\2"),
        (f"([가-힣]{MARK} {MARK}[0-9.,]+){CUT}%", r"\1%"),
    ],
    "ewt": [
        _tokens(
            _word(".'’·_&", ".,'’·&_:/"),
            r"[:;=]['^-]?[)(\]\[|\\]+|\(:|<3|\^[_.-]?\^|-_-|\.{2,}|[.!?]+|…+"
            r"|[-=+*_~#|<>]{2,}|\$+|,+|—+|–+|'+|’+|‘’|``",
            # Dates and telephone numbers, compounds, names in messages.
            r"[0-9]{1,4}(?:[-/.][0-9]{1,4}){2,4}|(?:[0-9]{3}|[0-9]{5})-[0-9]{4}",
            f"(?:{_either_case(*PREFIXES)})-{LETTER}+",
            HANDLE,
        ),
        _CONTRACTIONS,
        _cut_apostrophe(
            rf"{_CLITICS}|{_ELISIONS}|[0-9]0s|[0-9]{{2}}|"
            + _either_case("n", "til", "cause", "bout")
        ),
        (f"([0-9]){CUT * 2}({APOSTROPHE}s){MARK}", rf"\1\2{MARK}"),
        _cut(
            ("[0-9][0-9.,:/]*", _either_case(*UNITS)),
            ("[Cc][Aa][Nn]", _either_case("not")),
            (_either_case(*_NOT.split()), _either_case("nt")),
            (_either_case(*_IS.split()), "[Ss]"),
        ),
        _cut(
            ("[Ii]", _either_case("m", "ve")),
            (_either_case("you", "they"), _either_case("re", "ve")),
            (_either_case("gon", "wan"), _either_case("na")),
            (_either_case("got", "out"), _either_case("ta")),
        ),
        # A full stop without a space after it.
        (
            _whole(r"([A-Za-z]*[a-z])\.([A-Z][a-z]*)"),
            _whole(rf"\1{CUT}.{CUT}\2"),
        ),
        *_ABBREVIATED,
        (
            _whole("([:;=])") + f"(?:{_whole('(-)')})?" + _whole("([DPp])"),
            _whole(r"\1\2\3"),
        ),
        (_whole("([A-Za-z])") + _whole("/") + _whole("([A-Za-z])"), _whole(r"\1/\2")),
    ],
    "gsd": [
        _tokens(_GSD_WORD, r"\.{3,}|!+|\?+|-{2,}|''|``|\^\^"),
        _CONTRACTIONS,
        _cut_apostrophe(f"{_CLITICS}|{_ELISIONS}"),
        ("ㆍ", f"{CUT}ㆍ{CUT}"),
        *_ABBREVIATED,
    ],
}


def word_rules(tokenizer: str, *, explicit: bool = False) -> list[Rule]:
    """The rules of a tokenizer.

    They name the characters that extend others. Explicit ones also name all letters, which
    other engines than Python's define otherwise.
    """
    classes = {EXTENDING: _extending()}
    if explicit:
        classes |= {LETTER: _letters(LETTER), OTHER_LETTER: _letters(OTHER_LETTER)}
    rules = []
    for pattern, replacement in RULES[tokenizer]:
        for name, ranges in classes.items():
            pattern = pattern.replace(name, f"[{ranges}]")
        rules.append((pattern, replacement))
    return rules


@functools.cache
def _extending():
    # No mark is elsewhere.
    characters = map(chr, (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0)))
    marks = {c for c in characters if unicodedata.category(c)[0] == "M"}
    return _ranges(marks.union(JOINERS, SKIN_TONES))


@functools.cache
def _letters(pattern):
    return _ranges(re.findall(pattern, "".join(map(chr, range(sys.maxunicode + 1)))))


def _ranges(characters):
    """The inside of a class of these characters, which holds no sign of patterns."""
    code_points = enumerate(sorted(map(ord, characters)))
    runs = itertools.groupby(code_points, lambda pair: pair[1] - pair[0])
    ends = [(run[0][1], run[-1][1]) for run in (list(run) for _, run in runs)]
    return "".join(f"{chr(a)}-{chr(b)}" if a < b else chr(a) for a, b in ends)
