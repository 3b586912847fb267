"""Sentences of running text, by rules."""

import re
from collections.abc import Iterator

from elmo_keras.text.tokenizers import Span, word_spans
from elmo_keras.text.word_rules import ABBREVIATIONS

LONGEST = 4000  # characters; a longer sentence is cut at a space, or anywhere
# Abbreviations that a sentence may end with, and words that often begin one.
_LAST = set(
    "a.m p.m jr sr inc ltd co cos corp bros dept etc al esq blvd ave rd sat sun oz lb lbs ft "
    "yrs hrs jan feb mar apr jun jul aug sept sep oct nov dec mon tue tues wed thu thur "
    "thurs fri u.s u.k u.n u.s.a e.u d.c l.a n.y b.c a.d ph.d m.d b.a m.a t.v".split()
)
_FIRST = set(
    "The A An In On At By For From It Its He His She Her They Their We Our This That These "
    "Those There As After Before But And When While Since During Although However If One "
    "Some Many Most Other Another According Under With I You Your Then So Both Each Also My "
    "What Why How Who Where Is Are Do Does Did Can Please Thanks Not No Yes".split()
)
_NUMBERED = set("no nos ext sec fig figs vol vols p pp op ch".split())
_NOT_LAST = {word.lower() for word in ABBREVIATIONS} - _LAST - _NUMBERED
_NOT_LAST |= set("i.e e.g p.s adm apr apt ch incl min max tel sq misc avg ste".split())
_CLOSE = "['\"”’)\\]»」』]"
_END = (
    re.compile(  # each branch begins with a character, so that others are passed over
        rf"""
    (?P<marks> [.!?…؟।] (?<! [.!?…؟।]{{2}} ) [.!?…؟।]*+ ) (?P<close> {_CLOSE}*+ )
    (?: (?= \s++ ['"“‘(\[«「『¿¡]*+ (?P<next> \S ) )
      # Without a space: after a Korean ending or any other mark, before Hangul; before a
      # capital.
      | (?: (?<= [다요죠까네음임함됨] \. ) | (?<= [가-힣ㄱ-ㆎ][!?] ) | (?<= [!?][!?] ) ) (?= [가-힣] )
      | (?<= [a-z]{{2}} [.!?] ) (?= [A-Z][a-z] ) (?P<glued>)
    )
    | [。！？]++ {_CLOSE}*+
    # An ending of Korean sentences, before what continues no quotation.
    | (?: 니다 | [어아해네세에예지려워게구데와돼겨줘봐셔져군나고까걸래냐내싸대]요 | [인는은던]가요 | 죠
      | 니당 | [네구]여 | 요~++ | [았었였했겠됐렸졌났봤썼겼있없싶같좋]다 | [한된는]다 | [습입합됩갑]니까
      | [려여아어켜쳐와]줘 | (?: 어디 | 누구 | 뭐 | [었겠있하겼] )냐 | (?: 어디 | 누구 | 뭐 | 거 )야
      | [주보십]시오 | [없좋높]음 | 있니 | 찾아[봐라] | [ ](?: 얼마나[ ]걸려 | 막혀 | 어때 | 어딨어 ) )
      (?: [ ]?[ㄱ-ㆎ^~;]++ )?+ (?= [ ]++ (?! 라고 | 라는 | 라며 | 하[고는며여더니였겠면] | 한다 | 합니다 | 해[서도]
        | 할 | 싶 | 전해 | 같은 | [고며][ ] ) [^\W_ㄱ-ㆎ] )
    # Messages: after a smiley, the time of a header, a greeting; beside a rule.
    | [:;=]-?\) (?= \s++ [A-Z] )
    | [0-9]/[0-9]{{1,2}}/[0-9]{{2,4}} \s [0-9]{{1,2}}:[0-9]{{2}} (?: :[0-9]{{2}} )? \s [AP]M
      (?= \s++ [^\W_0-9] )
    | (?P<greeting> (?: Dear | Hi | Hello | Hey ) (?: [ ] [A-Z][\w.'-]*+ ){{0,3}} [ ]?[,:-]
      | (?: Thanks | Thank[ ]you | Regards | Best | Sincerely | Cheers | Yours )
        (?: [ ] [a-z]++ ){{0,3}} , (?= \s++ [A-Z]\w*+ (?! \s [a-z] ) ) ) (?= \s )
    | h (?<! \Sh ) ttps?://\S++ (?= \s++ (?: https?:// | [A-Z][a-z]*+ [ ] ) )
    | \s (?= [-=_*]{{5}} ) | [-=_*] (?<! [-=_*]{{2}} ) [-=_*]{{4,}}+ (?= \s )
    | \n [^\S\n]*+ (?= \n )                      # an empty line
    | \n (?= [^\S\n]*+ (?: [-*•·◦▪] [ ] | [0-9]{{1,2}} [.)] [ ] | [^\W_a-z] ) ) (?P<line>)
    """,
        re.VERBOSE,
    )
)
_LAST_WORD = re.compile(r"(?:^|[\s('\"“‘\[])([^\s('\"“‘\[]*)$")
_WORD = re.compile(r"\w+")


