#!/usr/bin/env bash
# keras 3.15.1 and keras-nightly 3.16.0.dev2026102704: both are installed into the folder keras/.
#
# One would guess: pip refuses the second one, or one of them is whole.
# What happens: both are listed, most files are those of the later one, some of the other remain; once
# keras-nightly is uninstalled, keras is still listed and can't be imported.
# Why it matters: release candidates of TensorFlow, 2.22.0rc0 and so all that exists for Python 3.14,
# require keras-nightly, and packages above Keras require keras. Install keras again, last, without
# dependencies: pip install --force-reinstall --no-deps keras
exec "$(dirname "$0")/with_packages" --no-deps keras==3.15.1 keras-nightly==3.16.0.dev2026102704 <<'PY'
import base64
import hashlib
import importlib.metadata as metadata
import subprocess
import sys


def as_installed(name):
    """How many Python files of a package are those that it brought, and of how many."""
    files = [f for f in metadata.files(name) if f.suffix == ".py"]
    hashes = [hashlib.sha256(f.locate().read_bytes()).digest() for f in files]
    texts = [base64.urlsafe_b64encode(h).rstrip(b"=").decode() for h in hashes]
    return sum(text == f.hash.value for text, f in zip(texts, files)), len(files)


counts = {name: as_installed(name) for name in ("keras", "keras-nightly")}
print("files as installed:", counts)
pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
subprocess.run([*pip, "uninstall", "-y", "keras-nightly"], check=True)
left = [f for f in metadata.files("keras") if f.suffix == ".py" and f.locate().exists()]
print("keras", metadata.version("keras"), "is listed, with", len(left), "files")
assert any(0 < own < n for own, n in counts.values())
assert len(left) < counts["keras"][1] / 2
PY
