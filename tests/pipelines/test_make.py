"""The recipes of the package's heads, on small files."""

import dataclasses
import gzip
import re

import pytest

from elmo_keras import pipeline
from elmo_keras.pipelines import make as module
from elmo_keras.tasks.tag.tagged_text import read_conll

pytestmark = pytest.mark.slow  # models are trained

CONLLU = "\n".join(
    f"{i}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_"
    for i, (word, tag) in enumerate([("The", "DET"), ("bank", "NOUN")], 1)
)
ROLES = "Ann\t-\tB-A0\tO\nsaw\tsee\tB-V\tO\nhim\t-\tB-A1\tB-A0\nleave\tleave\tO\tB-V\n"
SHORT = {"epochs": 1, "units": 3, "arithmetic": None}


@pytest.fixture
def small(tmp_path, monkeypatch, model_directory):
    """The folder of the data; recipes train small heads for an epoch."""
    recipes = module.recipes

    def shortened(data, work):
        return {
            name: recipe._replace(
                task=_short(recipe.task, model_directory),
                predicates=recipe.predicates
                and _short(recipe.predicates, model_directory),
            )
            for name, recipe in recipes(data, work).items()
        }

    def _short(task, model):
        return dataclasses.replace(task, elmo=(str(model),), **SHORT)

    monkeypatch.setattr(module, "recipes", shortened)
    data = tmp_path / "data"
    for name in "en_ewt", "en_srl_ewt":
        (data / name).mkdir(parents=True)
    for part in "train", "dev":
        path = data / f"en_ewt/en_ewt-ud-{part}.conllu"
        path.write_text(f"{CONLLU}\n\n" * 9)
    roles = f"{ROLES}\n" * 9
    (data / "en_srl_ewt/train.conll.gz").write_bytes(gzip.compress(roles.encode()))
    (data / "en_srl_ewt/dev.conll").write_text(roles)
    return data


def test_a_head_is_made_with_its_card_and_not_again(small, tmp_path, capsys):
    output = tmp_path / "out"
    module.make(small, output, ("en-pos",))
    card = (output / "en-pos/model_card.md").read_text()
    assert "UD English-EWT (CC BY-SA 4.0)" in card and ": NOUN " in card
    assert "accuracy" in card and "make DATA OUT en-pos" in card
    find = pipeline(output / "en-pos")
    assert find.language == "en" and len(find("The bank")) == 2
    capsys.readouterr()
    module.make(small, output, ("en-pos",))
    assert "epoch" not in capsys.readouterr().out
    with pytest.raises(ValueError, match="There is no en-nope. The heads are: en-pos"):
        module.make(small, output, ("en-nope",))


def test_roles_get_a_head_that_finds_predicates(small, tmp_path):
    module.make(small, tmp_path, ("en-srl",))
    assert isinstance(pipeline(tmp_path / "en-srl")("Ann saw him leave."), list)
    card = (tmp_path / "en-srl/model_card.md").read_text()
    assert "- predicates: F1" in card and re.search(r" A0 \d", card)


def test_types_of_entities_are_joined(data, tmp_path):
    root = data("en_ner_btc").parent
    module.join_entities(root, tmp_path)
    for part, n in ("train", 1000 + 2000 + 200 + 2138), ("dev", 2000):
        examples = read_conll(tmp_path / f"en-ner.{part}.conll")
        types = {tag[2:] for example in examples for tag in example["tags"]}
        assert types == {"", "PER", "LOC", "ORG"} and len(examples) > n