def sentence_spans(text: str) -> list[Span]:
    """Where the sentences of a text begin and end, without white space around them.

    A sentence ends at `.`, `!`, `?` or `…`, with closing quotes and brackets, before white
    space, but not before a small letter after `…` or a quotation; at `。`; at an empty line,
    and at the end of a line that the next word would have fitted on; in Korean also
    without a space, and without a mark after endings such as -니다 and -했다. It doesn't end
    after the initial of a name, a number of a date or list, or an abbreviation, except
    those such as `p.m.` before a word that often begins sentences.

    >>> text = 'Dr. Kim met J. Lee at 5 p.m. Friday. "Why?" he asked.'
    >>> [text[begin:end] for begin, end in sentence_spans(text)]
    ['Dr. Kim met J. Lee at 5 p.m. Friday.', '"Why?" he asked.']
    """
    spans, begin = [], 0
    for match in _END.finditer(text):
        if _ends(text, match, begin):
            spans += _pieces(text, begin, match.end())
            begin = match.end()
    return [*spans, *_pieces(text, begin, len(text))]


def sentence_words(text: str, tokenizer: str = "words") -> Iterator[list[Span]]:
    """Where the words of each sentence begin and end in a text, as `split_words` splits it."""
    for begin, end in sentence_spans(text):
        if spans := word_spans(text[begin:end], tokenizer):
            yield [(begin + first, begin + last) for first, last in spans]


def _ends(text, match, begin):
    """Whether a sentence that begins at `begin` ends with the match."""
    marks = match["marks"]
    if match["line"] is not None:
        return _is_short_line(text, match.start())
    if match["greeting"] is not None:
        return not text[begin : match.start()].strip()
    if marks is None:
        return True
    word = _LAST_WORD.search(text, max(begin, match.start() - 20), match.start())
    word = word[1] if word else ""
    if match["glued"] is not None:
        return word.isalpha()
    following, close = match["next"], match["close"]
    is_quotation = close or (len(marks) > 1 and marks[0] in ".…")
    if following is not None and following.islower() and is_quotation:
        return False
    return marks != "." or close != "" or not _continues(text, match, word, begin)


def _continues(text, match, word, begin):
    """Whether a full stop after a word belongs to it."""
    following = match["next"]
    if following is None:
        return False
    if word.isdecimal():
        first = match.start() - len(word)
        before, after = text[max(begin, first - 8) : first], text[match.end() :][:9]
        is_day = following.isdecimal() and re.match(r"\s*[0-9]{1,2}\.", after)
        is_item = len(word) < 3 and not before.strip()
        return bool(re.search(r"[0-9]\.\s*$", before) or is_day or is_item)
    lower = word.lower().lstrip("-–—")
    if len(word) == 1 and word.isalpha() and word.isupper() and word != "I":
        return True
    if lower in _NUMBERED:
        return following.isdecimal()
    if lower in _NOT_LAST:
        return True
    is_dotted = re.fullmatch(r"(?:[a-z]\.)+[a-z]", lower)
    if lower in _LAST or is_dotted:
        first = _WORD.match(text, text.index(following, match.end()))
        return not (first and first[0] in _FIRST)
    return False


def _is_short_line(text, end):
    """Whether the next word would have fitted on the line that ends here."""
    begin = text.rfind("\n", max(0, end - 200), end) + 1
    after = text[end + 1 : end + 200].partition("\n")[0]
    first = next(iter(after.split()), "")
    longest = max(end - begin, len(after), 40)
    return end - begin + 1 + len(first) <= longest * 0.8


def _pieces(text, begin, end):
    """A sentence without the white space around it, in pieces of the longest length."""
    while begin < end:
        stop = min(end, begin + LONGEST)
        if stop < end:
            space = max(text.rfind(character, begin, stop) for character in " \n\t")
            stop = space if space > begin else stop
        piece = text[begin:stop]
        if stripped := piece.strip():
            first = begin + piece.index(stripped)
            yield first, first + len(stripped)
        begin = stop
