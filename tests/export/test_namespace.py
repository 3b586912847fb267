"""`export` runs from a checkout, and as `elmo_keras.export` from an installed package."""

import ast

from tests.support.paths import ROOT


def test_modules_import_each_other_relatively():
    for path in (ROOT / "export").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module.split(".")[0] != "export", path
            elif isinstance(node, ast.Import):
                assert all(n.name.split(".")[0] != "export" for n in node.names), path
