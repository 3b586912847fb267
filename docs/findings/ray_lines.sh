#!/usr/bin/env bash
# ray[data] 2.60.0: read_text cuts lines at characters that end no line elsewhere, and drops empty ones.
#
# One would guess: as many rows as `for line in file`, or as `wc -l`.
# What happens: lines end wherever str.splitlines ends them: form feed, \x1c to \x1e, U+0085, U+2028;
# and lines without a character are left out.
# Why it matters: JSON lines with U+2028 in a string are torn (JSON allows it), and the rows no
# longer match labels or vectors that were made line by line. Read bytes, and split at "\n".
exec "$(dirname "$0")/with_packages" 'ray[data]==2.60.0' <<'PY'
import json
import ray

with open("lines.jsonl", "w", encoding="utf-8") as file:
    for text in ("one", "two\u2028parts", "page\u0085break"):
        file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    file.write('\n{"text": "last"}\n')
ray.init(num_cpus=2, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
rows = [row["text"] for row in ray.data.read_text("lines.jsonl").take_all()]
with open("lines.jsonl", encoding="utf-8") as file:
    lines = file.read().split("\n")[:-1]
print(len(lines), "lines:", lines)
print(len(rows), "rows:", rows)
assert len(lines) == 5 and len(rows) == 6 and '{"text": "two' in rows
PY
