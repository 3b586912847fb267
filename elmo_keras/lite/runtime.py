"""Compiled LiteRT models: by LiteRT's C functions, or by its Python interface.

Both compute the same numbers. A call of a C function leaves Python's lock, so that two
threads work at once.
"""

import ctypes
import functools
import importlib.metadata
import importlib.resources
import importlib.util
import math
import struct
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

KNOWN = "2.1.6", "2.2.", "2.3."  # versions whose C functions are those used here
ALIGNMENT = 64  # of memory that LiteRT uses in place
_LIBRARY = {"win32": "libLiteRt.dll", "darwin": "libLiteRt.dylib"}
_CPU, _PACKED_ONCE = 1, ":memory"


def aligned(*shape: int, dtype: DTypeLike = np.float32) -> np.ndarray:
    """An array of zeros whose memory LiteRT uses in place."""
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(n_bytes + ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % ALIGNMENT
    return memory[first : first + n_bytes].view(dtype).reshape(shape)


def compile_model(data: np.ndarray) -> "CompiledModel | PythonModel":
    """Compiles a flatbuffer, uint8, for one processor, by kernels of XNNPACK only."""
    if importlib.util.find_spec("ai_edge_litert") is None:
        raise ImportError("LiteRT is missing: pip install 'elmo-keras[litert]'.")
    if data.ctypes.data % ALIGNMENT:
        moved = aligned(data.size, dtype=np.uint8)
        moved[:] = data
        data = moved
    version = importlib.metadata.version("ai-edge-litert")
    model = CompiledModel(data) if version.startswith(KNOWN) else PythonModel(data)
    if not model.is_fully_accelerated():
        raise ValueError(
            f"LiteRT {version} has no fast kernel for an operation of this model. "
            "Use another version of ai-edge-litert (2.3 is known to have all), or "
            "another `arithmetic`."
        )
    return model


class CompiledModel:
    """A model that LiteRT's C functions run."""

    def __init__(self, data: np.ndarray):
        self._data = data
        self._model = _get(
            "CreateModelFromBuffer", _environment(), data.ctypes.data, data.size
        )
        self._handle = _get("CreateCompiledModel", _environment(), self._model, _cpu())
        handles = ("CompiledModel", self._handle), ("Model", self._model)
        weakref.finalize(self, _destroy, handles).atexit = False
        self._signatures = {}
        for index in range(_get("GetNumModelSignatures", self._model, result=_SIZE())):
            signature = _get("GetModelSignature", self._model, index)
            key = _get("GetSignatureKey", signature, result=_TEXT()).decode()
            sides = [_tensors(signature, side) for side in ("Input", "Output")]
            self._signatures[key] = index, *sides

    def is_fully_accelerated(self) -> bool:
        name = "CompiledModelIsFullyAccelerated"
        return _get(name, self._handle, result=ctypes.c_bool())

    def bind(
        self, signature: str, arrays: Mapping[str, np.ndarray]
    ) -> Callable[[], None]:
        """A function that runs a signature on these `aligned` arrays, by name, in place."""
        index, *sides = self._signatures.get(signature, (0, {}, {}))
        tensors = [tensor for side in sides for tensor in side.items()]
        sizes = {name: array.size for name, array in arrays.items()}
        if {name: _size(tensor_type) for name, tensor_type in tensors} != sizes:
            raise ValueError(f"The graph {signature} of the file has other inputs.")
        arguments = [self._handle, index]
        for tensors in sides:
            buffers = (ctypes.c_void_p * len(tensors))()
            for i, (name, tensor_type) in enumerate(tensors.items()):
                array = arrays[name]
                buffers[i] = _get(
                    "CreateTensorBufferFromHostMemory",
                    tensor_type,
                    array.ctypes.data,
                    array.nbytes,
                    None,
                )
            arguments += [len(buffers), buffers]
        function = _library().LiteRtRunCompiledModel

        def run(_keep=(self, arrays)):
            status = function(*arguments)
            if status:
                raise RuntimeError(f"LiteRT could not run {signature}: status {status}")

        return run


class PythonModel:
    """A model that LiteRT's Python interface runs; with the methods of `CompiledModel`."""

    def __init__(self, data: np.ndarray):
        from ai_edge_litert.compiled_model import CompiledModel as Model
        from ai_edge_litert.hardware_accelerator import HardwareAccelerator
        from ai_edge_litert.options import CpuOptions, Options

        cpu = CpuOptions(num_threads=1, xnnpack_weight_cache_path=_PACKED_ONCE)
        options = Options(
            hardware_accelerators=HardwareAccelerator.CPU, cpu_options=cpu
        )
        self._model = Model.from_buffer(data.tobytes(), options=options)

    def is_fully_accelerated(self) -> bool:
        return self._model.is_fully_accelerated()

    def bind(
        self, signature: str, arrays: Mapping[str, np.ndarray]
    ) -> Callable[[], None]:
        from ai_edge_litert.tensor_buffer import TensorBuffer

        index = self._model.get_signature_index(signature)
        names = self._model.get_signature_list()[signature]
        buffers = [
            [TensorBuffer.create_from_host_memory(arrays[name]) for name in names[side]]
            for side in ("inputs", "outputs")
        ]

        def run(_keep=arrays):
            self._model.run_by_index(index, *buffers)

        return run


_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
_SIZE, _INT = ctypes.c_size_t, ctypes.c_int
_DESTROY = ctypes.CFUNCTYPE(None, _POINTER)
_nothing_to_destroy = _DESTROY(lambda pointer: None)
_FUNCTIONS = {
    "CreateEnvironment": (_INT, _POINTER, _POINTER),
    "CreateModelFromBuffer": (_POINTER, _POINTER, _SIZE, _POINTER),
    "CreateOptions": (_POINTER,),
    "SetOptionsHardwareAccelerators": (_POINTER, _INT),
    "CreateOpaqueOptions": (_TEXT, _POINTER, _DESTROY, _POINTER),
    "AddOpaqueOptions": (_POINTER, _POINTER),
    "CreateCompiledModel": (_POINTER, _POINTER, _POINTER, _POINTER),
    "CompiledModelIsFullyAccelerated": (_POINTER, _POINTER),
    "GetNumModelSignatures": (_POINTER, _POINTER),
    "GetModelSignature": (_POINTER, _SIZE, _POINTER),
    "GetSignatureKey": (_POINTER, _POINTER),
    "GetNumSignatureInputs": (_POINTER, _POINTER),
    "GetNumSignatureOutputs": (_POINTER, _POINTER),
    "GetSignatureInputName": (_POINTER, _SIZE, _POINTER),
    "GetSignatureOutputName": (_POINTER, _SIZE, _POINTER),
    "GetSignatureInputTensorByIndex": (_POINTER, _SIZE, _POINTER),
    "GetSignatureOutputTensorByIndex": (_POINTER, _SIZE, _POINTER),
    "GetRankedTensorType": (_POINTER, _POINTER),
    "CreateTensorBufferFromHostMemory": (_POINTER, _POINTER, _SIZE, _POINTER, _POINTER),
    "DestroyCompiledModel": (_POINTER,),
    "DestroyModel": (_POINTER,),
    "RunCompiledModel": (_POINTER, _SIZE, _SIZE, _POINTER, _SIZE, _POINTER),
}


@functools.cache
def _library():
    name = _LIBRARY.get(sys.platform, "libLiteRt.so")
    package = importlib.resources.files("ai_edge_litert")
    library = ctypes.CDLL(str(package / name))
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, f"LiteRt{name}")
        function.argtypes, function.restype = arguments, _INT
    return library


