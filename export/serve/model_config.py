"""The models to serve, also from TensorFlow Serving's own `models.config`."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from .version_policy import VersionPolicy

PLATFORM = "tensorflow"


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """A model to serve.

    Args:
        name: its name in requests.
        directory: the folder of its versions.
        policy: which of them are loaded.
        labels: label in requests → number of a version.
    """

    name: str
    directory: Path
    policy: VersionPolicy = VersionPolicy()
    labels: Mapping[str, int] = dataclasses.field(default_factory=dict)


def read_model_configs(path: Path) -> list[ModelConfig]:
    """The models of a file in the text format of `ModelServerConfig`.

    A `base_path` that is not absolute is taken from the folder of the file.

    Args:
        path: a file as the option `--model_config_file` of TensorFlow Serving takes it.

    Raises:
        OSError: the file can't be read.
        ValueError: it is no such file, or lists no model that can be served.
    """
    message = ModelServerConfig()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), message)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} should be in the text format of ModelServerConfig: {error}"
        ) from None
    configs = message.model_config_list.config
    if not configs:
        raise ValueError(f"{path} should list models: model_config_list {{ config {{…")
    models = [_model(config, path) for config in configs]
    names = [model.name for model in models]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{path} should name each model once. Repeated: {repeated}")
    return models


def _model(config, path):
    if not config.name or not config.base_path:
        raise ValueError(f"{path}: each config should have a `name` and a `base_path`.")
    if config.model_platform not in ("", PLATFORM):
        raise ValueError(
            f"{path}: the `model_platform` of {config.name!r} should be "
            f"{PLATFORM!r}. Received: {config.model_platform!r}"
        )
    return ModelConfig(
        config.name,
        path.parent / config.base_path,
        _policy(config, path),
        dict(config.version_labels),
    )


def _policy(config, path):
    policy = config.model_version_policy
    choice = policy.WhichOneof("policy_choice")
    if choice == "all":
        return VersionPolicy(newest=None)
    if choice == "specific":
        if not policy.specific.versions:
            raise ValueError(
                f"{path}: `specific` of {config.name!r} should list `versions`."
            )
        return VersionPolicy(None, frozenset(policy.specific.versions))
    return VersionPolicy(newest=policy.latest.num_versions or 1)
