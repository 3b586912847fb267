"""How an export splits its sentences."""

import tensorflow as tf

from export.sentences import splitter


def test_tokenizers_differ_in_what_they_split_at():
    text = tf.constant(["a\tb,c d\u00a0e"])
    tokens = {
        name: splitter(name)(text).to_list()[0]
        for name in ("spaces", "whitespace", "unicode_script")
    }
    assert tokens == {
        "spaces": [b"a\tb,c", "d\u00a0e".encode()],
        "whitespace": [b"a", b"b,c", "d\u00a0e".encode()],
        "unicode_script": [b"a", b"b", b",", b"c", b"d", b"e"],
    }


def test_normalisation_leaves_other_bytes_than_utf8_alone():
    text = tf.constant([b"e\xcc\x81 \xff a"])
    tokens = splitter("spaces", "NFC")(text).to_list()[0]
    assert tokens == ["\u00e9".encode(), b"\xff", b"a"]
