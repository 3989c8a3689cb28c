"""LLVM's back end for this processor: from a module to object code, from that to a Python function.

Needs llvmlite.binding only, so that a process whose kernels are all cached never imports numba.
"""
from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import llvmlite.binding as llvm

# What compiled code may refer to. Anything else makes loading fail, with a message that names the symbol.
_PYTHON_FUNCTIONS = (
    "PyLong_AsLongLong", "PyLong_AsUnsignedLongLong", "PyFloat_AsDouble", "PyComplex_RealAsDouble",
    "PyComplex_ImagAsDouble", "PyObject_IsTrue", "PyBytes_AsString", "PyErr_Occurred", "PyErr_SetString",
    "Py_IncRef", "PyEval_SaveThread", "PyEval_RestoreThread")
_PYTHON_DATA = ("_Py_NoneStruct", "PyExc_TypeError")
_C_FUNCTIONS = (
    "fma", "fmaf", "fmod", "fmodf", "hypot", "hypotf", "csqrt", "csqrtf", "floor", "floorf", "trunc",
    "truncf", "memcpy", "memmove", "memset", "sched_yield", "pthread_mutex_lock", "pthread_mutex_unlock",
    "pthread_cond_wait", "pthread_cond_broadcast")
_COMPILER_FUNCTIONS = ("__truncsfhf2", "__extendhfsf2")  # float16 on processors without instructions for it
_METH_FASTCALL = 0x0080


@functools.cache
def host() -> tuple[str, str]:
    """Name and features of this processor. The features are the truth, the name is LLVM's nearest guess."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def triple() -> str:
    """The platform code is made for."""
    return str(llvm.get_default_triple())


def _target_machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = host()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="small", jit=True)


_machine = functools.cache(_target_machine)


@functools.cache
def _jit() -> Any:
    return llvm.create_lljit_compiler(_target_machine())  # which then owns that machine


def optimise(text: str) -> Any:
    """An optimised module from LLVM assembly, with no fast-math of any kind.

    Unrolling is left to the vectoriser, which interleaves: unrolling the rest costs time and gains none.
    """
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.loop_interleaving = True
    options.loop_unrolling = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def object_code(text: str) -> bytes:
    """Object code for this processor from LLVM assembly."""
    return bytes(_machine().emit_object(optimise(text)))


def assembly(text: str) -> str:
    """The machine code of `object_code`, to read."""
    return str(_machine().emit_assembly(optimise(text)))


class Library:
    """Object code in memory while this object lives: library[name] is the address of an exported function."""

    def __init__(self, code: bytes, exports: Iterable[str], symbols: dict[str, int]):
        """symbols: addresses that the code may refer to besides Python's and C's.

        Raises RuntimeError when `code` is not object code for this machine or refers to an unknown symbol.
        """
        builder = llvm.JITLibraryBuilder().add_object_img(code)
        for name in exports:
            builder.export_symbol(name)
        for name, address in (_symbols() | symbols).items():
            builder.import_symbol(name, address)
        self._tracker = builder.link(_jit(), f"reftorch{next(_numbers)}")

    def __getitem__(self, name: str) -> int:
        return int(self._tracker[name])


_numbers = itertools.count()


class _PyMethodDef(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


class PythonFunction:
    """A METH_FASTCALL function at `address`. Its built-ins may be used as long as this object lives."""

    def __init__(self, address: int, name: str):
        self._method = _PyMethodDef(name.encode(), address, _METH_FASTCALL, None)

    def bind(self, value: Any) -> Callable[..., Any]:
        """The Python built-in that passes `value` as its first argument, self, in C."""
        new: Any = ctypes.pythonapi.PyCFunction_NewEx
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        function: Callable[..., Any] = new(ctypes.addressof(self._method), value, None)
        return function


@functools.cache
def _symbols() -> dict[str, int]:
    python, table = ctypes.pythonapi, {}
    for name in _PYTHON_DATA:
        table[name] = ctypes.addressof(ctypes.c_char.in_dll(python, name))
    for library, names in ((python, _PYTHON_FUNCTIONS), (ctypes.CDLL(None), _C_FUNCTIONS),
                           (_libgcc(), _COMPILER_FUNCTIONS)):
        for name in names:
            if hasattr(library, name):
                table[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    return table


def _libgcc() -> Any:
    try:
        return ctypes.CDLL("libgcc_s.so.1")
    except OSError:
        return None
