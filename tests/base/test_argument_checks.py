"""Arguments of other kinds are refused with the name of the argument."""

import dataclasses

import numpy as np
import pytest

from elmo_keras import BidirectionalLanguageModel, Elmo
from elmo_keras.base.argument_checks import from_json
from elmo_keras.heads import CoreferenceModel, Tagger, TextClassifier, TokenVectors
from elmo_keras.layers import CharacterCNN, ProjectedLSTM, ScalarMix, WordSoftmax
from tests.support.sizes import CONFIG

GROUPS = ((1, 2),)
VECTORS = TokenVectors(character_dim=2)
CASES = [
    (Elmo, (CONFIG,), "num_representations", ("2", 1.5, 2**40, True, None)),
    (Elmo, (CONFIG,), "dropout", ("0.5", -0.1, 1.5, None, np.nan)),
    (Elmo, (CONFIG,), "l2", ("x", -1, np.inf, None)),
    (BidirectionalLanguageModel, (CONFIG,), "vocabulary_size", (0, -1, 3.0, "x")),
    (CharacterCNN, (GROUPS, 4), "n_highway", (-1, 1.5, 2**40)),
    (CharacterCNN, (((1.5, 2),), 4), "width", ()),
    (ProjectedLSTM, (4, 5), "cell_clip", (-1, np.nan, "3", 0)),
    (ProjectedLSTM, (4, 5), "forget_bias", (None, "1")),
    (WordSoftmax, (), "vocabulary_size", (None, -1)),
    (TextClassifier, (VECTORS,), "labels", ([], "ab", ["a", "a"], None, 3)),
    (CoreferenceModel, (VECTORS,), "units", (0, -1, "x", 2.5, None)),
    (CoreferenceModel, (VECTORS,), "max_antecedents", (0, "x", None)),
    (CoreferenceModel, (VECTORS,), "mentions_per_token", (-1, "x", None)),
    (Tagger, (VECTORS,), "tags", ([], "BIO", ["O", "O"], ["O", ""], None)),
]


@pytest.mark.parametrize(("layer", "arguments", "name", "wrong"), CASES)
def test_wrong_kinds_are_refused_by_name(layer, arguments, name, wrong):
    for options in [{name: value} for value in wrong] or [{}]:
        with pytest.raises(ValueError, match=f"`{name}` should be .* Received: "):
            layer(*arguments, **options)


def test_numbers_of_numpy_are_accepted_and_a_factor_is_one_number():
    elmo = Elmo(CONFIG, num_representations=np.int64(2), gamma=np.float32(0.5))
    assert elmo.num_representations == 2
    for gamma in ("2", [1.0], True, None):
        with pytest.raises(TypeError, match="`gamma` should be a number"):
            ScalarMix(gamma=gamma)


@dataclasses.dataclass(kw_only=True)
class Saved:
    size: int
    words: list[str]
    labels: dict[str, list[str]]
    share: float = 0.5
    language: str | None = None
    layers: str | int = "mix"


VALUES = {"size": 3, "words": ["a"], "labels": {"upos": ["X"]}}


@pytest.mark.parametrize("more", [{}, {"share": 1, "language": "en", "layers": 2}])
def test_an_object_of_json_becomes_a_dataclass(more):
    assert from_json(Saved, VALUES | more) == Saved(**VALUES, **more)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "An object is expected, not"),
        ({"words": []}, "`size` is missing: another version saved it"),
        (VALUES | {"other": 1}, "`other` is not known: another version saved it"),
        (VALUES | {"size": 3.0}, "`size` should be int. Received: 3.0"),
        (VALUES | {"size": True}, "`size` should be int"),
        (VALUES | {"share": True}, "`share` should be float"),
        (VALUES | {"words": "ab"}, r"`words` should be list\[str\]. Received: 'ab'"),
        (VALUES | {"words": ["a", None]}, r"`words` should be list\[str\]"),
        (VALUES | {"labels": {"upos": "X"}}, r"be dict\[str, list\[str\]\]"),
        (VALUES | {"language": 1}, r"`language` should be str \| None. Received: 1"),
        (VALUES | {"layers": 1.5}, r"`layers` should be str \| int. Received: 1.5"),
    ],
)
def test_an_object_of_json_with_other_fields_or_types_is_refused(values, reason):
    with pytest.raises(ValueError, match=reason):
        from_json(Saved, values)
