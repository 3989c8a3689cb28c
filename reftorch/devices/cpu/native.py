"""LLVM's back end for this processor: optimise a module to object code, load object code, make a Python function of it.

Needs llvmlite.binding only, so that a process whose kernels are all cached never imports numba.
"""
from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

# What compiled code may refer to. Anything else makes loading fail, with a message that names the symbol.
_PYTHON_FUNCTIONS = ("PyLong_AsLongLong", "PyLong_AsUnsignedLongLong", "PyFloat_AsDouble", "PyComplex_RealAsDouble",
                     "PyComplex_ImagAsDouble", "PyObject_IsTrue", "PyErr_Occurred", "PyErr_SetString", "Py_IncRef",
                     "PyEval_SaveThread", "PyEval_RestoreThread")
_PYTHON_DATA = ("_Py_NoneStruct", "PyExc_TypeError")
_C_FUNCTIONS = ("fma", "fmaf", "fmod", "fmodf", "hypot", "hypotf", "csqrt", "csqrtf", "floor", "floorf", "trunc", "truncf",
                "memcpy", "memmove", "memset")
METH_FASTCALL = 0x0080


@functools.cache
def host() -> tuple[str, str]:
    """Name and features of this processor, as LLVM knows them. The features are the truth, the name may be a guess."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _target_machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = host()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="small", jit=True)


@functools.cache
def _machine() -> Any:
    return _target_machine()


@functools.cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(_target_machine())


def optimise(text: str) -> Any:
    """An optimised module from LLVM assembly. No fast-math of any kind; loops are vectorised as their facts allow."""
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_interleaving = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def object_code(text: str) -> bytes:
    """Object code for this processor from LLVM assembly."""
    return bytes(_machine().emit_object(optimise(text)))


def assembly(text: str) -> str:
    """The machine code of `object_code`, to read."""
    return str(_machine().emit_assembly(optimise(text)))


class Loaded:
    """Object code in memory. `address`: of the C function kernel. `call`: the Python function; both live with this."""

    def __init__(self, code: bytes, name: str):
        """Raises RuntimeError when `code` is not object code for this machine or refers to an unknown symbol."""
        library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol("kernel").export_symbol("call")
        for symbol, address in _symbols().items():
            library.import_symbol(symbol, address)
        self._library = library.link(_jit(), f"reftorch{next(_numbers)}")
        self.address = self._library["kernel"]
        self._method = _PyMethodDef(name.encode(), self._library["call"], METH_FASTCALL, None)
        self.call = _new_function(self._method)


class _PyMethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


_numbers = itertools.count()


def _new_function(method: _PyMethodDef) -> Callable[..., None]:
    new: Any = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    return new(ctypes.addressof(method), None, None)


@functools.cache
def _symbols() -> dict[str, int]:
    python, process = ctypes.pythonapi, ctypes.CDLL(None)
    table = {name: _address(getattr(python, name)) for name in _PYTHON_FUNCTIONS}
    table |= {name: ctypes.addressof(ctypes.c_char.in_dll(python, name)) for name in _PYTHON_DATA}
    return table | {name: _address(getattr(process, name)) for name in _C_FUNCTIONS if hasattr(process, name)}


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
