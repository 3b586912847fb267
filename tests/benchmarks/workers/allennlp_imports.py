"""Makes AllenNLP's modules importable without most of what AllenNLP depends on.

AllenNLP 2.10.1 requires PyTorch and spaCy versions of its time, and its packages import
everything they hold. Here its packages are empty except for the modules that are
imported, which are AllenNLP's own, unchanged. Third-party packages that ELMo does
not use are empty modules in which every name is an empty class.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path

import torch  # noqa: F401  first: it checks whether some of these are installed

ABSENT = "base58 cached_path dill huggingface_hub lmdb spacy tqdm transformers".split()
# Package → names that AllenNLP imports from it → the modules that define them.
PACKAGES = {
    "allennlp": {},
    "allennlp.common": {
        "Registrable": "registrable",
        "FromParams": "from_params",
        "Params": "params",
        "Tqdm": "tqdm",
    },
    "allennlp.data": {},
    "allennlp.data.tokenizers": {"Token": "token_class"},
    "allennlp.data.token_indexers": {},
    "allennlp.data.fields": {"TextField": "text_field"},
    "allennlp.modules": {},
    "allennlp.modules.conditional_random_field": {},
    "allennlp.modules.seq2seq_encoders": {},
    "allennlp.modules.seq2vec_encoders": {},
    "allennlp.nn": {"Activation": "activations"},
}


class Absent(types.ModuleType):
    """A module that is not installed: each of its names is an empty class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class AbsentPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages that are not installed, and all modules in them."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


class Package(types.ModuleType):
    """A package of AllenNLP without its `__init__`."""

    def __getattr__(self, name):
        if name not in PACKAGES[self.__name__]:
            raise AttributeError(name)
        module = f"{self.__name__}.{PACKAGES[self.__name__][name]}"
        return getattr(importlib.import_module(module), name)


sys.meta_path.append(AbsentPackages())
cached_path = importlib.import_module("cached_path")
cached_path.cached_path = lambda path, **_: path  # the files are local
root = Path(importlib.util.find_spec("allennlp").origin).parent
for name in PACKAGES:
    package = sys.modules[name] = Package(name)
    package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
