#!/usr/bin/env bash
# TensorFlow 2.21.0: [sS]|[mM] matches ſ (U+017F), and [sSmM] does not.
#
# One would guess: two ways to write one set of letters match the same strings.
# What happens: RE2 takes a class of a letter in both cases as that letter without regard to case,
# and joins alternatives to a class that holds all that fold to it: ſ to s, K (Kelvin) to k.
# Why it matters: rules for clitics ('s, 'm) written in Python's re and in a graph differ on old
# texts. Write one class, not alternatives, and test both on all of Unicode.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 <<'PY'
import re
import tensorflow as tf

letters = ["s", "M", "\u017f"]
matched = {}
for pattern in ("[sS]|[mM]", "[sSmM]"):
    python = [bool(re.fullmatch(pattern, letter)) for letter in letters]
    graph = tf.strings.regex_full_match(letters, pattern).numpy().tolist()
    matched[pattern] = python, graph
    print(pattern, letters, "Python", python, "RE2", graph)
assert matched["[sSmM]"] == ([True, True, False], [True, True, False])
assert matched["[sS]|[mM]"] == ([True, True, False], [True, True, True])
PY
