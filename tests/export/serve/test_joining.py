"""The requests of several clients become one batch, and get their own rows back."""

import numpy as np
import tensorflow as tf

from export.serve.joining import join, split, width
from export.serve.signature import Signature


def pair(first, second):
    return {
        "first": np.array(first, object),
        "second": np.array(second, object),
        "place": np.zeros([len(first)], "int32"),
    }


def test_each_field_is_as_wide_as_its_longest_text():
    requests = [
        pair([[b"a", b"b"]], [[b"c"]]),
        pair([[b"d"]] * 2, [[b"e", b"f", b"g"]] * 2),
    ]
    joined = join(requests)
    assert joined["first"].tolist() == [[b"a", b"b"], [b"d", b""], [b"d", b""]]
    assert joined["second"][0].tolist() == [b"c", b"", b""]
    assert joined["place"].shape == (3,)
    assert [width(request) for request in requests] == [2, 3]


def test_answers_with_positions_are_cut_to_the_request():
    outputs = {
        "tags": tf.TensorSpec((None, None), tf.string),
        "sequence_len": tf.TensorSpec((None,), tf.int32),
    }
    signature = Signature({"sentences": None}, outputs, {}, {})
    found = {
        "tags": np.array([[b"O", b""], [b"O", b"X"]], object),
        "sequence_len": np.array([1, 2], "int32"),
    }
    requests = [{"sentences": np.array([text], object)} for text in (b"a", b"a b")]
    one, other = split(found, ("tags",), signature, requests=requests)
    assert one["tags"].tolist() == [[b"O"]] and other["tags"].tolist() == [[b"O", b"X"]]
