"""The reader of KorSTS."""

import pytest

from elmo_keras.tasks.similarity.__main__ import read_korsts
from tests.support.reader_checks import check_malformed

KORSTS = "score\tsentence1\tsentence2\n"


def test_pairs_have_a_score(file):
    header = "genre\tscore\tsentence1\tsentence2\n"
    assert read_korsts(file(f'{header}x\t3.80\t"가" 나.\t다\n')) == [
        {"first": ['"', "가", '"', "나", "."], "second": ["다"], "score": 3.8}
    ]


@pytest.mark.parametrize(
    "text, line, reason",
    [
        (
            f"{KORSTS}5.0\ta\tb\n5.1\ta\tb\n",
            3,
            "from 0 to 5 .*, not '5.1'",
        ),
        (f"{KORSTS}high\ta\tb\n", 2, "not 'high'"),
        (f"{KORSTS}nan\ta\tb\n", 2, "not 'nan'"),
        (f"{KORSTS}1\ta\n", 2, "3 fields .*, not 2"),
    ],
)
def test_a_malformed_line_is_reported_with_its_place(file, text, line, reason):
    check_malformed(read_korsts, file(text), line, reason)


def test_the_real_file_is_read_whole(data):
    examples = read_korsts(data("ko_korsts/sts-dev.tsv"))
    assert len(examples) == 1500 and 2 <= len({e["score"] for e in examples}) < 200
    assert all(e["first"] and e["second"] for e in examples)
