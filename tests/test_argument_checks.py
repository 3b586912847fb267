"""Arguments of other kinds are refused with the name of the argument."""

import numpy as np
import pytest

from elmo_keras import BidirectionalLanguageModel, Elmo, ElmoConfig
from elmo_keras.layers import (
    BidirectionalLSTM,
    CharacterCNN,
    ProjectedLSTM,
    ScalarMix,
    WordSoftmax,
)
from elmo_keras.tasks import (
    ESIM,
    CoreferenceModel,
    QuestionAnswering,
    SimilarityModel,
    Tagger,
    TextClassifier,
    TokenVectors,
)

CONFIG = ElmoConfig.preset("test")
GROUPS = ((1, 2),)
VECTORS = TokenVectors(character_dim=2)
CASES = [
    (Elmo, (CONFIG,), "num_representations", ("2", 1.5, 2**40, True, None)),
    (Elmo, (CONFIG,), "dropout", ("0.5", -0.1, 1.5, None, np.nan)),
    (Elmo, (CONFIG,), "l2", ("x", -1, np.inf, None)),
    (Elmo, (CONFIG,), "layer_norm", ("False", 2, None, 0.5)),
    (Elmo, (CONFIG,), "trainable_bilm", ("False", [])),
    (Elmo, (CONFIG,), "keep_sentence_boundaries", ("no",)),
    (BidirectionalLanguageModel, (CONFIG,), "vocabulary_size", (0, -1, 3.0, "x")),
    (BidirectionalLanguageModel, (CONFIG,), "dropout", ("0.5", 2)),
    (BidirectionalLanguageModel, (CONFIG,), "return_state", ("False",)),
    (CharacterCNN, (GROUPS,), "projection_dim", (0, "4", 4.0)),
    (CharacterCNN, (GROUPS, 4), "n_highway", (-1, 1.5, 2**40)),
    (CharacterCNN, (GROUPS, 4), "embedding_dim", (-1, None)),
    (ProjectedLSTM, (4,), "projection_dim", (0, "5", None)),
    (ProjectedLSTM, (4, 5), "cell_clip", (-1, np.nan, "3", 0)),
    (ProjectedLSTM, (4, 5), "forget_bias", (None, "1")),
    (ProjectedLSTM, (4, 5), "reverse", ("False",)),
    (BidirectionalLSTM, (2, 4, 5), "use_skip_connections", ("False",)),
    (WordSoftmax, (), "vocabulary_size", (None, -1)),
    (TokenVectors, (), "word_dim", (-1, "5", None)),
    (TokenVectors, (), "character_dim", (-2, "2", None)),
    (SimilarityModel, (), "token_vectors", (None, CONFIG, "x")),
    (SimilarityModel, (VECTORS,), "units", (0, "x", 2.5, None)),
    (SimilarityModel, (VECTORS,), "dropout", (2, "x", None)),
    (TextClassifier, (VECTORS,), "labels", ([], "ab", ["a", "a"], None, 3)),
    (ESIM, (VECTORS, ["a"]), "units", (-1,)),
    (Tagger, (VECTORS,), "tags", ([], "BIO", ["O", "O"], None)),
    (QuestionAnswering, (VECTORS,), "units", ("3",)),
    (CoreferenceModel, (VECTORS,), "dropout", (2,)),
]


@pytest.mark.parametrize(("layer", "arguments", "name", "wrong"), CASES)
def test_wrong_kinds_are_refused_by_name(layer, arguments, name, wrong):
    for value in wrong:
        with pytest.raises(ValueError, match=f"`{name}` should be .* Received: "):
            layer(*arguments, **{name: value})


def test_widths_and_numbers_of_filters_are_integers():
    with pytest.raises(ValueError, match="`width` should be .* Received: 1.5"):
        CharacterCNN(((1.5, 2),), 4)


def test_scalars_and_flags_of_numpy_are_accepted():
    mix = ScalarMix(gamma=np.float32(2), layer_norm=np.True_)
    assert mix.layer_norm
    elmo = Elmo(CONFIG, num_representations=np.int64(2), dropout=np.float32(0.5))
    assert elmo.num_representations == 2


@pytest.mark.parametrize("gamma", ["2", [1.0], True, None])
def test_a_factor_is_one_number(gamma):
    with pytest.raises(TypeError, match="`gamma` should be a number"):
        ScalarMix(gamma=gamma)
