#!/usr/bin/env bash
# TensorFlow 2.21.0: TextLineDataset deletes every carriage return, also within a line.
#
# One would guess: lines end at "\n", and one "\r" before it is left away; or "\r" ends a line too, as
# in Python.
# What happens: "a\rb\n" is read as "ab", one word of two, and "c\r\r\n" as "c".
# Why it matters: texts of old Macs, and cells that were pasted, lose the space between words: other
# tokens, other vectors, and none of the line numbers that Python counts. Convert line ends first.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 <<'PY'
import tensorflow as tf

with open("text.txt", "wb") as file:
    file.write(b"one\rtwo\nthree\r\r\n\rfour\n")
with open("text.txt", encoding="utf-8") as file:
    lines = [line.rstrip("\n") for line in file]
rows = [row.numpy() for row in tf.data.TextLineDataset("text.txt")]
print("Python:", lines)
print("TextLineDataset:", rows)
assert rows == [b"onetwo", b"three", b"four"] and len(lines) == 6
PY
