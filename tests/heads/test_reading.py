"""Shared parts of readers: tables, UTF-8, and runs of examples that are held out."""

import gzip

import pytest

from elmo_keras.heads import read_columns, read_documents, read_squad
from elmo_keras.heads.reading import hold_out, read_rows
from tests.support.readers import check_reading, check_refusal


def rows(path):
    return [row for _, row in read_rows(path)]


ROW = '{"text": "a", "label": "1"}\n'
TABLE = "text\tlabel\n"
# Tables with tabs, in which quotes are text; with commas, in which they are not; JSON lines.
TABLES = [
    (
        'id\ttext\n7\tSo "good"~\n8\t\n9\t\xa0 \u2028 \x85\n',
        [("7", 'So "good"~'), ("8", ""), ("9", "\xa0 \u2028 \x85")],
    ),
    ('label,text\n1,"a, ""b""\nc"\n', [("1", 'a, "b"\nc')]),
    (ROW + '{"a": [1], "b": {}}\n', [("a", "1"), ([1], {})]),
    # Empty lines between objects, which may have several; a list; spaCy 2's rows.
    (f'\n{ROW}\n{{\n "a": [\n1]\n}}\n{ROW}', [("a", "1"), ([1],), ("a", "1")]),
    (f"[{ROW}, {ROW}]", [("a", "1"), ("a", "1")]),
    ('["a", {"b": 1}]\n["c", {}]\n', [("a", 1), ("c",)]),
    (f'[["{2**17 * "a"}", {{}}]]', [(2**17 * "a",)]),
    (f"a,b\nc,{2**17 * 'd'}\n", [("c", 2**17 * "d")]),
    ("[]", []),
    (TABLE, []),
    ("", []),
]
BROKEN = [
    (f"{TABLE}a\t1\nb\n", 3, "2 columns are expected .text, label., not 1"),
    ('text,label\na,1\n"b,1\n', 3, "unexpected end of data"),
    (ROW + ROW[:-2], 2, "JSON is expected"),
    (ROW + "[]\n", 2, r"an object is expected, not \[\]"),
    (f"[{ROW}, 7]", "element 2", "an object is expected, not 7"),
    (f"{ROW}\n{10**5 * '['}", 3, "JSON should not be nested so deeply"),
    (f'{ROW}{{"text": "\\udc80"}}', 2, "JSON is expected. 'utf-8' codec can't encode"),
]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_becomes_rows(table, file):
    check_reading(rows, *table, file)


@pytest.mark.parametrize("table", BROKEN)
def test_a_malformed_line_of_a_table_is_reported_with_its_place(table, file):
    check_refusal(rows, *table, file)


@pytest.mark.parametrize(
    "read, content, place",
    [
        (read_squad, b'{"data":\n["\xff"]}', " should be a file of JSON. 'utf-8'"),
        (
            read_squad,
            gzip.compress(b"{}", mtime=0)[:-9],
            " .* file of JSON. Compressed",
        ),
        (
            read_documents,
            b"#begin document (d); part 002\n\xff\n",
            " should be UTF-8. Line 2",
        ),
        (read_columns, b"word O\nw\xff O\n", " should be UTF-8. Line 2"),
        (read_columns, b"a O\rb B-X\r", r", line 1: lines .* end with .n, not with .r"),
    ],
)
def test_a_file_that_is_not_utf_8_or_in_lines_or_cut_is_refused(
    read, content, place, tmp_path
):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"bad{place}"):
        read(path)


@pytest.mark.parametrize(
    "n, share, held_out",
    [
        (20, 0.2, [4, 9, 14, 19]),
        (40, 0.2, [8, 9, 18, 19, 28, 29, 38, 39]),
        (6, 0.5, [1, 3, 5]),
        (2, 0.2, []),
    ],
)
def test_runs_of_neighbours_are_held_out(n, share, held_out):
    train, dev = hold_out(range(n), share)
    assert dev == held_out and sorted(train + dev) == [*range(n)]
