"""The published options.json, from and to an ElmoConfig."""

import dataclasses
import json
import math

import pytest

from elmo_keras import ElmoConfig
from elmo_keras.config import PRESETS
from elmo_keras.formats.options import read_options, to_config, to_options


@pytest.mark.parametrize("name", PRESETS)
def test_options_round_trip(name):
    config = ElmoConfig.preset(name)
    options = json.loads(json.dumps(to_options(config)))
    assert to_config(options) == config
    assert ElmoConfig(**json.loads(json.dumps(config.to_dict()))) == config


def test_own_options_are_kept_beside_the_published_ones(config):
    values = {"unicode_normalization": "NFC", "cut_at": "character"}
    changed = dataclasses.replace(config, **values)
    options = to_options(changed)
    assert options["elmo_keras"] == values
    assert to_config(options) == changed
    assert "elmo_keras" not in to_options(config)


def test_a_missing_key_of_a_published_file_means_none(config):
    options = to_options(config)
    for key in ("cell_clip", "proj_clip", "use_skip_connections"):
        del options["lstm"][key]
    del options["char_cnn"]["n_highway"]
    options["char_cnn"]["n_characters"] = 261  # as training writes it
    read = to_config(options)
    assert (read.cell_clip, read.proj_clip) == (None, None)
    assert (read.use_skip_connections, read.n_highway) == (False, 0)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("char_cnn", "n_characters"), 300, "261 .* or 262 .* Received: 300"),
        (("char_cnn", "activation"), "elu", "`activation` should be one of"),
        (("char_cnn", "max_characters_per_token"), 2, "an integer from 3 to 4096"),
        (("char_cnn", "filters"), [[1, 2.5]], "pairs of .width, count. above 0"),
        (("lstm", "use_skip_connections"), "false", "one of .True, False."),
        (("lstm", "dim"), 10**9, "`units` .* to 65536. Received: 1000000000"),
        (("lstm", "proj_clip"), math.inf, "`proj_clip` .* Received: inf"),
        (("lstm", "cell_clip"), 10**400, "`cell_clip` should be None or above 0"),
        (("char_cnn", "n_highway"), 10**5, "`n_highway` should be .* from 0 to 100"),
        (("char_cnn", "filters"), [[1, 2**16], [2, 1]], "65536 filters in all"),
        (("lstm", "dim"), "x" * 10**6, "`units` should be"),
        (("char_cnn", "filters"), None, "The options lack `char_cnn.filters`"),
    ],
)
def test_a_bad_option_is_named(config, path, value, message):
    options = to_options(config)
    options[path[0]][path[1]] = value
    with pytest.raises(ValueError, match=message) as error:
        to_config(options)
    assert len(str(error.value)) < 1000
    with pytest.raises(ValueError, match="one of .*'original'.* Received: 'huge'"):
        ElmoConfig.preset("huge")


def test_what_is_no_json_object_or_large_is_not_taken_for_options(tmp_path):
    path = tmp_path / "options.json"
    for content in ("[1]", "[" * 100_000, "9" * 10_000):
        path.write_text(content)
        with pytest.raises(ValueError, match="options.json should hold"):
            read_options(path)
    with path.open("wb") as file:
        file.truncate(2**40)  # a hole, which takes no space
    with pytest.raises(ValueError, match="options.json should have at most 1,048,576"):
        read_options(path)
