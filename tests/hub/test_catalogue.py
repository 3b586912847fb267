"""The names of published models, and what is downloaded for them."""

import pytest

from elmo_keras.hub.cache import folder_name
from elmo_keras.hub.catalogue import (
    SOFTMAX,
    VOCABULARY,
    catalogue,
    check_address,
    published_model,
)


def test_each_name_is_one_model_with_files_or_a_reason_why_not():
    names = [n.casefold() for m in catalogue() for n in (m.name, *m.aliases)]
    assert len(set(names)) == len(names)
    folders = [folder_name(model.name) for model in catalogue()]
    assert len(set(folders)) == len(folders) and "5.5B" in folders
    for model in catalogue():
        ways = [model.files, model.unavailable, model.in_package]
        assert sum(map(bool, ways)) == 1, model.name
        for file in (*model.files, *model.extra):
            assert check_address(file.address)
        assert published_model(model.name) == published_model(model.name.upper())
    for name in "original", "5.5B":
        names = [file.name for file in published_model(name).extra]
        assert names == [SOFTMAX, VOCABULARY]


PAIR = "options.json", "weights.hdf5"


@pytest.mark.parametrize(
    ("name", "stem", "names"),
    [
        ("https://host/a/elmo_small_options.json", "https://host/a/elmo_small_", PAIR),
        ("hf://owner/name", "hf://owner/name/", PAIR),
        ("hf://owner/name@v2/en/x_options.json", "hf://owner/name@v2/en/x_", PAIR),
        ("hf://owner/name/b.zip", "hf://owner/name/", ["b.zip"]),
        ("https://h/b.tar.gz", "https://h/", ["b.tar.gz"]),
        ("NLPL:7", "http://vectors.nlpl.eu/repository/20/", ["7.zip"]),
    ],
)
def test_an_address_names_options_with_weights_or_an_archive(name, stem, names):
    assert published_model(name).files == tuple(
        (stem + n, n, None, None) for n in names
    )
    (archive,) = published_model("https://h/b.tar.gz?a=1").files
    assert archive.name == "b.tar.gz" and archive.address.endswith("?a=1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nlpl:korean", "the number of a model .*nlpl:161. Received: nlpl:korean"),
        ("ftp://host/a.zip", "https://HOST/PATH, .* Received: ftp:"),
        ("https://host/a b.zip", "without spaces"),
        ("hf://owner/name@", "OWNER/NAME of a repository"),
    ],
)
def test_an_address_in_another_form_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        published_model(name)
