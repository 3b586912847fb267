"""The package's heads are made again, on tiny files."""

import gzip
import re

import pytest

from elmo_keras import pipeline
from tools import make_heads

ROLES = "Ann\t-\tB-A0\tO\nsaw\tsee\tB-V\tO\nhim\t-\tB-A1\tB-A0\nleave\tleave\tO\tB-V\n"


@pytest.mark.journey  # models are trained
@pytest.mark.usefixtures("eagerly")
def test_heads_are_made_with_their_cards_once(model_directory, tmp_path, capsys):
    (tmp_path / "en_srl_ewt").mkdir()
    roles = f"{ROLES}\n" * 3
    (tmp_path / "en_srl_ewt/train.conll.gz").write_bytes(gzip.compress(roles.encode()))
    (tmp_path / "en_srl_ewt/dev.conll").write_text(roles)
    output = tmp_path / "out"
    short = {"epochs": 1, "units": 3, "arithmetic": None, "model": str(model_directory)}
    make_heads.main(tmp_path, output, "en-srl", **short)
    card = (output / "en-srl/model_card.md").read_text()
    assert "UD English-EWT (both CC BY-SA 4.0)" in card
    assert "tools.make_heads DATA OUT" in card
    assert "EWT, its predicates" in card and re.search(r" A0 \d", card)
    find = pipeline(output / "en-srl")
    assert find.language == "en" and isinstance(find("Ann saw him leave."), list)
    capsys.readouterr()
    make_heads.main(tmp_path, output, "en-srl", **short)
    assert "epoch" not in capsys.readouterr().out


def test_a_handle_is_one_token_and_an_adjective_no_place():
    tokens = "@ ann_b met Korean Bob Lee #Oslo in US".split()
    tags = "B-PER I-PER O B-LOC B-person I-person B-LOC O B-geo-loc".split()
    joined = make_heads.join_handles({"tokens": tokens, "tags": tags})
    renamed = make_heads.names_of(joined, {"Korean"})
    pairs = zip(renamed["tokens"], renamed["tags"], strict=True)
    assert [*pairs] == [
        *[("@ann_b", "O"), ("met", "O"), ("Korean", "O"), ("Bob", "B-PER")],
        *[("Lee", "I-PER"), ("#Oslo", "O"), ("in", "O"), ("US", "O")],
    ]
