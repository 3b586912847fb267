"""TFLite flatbuffers, written operation by operation: what LiteRT runs.

TensorFlow's converter takes 11 seconds for one layer and direction of a published model,
and can't share weights among signatures that unroll different numbers of steps.
"""

import math
from typing import NamedTuple

import flatbuffers
import numpy as np

from elmo_keras.formats.quantise import quantisation_error, quantise
from elmo_keras.lite.runtime import import_litert

schema = import_litert("schema_py_generated")
Op = schema.BuiltinOperator
_Type = schema.TensorType
_LARGEST = 2**31 - 2**20  # bytes of a flatbuffer
_AT_ONCE = 4  # XNNPACK concatenates no more


class Matrix(NamedTuple):
    """Weights `(outputs, …)` in int8, with float32 scales `(outputs,)`, or in float32."""

    values: np.ndarray
    scales: np.ndarray | None

    @classmethod
    def from_kernel(cls, kernel: np.ndarray, max_error: float = math.inf) -> "Matrix":
        """A kernel `(…, outputs)` in int8; in float32 if its error were larger."""
        rows = np.ascontiguousarray(np.moveaxis(kernel, -1, 0))
        return cls(rows, None).quantised(max_error)

    def quantised(self, max_error: float) -> "Matrix":
        """A matrix of float32 in int8, or itself if its error were larger."""
        rows = self.values
        if not max_error:
            return self
        values, scales = quantise(rows, tuple(range(1, rows.ndim)))
        if (
            max_error < math.inf
            and quantisation_error(rows, values, scales) > max_error
        ):
            return self
        return Matrix(values, scales.reshape(-1))


class Model:
    """A flatbuffer with a subgraph for each signature; equal constants are held once."""

    def __init__(self):
        self._model = schema.ModelT()
        self._model.version = 3
        self._model.description = b"elmo-keras"
        self._model.buffers = [schema.BufferT()]
        self._model.operatorCodes, self._model.subgraphs = [], []
        self._model.signatureDefs = []
        self._codes, self._buffers, self._size = {}, {}, 0
        self._quantizations = {}

    def code(self, operator: int, version: int) -> int:
        if (operator, version) not in self._codes:
            code = schema.OperatorCodeT()
            code.builtinCode, code.version = operator, version
            code.deprecatedBuiltinCode = min(operator, 127)
            self._codes[operator, version] = len(self._model.operatorCodes)
            self._model.operatorCodes.append(code)
        return self._codes[operator, version]

    def buffer(self, array: np.ndarray) -> int:
        """The index of a buffer with this array's bytes, which must not change."""
        if id(array) not in self._buffers:
            buffer = schema.BufferT()
            buffer.data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            self._buffers[id(array)] = len(self._model.buffers), array
            self._model.buffers.append(buffer)
            self._size += buffer.data.size
            if self._size > _LARGEST:
                raise ValueError(
                    "The model is too large for a .tflite file: its weights take more "
                    "than 2 GB."
                )
        return self._buffers[id(array)][0]

    def quantization(self, scales: np.ndarray) -> "_Quantization":
        """Symmetric quantization, with a scale for each output; it is written once."""
        if id(scales) not in self._quantizations:
            self._quantizations[id(scales)] = quantization = _Quantization()
            quantization.scale, quantization.quantizedDimension = scales, 0
            quantization.zeroPoint = np.zeros(len(scales), np.int64)
        return self._quantizations[id(scales)]

    def add(self, name: str, graph: "Graph") -> None:
        signature = schema.SignatureDefT()
        signature.signatureKey = name.encode()
        signature.subgraphIndex = len(self._model.subgraphs)
        signature.inputs, signature.outputs = (
            [_entry(name, tensor) for name, tensor in side.items()]
            for side in (graph.inputs, graph.outputs)
        )
        self._model.signatureDefs.append(signature)
        graph.subgraph.name = name.encode()
        graph.subgraph.inputs = [*graph.inputs.values()]
        graph.subgraph.outputs = [*graph.outputs.values()]
        self._model.subgraphs.append(graph.subgraph)

    def to_array(self) -> np.ndarray:
        """The bytes of the flatbuffer, uint8."""
        builder = flatbuffers.Builder(self._size + (1 << 20))
        builder.Finish(self._model.Pack(builder), b"TFL3")
        return np.frombuffer(builder.Bytes, np.uint8)[builder.Head() :]


