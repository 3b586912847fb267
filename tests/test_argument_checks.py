"""Arguments of other kinds are refused with the name of the argument."""

import numpy as np
import pytest

from elmo_keras import BidirectionalLanguageModel, Elmo, ElmoConfig
from elmo_keras.layers import CharacterCNN, ProjectedLSTM, ScalarMix, WordSoftmax
from elmo_keras.tasks import CoreferenceModel, Tagger, TextClassifier, TokenVectors

CONFIG = ElmoConfig.preset("test")
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
    (Tagger, (VECTORS,), "tags", ([], "BIO", ["O", "O"], None)),
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
