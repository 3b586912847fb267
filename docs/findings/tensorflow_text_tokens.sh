#!/usr/bin/env bash
# tensorflow-text 2.21.1: two tokenizers cut words within a character.
#
# One would guess: tokens are valid UTF-8, and é is one letter however it is written.
# What happens: WhitespaceTokenizer leaves the first bytes of a no-break or an ideographic space on
# the token before it, which is no UTF-8; UnicodeScriptTokenizer makes a combining accent, and what
# follows it, tokens of their own, so that decomposed "café" is three characters and an accent.
# Why it matters: such tokens are unknown words or fail in Python's decode(). Normalise with
# tensorflow_text.normalize_utf8(text, "NFC"), and replace such spaces before splitting.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 tensorflow-text==2.21.1 <<'PY'
import unicodedata
import tensorflow_text as text

spaces = text.WhitespaceTokenizer().tokenize(["a\u00a0b", "a\u3000b"]).to_list()
word = unicodedata.normalize("NFD", "caf\u00e9s")
scripts = text.UnicodeScriptTokenizer()
parts = scripts.tokenize(word).numpy().tolist()
composed = scripts.tokenize(text.normalize_utf8(word, "NFC")).numpy().tolist()
print("WhitespaceTokenizer:", spaces)
print("UnicodeScriptTokenizer:", parts, "composed:", composed)
assert spaces == [[b"a\xc2", b"b"], [b"a\xe3\x80", b"b"]]
assert len(parts) > 1 and len(composed) == 1
PY
