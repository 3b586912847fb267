import pytest

from export.serve.app import parse_path
from export.serve.errors import RequestError

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("method", "path", "page", "name", "version", "label"),
    [
        ("GET", "/v1/models/elmo", "status", "elmo", 0, ""),
        ("GET", "/v1/models/elmo/metadata", "metadata", "elmo", 0, ""),
        ("GET", "/v1/models/elmo/versions/7/metadata", "metadata", "elmo", 7, ""),
        ("GET", f"/v1/models/e/versions/{LARGEST}", "status", "e", LARGEST, ""),
        ("GET", f"/v1/models/e/versions/{'0' * 6000}7", "status", "e", 7, ""),
        ("POST", "/v1/models/elmo:predict", "predict", "elmo", 0, ""),
        ("POST", "/V1/Models/elmo/Labels/new:Predict", "predict", "elmo", 0, "new"),
        ("POST", "/v1/models/%ED%95%9C%20a:regress", "regress", "한 a", 0, ""),
    ],
)
def test_a_path_names_a_page_a_model_and_its_version(
    method, path, page, name, version, label
):
    target = parse_path(method, path)
    spec = target.spec
    assert (target.page, spec.name, spec.version_label) == (page, name, label)
    assert spec.version.value == version
    assert spec.HasField("version") == ("versions" in path)


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/v1/models", "missing"),
        ("GET", "/v1/models/elmo:predict", "Malformed"),
        ("POST", "/v1/models/elmo", "Malformed"),
        ("PUT", "/v1/models/elmo", "Malformed"),
        ("GET", "/v1/models/elmo/versions/٣", "Malformed"),
        ("GET", f"/v1/models/elmo/versions/{LARGEST + 1}", "64 bits"),
        ("GET", f"/v1/models/elmo/versions/{'9' * 6000}", "64 bits"),
        ("GET", "/v1/models/%FF", "UTF-8"),
    ],
)
def test_other_paths_are_refused_in_a_short_line(method, path, message):
    with pytest.raises(RequestError, match=message) as caught:
        parse_path(method, path)
    assert len(str(caught.value)) < 200
