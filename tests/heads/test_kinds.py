"""Tables about kinds of heads that belong together."""

import pytest

from elmo_keras import heads
from elmo_keras.heads.annotate.formats import FORMATS
from elmo_keras.heads.kinds import KINDS, find_kind, load
from elmo_keras.heads.pipeline import LANGUAGES
from elmo_keras.text.scripts import SCRIPTS


def test_public_names_are_those_of_their_modules():
    assert len(heads.__all__) > 20
    assert all(getattr(heads, name).__name__ == name for name in heads.__all__)
    with pytest.raises(AttributeError, match="'elmo_keras.heads' has no attribute 'x'"):
        heads.__getattr__("x")


def test_languages_with_a_script_have_a_name():
    assert {*LANGUAGES} == {*SCRIPTS}


@pytest.mark.parametrize("name", KINDS)
def test_the_row_of_a_kind_names_parts_of_this_kind(name):
    kind = find_kind(name)
    assert load(kind.task).kind == name
    assert load(kind.pipeline).type in {"words", "entities", "roles", "syntax"} | {
        "texts",
        "pairs",
    }
    # A tagger's kind depends on its tags.
    model = load(kind.model).kind
    assert isinstance(model, property) or model == name


def test_unknown_kinds_and_parts_are_refused():
    with pytest.raises(ValueError, match="`kind` should be one of pos, .* 'tag'"):
        find_kind("tag")
    with pytest.raises(ValueError, match="This kind of head has no such part"):
        load(KINDS["coref"].graph)
    assert {*FORMATS} == {".conllu", ".jsonl", ".html"}
