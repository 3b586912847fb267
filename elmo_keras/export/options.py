"""The options of an export."""

import dataclasses

TRAINABLE = ("nothing", "mix", "all")
DTYPES = ("float32", "bfloat16")
TOKENIZERS = ("spaces", "whitespace", "unicode_script")
GOOGLE_INPUT_NAME = "text"
INPUT_NAMES = ("sentences", GOOGLE_INPUT_NAME)


@dataclasses.dataclass(frozen=True)
class ExportOptions:
    """Options of an export.

    Args:
        trainable: the part that is trained when a model uses the SavedModel:
            `"nothing"`, the `"mix"`, or `"all"`, the mix and the biLM.
        dtype: dtype of the biLM's weights and matrix products, `"float32"` or
            `"bfloat16"`. Outputs, mix and cell state are float32 either way.
        tokenizer: name of the tokenizer of the signature `default`, see
            `sentences.splitter`.
        normalization: None, or `"NFC"` to normalize the text of `default` first.
        as_dict: whether a call of the SavedModel returns all outputs as a dict unless
            it says otherwise. If not, it returns `default`, as google/elmo does.
        input_name: the name of the input of `default` in requests, `"sentences"` or
            google/elmo's `"text"`. Calls from TensorFlow 2 take both.

    Raises:
        ValueError: a value is out of range; the message names the field.
    """

    trainable: str = "mix"
    dtype: str = "float32"
    tokenizer: str = "spaces"
    normalization: str | None = None
    as_dict: bool = False
    input_name: str = "sentences"

    def __post_init__(self):
        allowed = {
            "trainable": TRAINABLE,
            "dtype": DTYPES,
            "tokenizer": TOKENIZERS,
            "normalization": (None, "NFC"),
            "input_name": INPUT_NAMES,
        }
        for field, values in allowed.items():
            if getattr(self, field) not in values:
                raise ValueError(
                    f"`{field}` should be one of {values}. "
                    f"Received: {getattr(self, field)!r}"
                )
