#!/usr/bin/env bash
# syntok 1.4.4: tokens aren't pieces of the text: hyphens vanish, and n't becomes not.
#
# One would guess: the tokens, joined, are the text without its spaces.
# What happens: "well-known" is well, known without the hyphen, and "can't" is ca, not.
# Why it matters: ELMo has read well-known and n't; other words give other vectors, and "ca not" is
# none of the corpus. Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False)
# keeps the text.
exec "$(dirname "$0")/with_packages" syntok==1.4.4 <<'PY'
from syntok.tokenizer import Tokenizer

text = "We can't find a well-known name."
tokens = [token.value for token in Tokenizer().tokenize(text)]
keeps = Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False)
kept = [token.value for token in keeps.tokenize(text)]
print(tokens)
print(kept)
assert tokens == "We ca not find a well known name .".split()
assert "".join(kept) == text.replace(" ", "")
PY
