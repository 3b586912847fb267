#!/usr/bin/env bash
# cyclopts 5.5.2: 1.5 is the integer 2 where an integer or a word is allowed, and none can be None.
#
# One would guess: for `int | str`, 1.5 is no integer and so the string "1.5"; two words are expected
# where a parameter is two strings, or nothing.
# What happens: 1.5 is rounded to 2. `--columns none` at the end, of `tuple[str, str] | None`, takes
# the one word and gives None; of `tuple[str, ...] | None` it gives ("none",).
# Why it matters: an option such as --layers, an index or a word, takes 1.5 without an error, and a
# word too few passes where the last one is none or null. Check such values yourself.
exec "$(dirname "$0")/with_packages" cyclopts==5.5.2 <<'PY'
from cyclopts import App

app = App(result_action="return_value")


@app.default
def command(
    *,
    layers: int | str = "mix",
    columns: tuple[str, str] | None = ("a", "b"),
    files: tuple[str, ...] | None = (),
):
    return layers, columns, files


layers, columns, files = app("--layers 1.5 --files none --columns none")
print(f"--layers 1.5: {layers!r}  --columns none: {columns!r}  --files none: {files!r}")
assert layers == 2 and columns is None and files == ("none",)
PY
