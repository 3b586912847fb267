"""The package's heads are made again, on tiny files."""

import gzip
import re

import pytest

from elmo_keras import pipeline
from tools import make_heads

ROLES = "Ann\t-\tB-A0\tO\nsaw\tsee\tB-V\tO\nhim\t-\tB-A1\tB-A0\nleave\tleave\tO\tB-V\n"


@pytest.mark.slow  # models are trained
@pytest.mark.usefixtures("eager_tasks")
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


def test_types_of_entities_are_joined(data, tmp_path):
    make_heads.join_entities(data("en_ner_btc").parent, tmp_path)
    for part, n in ("train", 1000 + 2000 + 200 + 2138), ("dev", 2000):
        examples = make_heads.read_columns(tmp_path / f"en-ner.{part}.conll")
        types = {tag[2:] for example in examples for tag in example["tags"]}
        assert types == {"", "PER", "LOC", "ORG"} and len(examples) > n
