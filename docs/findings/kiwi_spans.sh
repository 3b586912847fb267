#!/usr/bin/env bash
# kiwipiepy 0.24.1: the spans of Korean morphemes overlap, and some are empty.
#
# One would guess: text[start:start + len] is the morpheme, and each character belongs to one.
# What happens: contracted syllables belong to two or three morphemes, whose forms aren't in the
# text: 갔다 is 가 + 었 + 다, where 가 and 었 both lie on 갔; ᆫ and other codas may have no span at all.
# Why it matters: tokens by morphemes can't be put back on the text by their lengths, and spans of
# entities made of them count characters twice. Tokens by eojeols have no such case.
exec "$(dirname "$0")/with_packages" kiwipiepy==0.24.1 <<'PY'
from kiwipiepy import Kiwi

text = "나는 어제 학교에 갔다. 해서 봤어요. 가까운 곳이야."
tokens = Kiwi().tokenize(text)
overlaps = [b.form for a, b in zip(tokens, tokens[1:]) if b.start < a.start + a.len]
others = [t.form for t in tokens if text[t.start : t.start + t.len] != t.form]
print([(t.form, t.tag, t.start, t.len) for t in tokens])
print("begin within the one before:", overlaps)
print("not in the text as they are:", others)
assert "었" in overlaps and {"가", "었"} <= set(others)
PY
