"""Tables about kinds of heads that belong together."""

import ast
import inspect

import pytest

from elmo_keras import heads
from elmo_keras.heads.annotate.formats import FORMATS
from elmo_keras.heads.kinds import KINDS, find_kind, load
from elmo_keras.heads.pipeline import LANGUAGES
from elmo_keras.text.scripts import SCRIPTS


def test_public_names_have_the_modules_that_type_checkers_see():
    tree = ast.parse(inspect.getsource(heads))
    imports = [
        node
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
    ]
    seen = {name.asname: x.module for x in imports for name in x.names}
    modules = {k: f"elmo_keras.heads.{x}" for k, x in heads._MODULES.items()}
    assert seen == modules
    assert all(hasattr(heads, name) for name in modules)


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
