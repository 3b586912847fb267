"""All published models, found by a name, an alias or an address."""

import difflib

from elmo_keras.models.addresses import is_address, model_at
from elmo_keras.models.allennlp_models import ALLENNLP_MODELS
from elmo_keras.models.nlpl_models import NLPL_MODELS, PREFIX, nlpl_model
from elmo_keras.models.other_models import MIRROR_OF_ORIGINAL, OTHER_MODELS
from elmo_keras.models.published_model import PublishedModel

CATALOGUE = (
    *ALLENNLP_MODELS,
    model_at(f"hf://{MIRROR_OF_ORIGINAL}")._replace(
        language="English", text="a copy of `original`", megabytes=374
    ),
    *OTHER_MODELS,
    *NLPL_MODELS,
)
CUTOFF = 0.7  # of difflib, for names that are similar
_BY_NAME = {
    name.casefold(): model
    for model in CATALOGUE
    for name in (model.name, *model.aliases)
}


def published_model(name: str) -> PublishedModel | None:
    """The model of a name, in any case of its letters.

    Args:
        name: a name or alias of `CATALOGUE`, `nlpl:NUMBER`, `hf://OWNER/NAME`, or an
            `https://` address.

    Returns:
        The model, or None if `name` is none of these.

    Raises:
        ValueError: the address or the number is not what it should be.
    """
    if known := _BY_NAME.get(name.casefold()):
        return known
    if name.startswith(PREFIX):
        number = name.removeprefix(PREFIX)
        if not (number.isascii() and number.isdecimal()):
            raise ValueError(
                f"{PREFIX} should be followed by the number of a model at "
                f"vectors.nlpl.eu, such as {PREFIX}161. Received: {name}"
            )
        return nlpl_model(int(number))
    return model_at(name) if is_address(name) else None


def similar_names(name: str, most: int = 4) -> list[str]:
    """Names of models that may have been meant: of that language, or similar."""
    lowered = name.casefold()
    languages = {m.language.casefold(): m.name for m in CATALOGUE}
    if lowered in languages:
        return [m.name for m in CATALOGUE if m.language.casefold() == lowered][:most]
    names = languages | {name: model.name for name, model in _BY_NAME.items()}
    close = difflib.get_close_matches(lowered, names, most, CUTOFF)
    return list(dict.fromkeys(names[match] for match in close))
