"""Files of torch.save: their tensors are read, and none of their functions is called."""

import pickle

import numpy as np
import pytest

from elmo_keras.formats.torch_pickle import read_tensors
from tests.formats.conftest import assert_same
from tests.support import torch_files as torch
from tests.support.torch_files import Raw, called, storage, tensor

FLAT = np.arange(12, dtype=np.float32)
FORMATS = [torch.as_zip, torch.in_a_row]
EACH_FORMAT = pytest.mark.parametrize("file_of", FORMATS)


@EACH_FORMAT
def test_tensors_are_parts_of_storages(file_of):
    where, whole = storage("7", 12), FLAT.reshape(3, 4)
    items = {
        "whole": tensor(where, (3, 4)),
        "transposed": tensor(where, (4, 3), (1, 4)),
        "part": tensor(where, (2, 2), (4, 1), offset=5),
        "one": tensor(where, ()),
    }
    tensors = read_tensors(file_of(items, {"7": FLAT.tobytes()}), "w.pkl")
    assert list(tensors) == list(items)
    assert_same(tensors.values(), (whole, whole.T, whole[1:, 1:3], FLAT[0]))


def test_doubles_halves_and_parameters():
    items = {
        "double": tensor(storage("a", 2, "DoubleStorage"), (2,)),
        "half": tensor(storage("b", 2, "HalfStorage"), (2,)),
    }
    old, parameter = (f"ctorch._utils\n_rebuild_{n}\n" for n in ("tensor", "parameter"))
    half = storage("b", 2, "HalfStorage")
    items["old"] = called(old.encode(), half, 0, (2,), (1,))
    items["parameter"] = called(parameter.encode(), items["double"], True)
    a, b = np.array([1.5, -2.0]), np.array([0.5, 3.0], np.float16)
    content = torch.as_zip(items, {"a": a.tobytes(), "b": b.tobytes()})
    assert_same(read_tensors(content, "w.pkl").values(), (a, b, b, a))


@EACH_FORMAT
@pytest.mark.parametrize("function", ["os system", "torch load"])
def test_no_function_but_those_of_tensors_is_called(file_of, function, tmp_path):
    touched, names = tmp_path / "made", "c{}\n{}\n".format(*function.split())
    items = {"x": called(names.encode(), f"touch {touched}")}
    with pytest.raises(ValueError, match=r"w\.pkl should be .* It asks for \w+\.\w+"):
        read_tensors(file_of(items, {}), "w.pkl")
    assert not touched.exists()


def test_state_of_objects_changes_nothing():
    state = torch.opcodes((None, {"__defaults__": (1, 2)}))
    items = {"x": Raw(torch.REBUILD + state + b"b")}
    with pytest.raises(ValueError, match="w.pkl should be a complete dictionary"):
        read_tensors(torch.as_zip(items, {}), "w.pkl")
    items = {"x": tensor(storage("a", 12), (12,))}
    read_tensors(torch.as_zip(items, {"a": FLAT.tobytes()}), "w.pkl")


def one_tensor(shape, strides=None, offset=0, count=12, **kwargs):
    return {"x": tensor(storage("a", count, **kwargs), shape, strides, offset)}


MANY = {str(i): tensor(storage("a", 10_000), (10_000,)) for i in range(9)}


@EACH_FORMAT
@pytest.mark.parametrize(
    ("items", "message"),
    [
        (Raw(b"(X\7\0\0\0storageK\1K\1K\1K\1tQ"), "unknown storage"),
        ({"y" * 500_000: 7} | MANY, f"'{'y' * 100}"),
        (MANY, "larger than"),
        (one_tensor((13,)), "'x' is not within its 12 values"),
        (one_tensor((3,), offset=10), "not within"),
        (one_tensor((3,), (-1,), offset=5), "no sizes"),
        (one_tensor((2**39, 2**39), (0, 0)), "not within"),
        (one_tensor((12,), kind="LongStorage"), r"asks for torch\.LongStorage"),
        (one_tensor((3, 3), count=11), "'x' should have 11 values"),
        (one_tensor((3, 3), count=2**39), "'x' should have .* values"),
        ({"x": tensor("storage", (1,))}, "no storage"),
        (Raw(torch.opcodes([1, 2])), "holds a list"),
        ({"y": 7} | one_tensor((12,)), "'y' is a int, not a tensor"),
    ],
)
def test_what_does_not_fit_or_takes_long_is_refused(file_of, items, message):
    storages = {}
    if isinstance(items, dict):
        storages["a"] = bytes(40_000) if "0" in items else FLAT.tobytes()
    with pytest.raises(ValueError, match=message) as raised:
        read_tensors(file_of(items, storages), "w.pkl")
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *(
            (x, "")
            for x in (b"", b"text", pickle.dumps({"x": 1}), b"PK\3\4" + bytes(99))
        ),
        (torch.in_a_row({}, {"a": FLAT.tobytes()}), ".*values of no tensor"),
    ],
    ids="nothing text pickle start_of_zip no_tensor".split(),
)
def test_other_files_are_refused(content, message):
    with pytest.raises(
        ValueError, match=rf"w\.pkl should be a complete dic.*{message}"
    ):
        read_tensors(content, "w.pkl")
