"""Checks of what readers make of files and of rows in memory, and of what they refuse."""

import gzip
import re

import pytest

CONLLU = """# text = vámonos al mar
1-2|vámonos|_|_|_|_|_|_|_|_
1|vamos|ir|VERB|_|_|0|root|_|_
2|nos|nosotros|PRON|_|_|1|obj|_|_
2.1|va|ir|VERB|_|_|_|_|_|_
3|mar|mar|NOUN|_|_|1|obl|_|SpaceAfter=No

# only a comment

1|Sí|sí|INTJ|_|_|0|root|_|_
""".replace("|", "\t")


def values_of(examples):
    """The values of the fields of each example."""
    return [tuple(example.values()) for example in examples]


def check_reading(read, text, values, file):
    """A file with a text becomes examples with these values, gzipped or not."""
    # Spaces at the end of a file and a byte order mark are no part of it.
    path = file(f"\ufeff{text}\n\t\r\n")
    examples = read(path)
    assert values_of(examples) == values
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read(path) == examples


def check_refusal(read, text, number, reason, file):
    """The error begins with the file and the line, and has one line."""
    place = re.escape(f"{file(text)}:{number}: ")
    with pytest.raises(ValueError, match=f"^{place}.*{reason}") as error:
        read(file(text))
    assert "\n" not in str(error.value)


def check_row_refusal(read, good, bad, reason):
    """Rows in memory have names, of which the error has that of the bad one."""
    with pytest.raises(ValueError, match=f"^data:row 1: .*{reason}") as error:
        read([("row 0", good), ("row 1", good | bad)], "data")
    assert "\n" not in str(error.value)
