#!/usr/bin/env bash
# pyconll 3.3.1: reading and writing a treebank turns the number 3,000 into 000,3.
#
# One would guess: what is read and not changed is written as it was.
# What happens: values of FEATS and MISC are split at commas into sets, and written sorted and once:
# CorrectForm=3,000 becomes 000,3, and Text=so,so becomes so.
# Why it matters: English EWT has such values (CorrectForm, Cxn). Copy files with conllu or udapi,
# which give EWT's dev byte for byte. (pyconll 4 needs Python 3.14.)
exec "$(dirname "$0")/with_packages" pyconll==3.3.1 conllu==6.0.0 <<'PY'
import conllu
import pyconll

row = "1\t3,\t3000\tNUM\tCD\t_\t0\troot\t_\tCorrectForm=3,000|Text=so,so\n\n"
written = pyconll.load_from_string(row).conll()
print("read: ", row.split()[-1])
print("wrote:", written.split()[-1])
assert written.split()[-1] == "CorrectForm=000,3|Text=so"
assert conllu.parse(row)[0].serialize() == row
PY