class _Quantization(schema.QuantizationParametersT):
    _builder = None

    def Pack(self, builder):  # noqa: N802
        if self._builder is not builder:
            self._builder, self._offset = builder, super().Pack(builder)
        return self._offset


def _entry(name, tensor):
    entry = schema.TensorMapT()
    entry.name, entry.tensorIndex = name.encode(), tensor
    return entry


class Graph:
    """A subgraph; tensors are indices, and each method adds operations.

    Inputs and outputs have one dimension: LiteRT binds memory to no others.
    """

    def __init__(self, model: Model):
        self._model = model
        self.subgraph = schema.SubGraphT()
        self.subgraph.tensors, self.subgraph.operators = [], []
        self.inputs, self.outputs = {}, {}
        self._constants = {}

    def shape(self, tensor: int) -> list[int]:
        return self.subgraph.tensors[tensor].shape

    def input(self, name: str, *shape: int) -> int:
        self.inputs[name] = tensor = self._tensor([math.prod(shape)], _Type.FLOAT32)
        return self.reshape(tensor, *shape)

    def output(self, name: str, tensor: int) -> None:
        self.outputs[name] = self.reshape(tensor, math.prod(self.shape(tensor)))

    def dense(self, x: int, weights: Matrix, bias: np.ndarray | None = None) -> int:
        """x W + b: (rows, outputs)."""
        is_int8 = weights.scales is not None
        options = schema.FullyConnectedOptionsT()
        options.asymmetricQuantizeInputs = is_int8
        inputs = [x, self._weights(weights), self._bias(bias)]
        shape, version = [self.shape(x)[0], len(weights.values)], 9 if is_int8 else 1
        return self._op(Op.FULLY_CONNECTED, inputs, shape, options, version)

    def convolution(self, x: int, kernel: Matrix, bias: np.ndarray) -> int:
        """The n-grams of x (rows, time, 1, dim): (rows, time - width + 1, 1, outputs)."""
        options = schema.Conv2DOptionsT()
        options.padding = schema.Padding.VALID
        options.strideH = options.strideW = 1
        options.dilationHFactor = options.dilationWFactor = 1
        rows, time, _, _ = self.shape(x)
        outputs, width = kernel.values.shape[:2]
        inputs = [x, self._weights(kernel), self._bias(bias)]
        shape, version = [rows, time - width + 1, 1, outputs], 5
        if kernel.scales is None:
            version = 1
        return self._op(Op.CONV_2D, inputs, shape, options, version)

    def maxima(self, x: int) -> int:
        """The maxima of x (rows, time, 1, dim) over time: (rows, dim)."""
        rows, time, _, dim = self.shape(x)
        options = schema.Pool2DOptionsT()
        options.padding = schema.Padding.VALID
        options.strideH = options.strideW = 1
        options.filterHeight, options.filterWidth = time, 1
        highest = self._op(Op.MAX_POOL_2D, [x], [rows, 1, 1, dim], options)
        return self.reshape(highest, rows, dim)

    def sigmoid(self, x: int) -> int:
        return self._op(Op.LOGISTIC, [x], self.shape(x))

    def tanh(self, x: int) -> int:
        return self._op(Op.TANH, [x], self.shape(x))

    def relu(self, x: int) -> int:
        return self._op(Op.RELU, [x], self.shape(x))

    def add(self, a: int, b: int) -> int:
        return self._op(Op.ADD, [a, b], self.shape(a), schema.AddOptionsT())

    def subtract(self, a: int, b: int) -> int:
        return self._op(Op.SUB, [a, b], self.shape(a), schema.SubOptionsT())

    def multiply(self, a: int, b: int) -> int:
        return self._op(Op.MUL, [a, b], self.shape(a), schema.MulOptionsT())

    def clip(self, x: int, bound: float | None) -> int:
        """x within ± bound, if there is one."""
        if bound is None:
            return x
        options = schema.MaximumMinimumOptionsT()
        for operator, value in ((Op.MAXIMUM, -bound), (Op.MINIMUM, bound)):
            value = self._constant(np.float32(value))
            x = self._op(operator, [x, value], self.shape(x), options)
        return x

    def split(self, x: int, parts: int) -> list[int]:
        """Equal parts of the last axis of x (rows, dim)."""
        options = schema.SplitOptionsT()
        options.numSplits = parts
        rows, dim = self.shape(x)
        inputs = [self._constant(np.int32(1)), x]
        shapes = [[rows, dim // parts]] * parts
        return self._ops(Op.SPLIT, inputs, shapes, options)

    def rows(self, x: int, first: int, count: int) -> int:
        total, dim = self.shape(x)
        if count == total:
            return x
        where = (first, 0), (count, dim)
        inputs = [x, *(self._constant(np.array(pair, np.int32)) for pair in where)]
        return self._op(Op.SLICE, inputs, [count, dim], schema.SliceOptionsT())

    def concatenate(self, parts: list[int], axis: int) -> int:
        while len(parts) > _AT_ONCE:
            parts = [
                self.concatenate(parts[i : i + _AT_ONCE], axis)
                for i in range(0, len(parts), _AT_ONCE)
            ]
        if len(parts) == 1:
            return parts[0]
        options = schema.ConcatenationOptionsT()
        options.axis = axis
        shape = [*self.shape(parts[0])]
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        return self._op(Op.CONCATENATION, parts, shape, options)

    def reshape(self, x: int, *shape: int) -> int:
        options = schema.ReshapeOptionsT()
        options.newShape = list(shape)
        inputs = [x, self._constant(np.array(shape, np.int32))]
        return self._op(Op.RESHAPE, inputs, shape, options)

    def _tensor(self, shape, dtype, buffer=0, scales=None):
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.buffer = list(shape), dtype, buffer
        tensor.name = str(len(self.subgraph.tensors)).encode()
        if scales is not None:
            tensor.quantization = self._model.quantization(scales)
        self.subgraph.tensors.append(tensor)
        return len(self.subgraph.tensors) - 1

    def _weights(self, matrix):
        values, scales = matrix
        if id(values) not in self._constants:
            dtype = _Type.FLOAT32 if scales is None else _Type.INT8
            buffer = self._model.buffer(values)
            tensor = self._tensor(values.shape, dtype, buffer, scales)
            self._constants[id(values)] = tensor
        return self._constants[id(values)]

    def _bias(self, bias):
        return -1 if bias is None else self._weights(Matrix(bias, None))

    def _constant(self, value):
        """A small constant, the same tensor wherever its value is the same."""
        key = value.dtype.str, value.shape, value.tobytes()
        if key not in self._constants:
            dtype = _Type.INT32 if value.dtype == np.int32 else _Type.FLOAT32
            buffer = self._model.buffer(value)
            self._constants[key] = self._tensor(value.shape, dtype, buffer)
        return self._constants[key]

    def _op(self, operator, inputs, shape, options=None, version=1):
        return self._ops(operator, inputs, [shape], options, version)[0]

    def _ops(self, operator, inputs, shapes, options=None, version=1):
        op = schema.OperatorT()
        op.opcodeIndex = self._model.code(operator, version)
        op.inputs = list(inputs)
        op.outputs = [self._tensor(shape, _Type.FLOAT32) for shape in shapes]
        op.builtinOptions = options
        if options is not None:
            name = type(options).__name__.removesuffix("T")
            op.builtinOptionsType = getattr(schema.BuiltinOptions, name)
        self.subgraph.operators.append(op)
        return op.outputs