class _EnvironmentOption(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_int64), ("kind", ctypes.c_int64), ("value", _SIZE)]


@functools.cache
def _environment():
    # Tags 24 (CPU only) and 25 (messages of errors only), with integers (kind 2): LiteRT
    # else reports on standard error what accelerators it did not find.
    options = [_EnvironmentOption(24, 2, 1), _EnvironmentOption(25, 2, 3)]
    return _get("CreateEnvironment", 2, (_EnvironmentOption * 2)(*options))


# LiteRT keeps the address.
_XNNPACK = ctypes.create_string_buffer(
    f'num_threads = 1\nweight_cache_file_path = "{_PACKED_ONCE}"\n'.encode()
)


@functools.cache
def _cpu():
    """Options: one thread, and weights packed once for all signatures."""
    options = _get("CreateOptions")
    _call("SetOptionsHardwareAccelerators", options, _CPU)
    address = ctypes.addressof(_XNNPACK)
    opaque = _get("CreateOpaqueOptions", b"xnnpack", address, _nothing_to_destroy)
    _call("AddOpaqueOptions", options, opaque)
    return options


def _tensors(signature, side):
    """The types of a signature's inputs or outputs, by name."""
    tensors = {}
    for i in range(_get(f"GetNumSignature{side}s", signature, result=_SIZE())):
        name = _get(f"GetSignature{side}Name", signature, i, result=_TEXT()).decode()
        tensor = _get(f"GetSignature{side}TensorByIndex", signature, i)
        tensors[name] = ctypes.create_string_buffer(256)
        _call("GetRankedTensorType", tensor, tensors[name])
    return tensors


def _size(tensor_type):
    """The number of values of a tensor of float32 with one axis, as all of ours."""
    dtype, rank, size = struct.unpack_from("3i", tensor_type)
    return size if (dtype, rank) == (1, 1) else None


def _destroy(handles):
    for name, handle in handles:
        getattr(_library(), f"LiteRtDestroy{name}")(handle)


def _get(name, *arguments, result: Any = None) -> Any:
    """What a C function returns through its last argument, by default a pointer."""
    result = _POINTER() if result is None else result
    _call(name, *arguments, ctypes.byref(result))
    return result.value


def _call(name, *arguments):
    status = getattr(_library(), f"LiteRt{name}")(*arguments)
    if status:
        raise RuntimeError(f"LiteRt{name} failed: status {status}")
