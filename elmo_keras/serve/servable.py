"""A loaded version of a model, behind its signatures."""

from collections.abc import Callable
from pathlib import Path

import grpc
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap  # pyright: ignore[reportAttributeAccessIssue]
from tensorflow_serving.apis.model_pb2 import ModelSpec  # pyright: ignore[reportAttributeAccessIssue]
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog  # pyright: ignore[reportAttributeAccessIssue]

from elmo_keras.export.version_paths import MODEL_NAME, WARM_UP, export_metadata
from elmo_keras.serve.errors import RequestError, tensorflow_error
from elmo_keras.serve.signature import Arrays, Signature, to_array
from elmo_keras.text.characters import tensorflow_text

DEFAULT_SIGNATURE = "serving_default"
MAX_WARM_UP_REQUESTS = 1000
MAX_CHOICES = 32  # choices of outputs; a session keeps some MB for each, for ever


class Servable:
    """Answers requests: `run` computes outputs of a signature."""

    version = 1
    tokenizer = "spaces"
    run: Callable[..., Arrays]

    def __init__(self, name: str, signatures: dict[str, SignatureDef]):
        self.name = name
        self.signature_map = SignatureDefMap(signature_def=signatures)
        self._signatures = {
            name: Signature.from_proto(proto)
            for name, proto in signatures.items()
            if proto.method_name == tf.saved_model.PREDICT_METHOD_NAME
        }

    def signature(self, name: str) -> Signature:
        name = name or DEFAULT_SIGNATURE
        if name not in self._signatures:
            raise RequestError(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"The signatures are {sorted(self._signatures)}. Received: {name}",
            )
        return self._signatures[name]

    def model_spec(self, signature_name: str = "") -> ModelSpec:
        spec = ModelSpec(name=self.name, signature_name=signature_name)
        spec.version.value = self.version
        return spec

    def close(self) -> None:
        """Frees resources that Python does not free with the object."""


class SavedModelServable(Servable):
    """A SavedModel in a session, which computes only what the fetched outputs need."""

    def __init__(
        self,
        directory: Path,
        *,
        name: str = MODEL_NAME,
        threads: int | None = None,
        n_batches: int = 1,
    ):
        self._choices: dict[tuple[str, ...], None] = {}
        metadata = export_metadata(directory)
        if "tensorflow_text" in metadata.get("needs", ()):
            tensorflow_text()  # registers its operations
        config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=threads or 0)
        # The loop of an LSTM holds a thread to its end, and each batch has two. A long
        # request has its own, in the second pool.
        for batches in (n_batches, 1):
            config.session_inter_op_thread_pool.add(num_threads=2 * batches)
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
        # TensorFlow fuses operations whose device is known.
        with self._session.graph.as_default(), tf.device("/CPU:0"):
            graph = tf.compat.v1.saved_model.load(
                self._session, [tf.saved_model.SERVING], str(directory)
            )
        super().__init__(name, dict(graph.signature_def))
        self.directory, self.version = directory, int(directory.name)
        self.tokenizer = metadata.get("tokenizer", self.tokenizer)
        self.warm_up()

    def run(
        self,
        signature: Signature,
        inputs: Arrays,
        keys: tuple[str, ...],
        *,
        seconds: float | None = None,
        is_long: bool = False,
    ) -> Arrays:
        feeds = {signature.feeds[key]: array for key, array in inputs.items()}
        milliseconds = 0 if seconds is None else max(int(seconds * 1000), 1)
        options = tf.compat.v1.RunOptions(
            timeout_in_ms=milliseconds, inter_op_thread_pool=int(is_long)
        )
        choice = tuple(signature.fetches[key] for key in keys)
        if len(self._choices) < MAX_CHOICES:
            self._choices[choice] = None
        computed = keys if choice in self._choices else signature.outputs
        fetches = {key: signature.fetches[key] for key in computed}
        try:
            arrays = self._session.run(fetches, feeds, options=options)
        except tf.errors.OpError as error:
            raise tensorflow_error(error) from error
        return {key: arrays[key] for key in keys}

    def warm_up(self) -> None:
        """Answers the warm-up requests of the export."""
        path = self.directory / WARM_UP
        if not path.exists():
            return
        records = tf.data.TFRecordDataset(str(path)).take(MAX_WARM_UP_REQUESTS)
        logs = [PredictionLog.FromString(x) for x in records.as_numpy_iterator()]
        if not all(log.HasField("predict_log") for log in logs):
            raise ValueError(f"{WARM_UP} should hold only requests of Predict.")
        for request in (log.predict_log.request for log in logs):
            signature = self.signature(request.model_spec.signature_name)
            inputs = signature.arrays(request.inputs, to_array)
            self.run(signature, inputs, signature.keys(request.output_filter))

    def close(self) -> None:
        """Requests that are computed end with CANCELLED."""
        self._session.close()
