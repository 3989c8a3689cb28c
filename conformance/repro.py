"""A divergence as a script that runs alone: literal bits, NumPy and the subject, nothing of this kit.

The script exits with 1 while the divergence is there, 0 when it is gone, 77 when it cannot run. It is run once in a
process of its own before anybody is shown it.
"""
from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import textwrap
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reftorch.core.dtype import DTYPES

from .case import Case, View
from .clause import CRASHED, Verdict
from .execute import call_text
from .subjects import Spelling
from .wanted import values

CANNOT_RUN = 77
WIDTH = 116
LITERAL_WORDS = 96  # more than that are packed


def identity(subject: str, clause: str, fingerprint: str) -> str:
    """The divergence's name: the same in every run in which the same cause shows."""
    return hashlib.sha256("\0".join((subject, clause, fingerprint)).encode()).hexdigest()[:8]


@dataclass
class Replay:
    """What a script did in a clean process. code: None if it had to be stopped."""

    code: int | None
    output: str

    @property
    def reproduced(self) -> bool:
        return self.code == 1

    def __str__(self) -> str:
        return {1: "reproduced in a clean process", 0: "did NOT reproduce in a clean process",
                CANNOT_RUN: "the script could not run", None: "the script was stopped: it took too long"}.get(
                    self.code, f"the script died with exit status {self.code}")


def replay(path: Path, seconds: float = 120.0, env: dict[str, str] | None = None) -> Replay:
    """Run a script in a clean process."""
    try:
        done = subprocess.run([sys.executable, str(path.resolve())], cwd=path.parent, capture_output=True, text=True,
                              errors="replace", timeout=seconds, env=env, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return Replay(None, "")
    return Replay(done.returncode, (done.stdout + done.stderr).strip())


def script(verdict: Verdict, subject: str, clause: str, text: str, spelling: Spelling, device: str = "cpu",
           id: str = "", seen: str = "") -> str:  # noqa: A002
    """The script's text.

    clause: the clause's id; text: what it says; id: the divergence's; seen: the environment it was seen in.
    """
    assert verdict.case is not None
    return _Script(verdict, verdict.case, subject, clause, text, spelling, device, id, seen).render()


# ---- bits as text ----
_CODES = {"float32": ("u4", 'b.view("f4")'), "complex64": ("u4", 'b.view("f4")'), "float64": ("u8", 'b.view("f8")'),
          "complex128": ("u8", 'b.view("f8")'), "float16": ("u2", 'b.view("f2")'),
          "bfloat16": ("u2", '(b.astype("u4") << 16).view("f4")')}


def _code(dtype: str) -> tuple[str, str]:
    """The NumPy type that an element's bits are written in, and the expression that turns bits `b` into values."""
    d = DTYPES[dtype]
    sign = "i" if d.np.kind == "i" else "u"
    return _CODES.get(dtype) or (f"u{d.itemsize}", f'b.view("{sign}{d.itemsize}")')


def _words(array: np.ndarray, code: str) -> str:
    """The elements of an array as text: an argument list of numbers."""
    words = np.ascontiguousarray(array).reshape(-1).view(np.uint8).view(code).tolist()
    digits = 2 + 2 * int(code[1])
    if len(words) > 8 and len(set(words)) == 1:
        return f"[{words[0]:#0{digits}x}] * {len(words)}"
    if len(words) <= LITERAL_WORDS:
        return "[" + ", ".join(f"{w:#0{digits}x}" for w in words) + "]"
    packed = base64.b85encode(zlib.compress(np.array(words, code).tobytes(), 9)).decode()
    return f'np.frombuffer(zlib.decompress(base64.b85decode({packed!r})), "{code}")'


def _assignment(name: str, expression: str, comment: str = "") -> list[str]:
    """`name = expression`, broken into lines."""
    line = f"{name} = {expression}" if name else expression
    if len(line) + len(comment) + 4 <= WIDTH:
        return [line + (f"  # {comment}" if comment else "")]
    if "b85decode(" in line:
        before, _, rest = line.partition("b85decode('")
        data, _, after = rest.partition("')")
        return [before + "b85decode(", *(f"    {part!r}" for part in textwrap.wrap(data, WIDTH - 8)), "    )" + after]
    head, bracket, tail = line.partition("[")
    if not bracket:
        return [line]
    return [head + bracket, *textwrap.wrap(tail, WIDTH - 4, initial_indent="    ", subsequent_indent="    ")]


def _string(name: str, text: str) -> list[str]:
    """`name = text`, broken into adjacent literals."""
    if len(text) < WIDTH - 12:
        return [f"{name} = {text!r}"]
    parts = textwrap.wrap(text, WIDTH - 12, drop_whitespace=False, break_on_hyphens=False)
    return [f"{name} = (", *(f"    {part!r}" for part in parts), ")"]


def _few_values(bits: np.ndarray, dtype: str) -> str:
    return ", ".join(map(str, values(bits, dtype).reshape(-1).tolist())) if 0 < bits.size <= 4 else ""


class _Script:
    def __init__(self, verdict: Verdict, case: Case, subject: str, clause: str, text: str, spelling: Spelling,
                 device: str, id: str, seen: str):  # noqa: A002
        self.id, self.seen = id, seen
        self.verdict, self.case, self.wanted = verdict, case, verdict.wanted
        self.subject, self.clause, self.text, self.spelling, self.device = subject, clause, text, spelling, device
        self.crashed = verdict.status == CRASHED
        self.shown = verdict.evidence.get("shown", {})
        self.memory: dict[int, str] = {}  # names of the buffers that are not simply one tensor

    # ---- parts ----
    def render(self) -> str:
        body = [*self.tensors(), "", *self.call(), "", *self.checks(), "sys.exit(bool(failures))"]
        source = "\n".join(body)
        helpers = [h for name, h in self.helpers().items() if f"{name}(" in source]
        if any("bits(" in h for h in helpers) and "bits(" not in source:
            helpers.insert(0, self.helpers()["bits"])
        modules = ["base64"] * ("b85decode" in source) + ["subprocess"] * self.crashed + ["sys"]
        modules += ["warnings"] * ("catch_warnings" in source) + ["zlib"] * ("b85decode" in source)
        lines = [*self.header(), *(f"import {m}" for m in modules), "", "import numpy as np", "", *self.imports(), "",
                 *(f"\n{h}\n" for h in helpers), "" if helpers else None, "failures = []", *body]
        return "\n".join(line for line in lines if line is not None) + "\n"

    def header(self) -> list[str]:
        where = f" on {self.device}" if self.device != "cpu" and self.device not in self.subject else ""
        unit = f" ({self.verdict.unit})" if self.verdict.unit else ""
        kind = "crashes in a case of" if self.crashed else "diverges from"
        head = [f"{self.subject}{where} {kind} {self.clause}{unit}.", "",
                *textwrap.wrap(self.text, WIDTH), ""]
        if self.verdict.expected or self.verdict.got:
            for word, what in (("expected", self.verdict.expected), ("got", self.verdict.got)):
                head += textwrap.wrap(f"{word + ':':10}{what}", WIDTH, subsequent_indent=" " * 10)
            head.append("")
        if self.seen:
            head += [*textwrap.wrap(f"Seen with {self.seen}.", WIDTH), ""]
        end = ["Exits with 1 while it is so, 0 when it no longer is, 77 when this cannot run here.", '"""']
        head[0] += f"  [{self.id}]"
        return ['r"""' + head[0].replace('"""', "'''"), *(line.replace('"""', "'''") for line in head[1:]), *end]

    def imports(self) -> list[str]:
        ready = list(self.spelling.setup)
        if self.device != "cpu":
            ready.append(f'torch.zeros(1).to("{self.device}")')
        lines = ["try:", *(f"    {line}" for line in ready), "except Exception as e:",
                 '    print(f"cannot run: {e}")', f"    sys.exit({CANNOT_RUN})"]
        if self.spelling.threads and max((v.numel for v in self.case.views().values()), default=0) > 32768:
            lines.append(self.spelling.threads)
        return lines

    def helpers(self) -> dict[str, str]:
        to_device = f'.to("{self.device}")' if self.device != "cpu" else ".clone()"
        resolve = ".resolve_conj()" if self.device == "cpu" and "torch" in self.spelling.setup[0].split() \
            and self._is_complex() and "reftorch" not in self.spelling.setup[0] else ""
        return {
            "tensor": 'def tensor(dtype, code, words):\n    """A tensor with these bits."""\n'
                      f"    return torch.from_numpy(np.array(words, code).view(np.uint8)){to_device}.view(dtype)",
            "bits": "def bits(tensor, code):\n"
                    f"    flat = tensor.detach(){resolve}.to(\"cpu\").contiguous().reshape(-1)\n"
                    "    return flat.view(torch.uint8).numpy().view(code)",
            "compare": 'def compare(what, got, expected, value):\n    """Bits, but a NaN equals any other."""\n'
                       "    v, w = value(got), value(expected)\n"
                       "    wrong = np.flatnonzero((got != expected) & ((v == v) | (w == w)))\n"
                       "    for i in wrong[:8]:\n"
                       '        print(f"{what} {i}: expected {expected[i]:#x} = {w[i]}, got {got[i]:#x} = {v[i]}")\n'
                       "    return list(wrong)",
            "check": "def check(what, got, expected):\n"
                     '    print(f"{what}: expected {expected}, got {got}")\n'
                     "    if got != expected:\n        failures.append(what)",
        }

    def _is_complex(self) -> bool:
        dtypes = [v.dtype for v in self.case.views().values()] + [self.shown.get("dtype", "")]
        return any(d.startswith("complex") for d in dtypes)

    # ---- tensors ----
    def tensors(self) -> list[str]:
        views = self.case.views() | ({"grad": self.case.grad} if self.case.grad else {})
        users: dict[int, list[str]] = {}
        for name, view in views.items():
            users.setdefault(view.buffer, []).append(name)
        looked_at = {int(i) for i in self.wanted.get("buffers", {})}
        lines: list[str] = []
        for index, names in users.items():
            view, data = views[names[0]], self.case.buffers[index]
            if len(names) == 1 and index not in looked_at and self._simple(view, data):
                continue
            self.memory[index] = f"memory{index}" if len(users) > 1 else "memory"
            code, itemsize = _code(view.dtype)[0], DTYPES[view.dtype].itemsize
            padded = np.concatenate([data, np.full(-data.size % itemsize, 0xA5, np.uint8)])
            lines += _assignment(self.memory[index], f'tensor(torch.{view.dtype}, "{code}", {_words(padded, code)})')
        for name, view in views.items():
            lines += self.one_tensor(name, view, views[users[view.buffer][0]].dtype)
        return lines

    def _simple(self, view: View, data: np.ndarray) -> bool:
        packed = np.empty(view.size, np.uint8).strides
        dense = view.numel > 0 and (view.stride == packed or all(
            n == 1 or s == p for n, s, p in zip(view.size, view.stride, packed)))
        return dense and view.offset == 0 and data.size == view.numel * DTYPES[view.dtype].itemsize

    def one_tensor(self, name: str, view: View, memory_dtype: str) -> list[str]:
        code = _code(view.dtype)[0]
        if view.buffer in self.memory:
            whole = self.memory[view.buffer]
            if memory_dtype != view.dtype:
                whole += f".view(torch.uint8).view(torch.{view.dtype})"
            lines = [f"{name} = {whole}.as_strided({view.size}, {view.stride}, {view.offset})"
                     + ("" if name == "out" else ".detach()")]
        elif not view.numel:
            lines = [f"{name} = torch.empty(0, dtype=torch.{view.dtype}).as_strided({view.size}, {view.stride})"]
            if self.device != "cpu":
                lines[0] += f'.to("{self.device}")'
        else:
            bits = view.of(self.case.buffers[view.buffer])
            shape = "" if len(view.size) == 1 else f".reshape({view.size})"
            lines = _assignment(name, f'tensor(torch.{view.dtype}, "{code}", {_words(bits, code)}){shape}',
                                _few_values(bits, view.dtype))
        if view.on_host and self.device != "cpu":
            lines.append(f'{name} = {name}.to("cpu")')
        if view.requires_grad and view.leaf:
            lines.append(f"{name}.requires_grad_()")
        elif view.requires_grad:
            lines += [f"{name}_leaf = {name}.clone().requires_grad_()", f"{name}.copy_({name}_leaf)"]
        return lines

    # ---- the call ----
    def call(self) -> list[str]:
        text, names = call_text(self.case, self.spelling.functions), ", ".join(self.case.views())
        lines: list[str] = []
        if "versions" in self.wanted:
            lines.append("versions = {" + ", ".join(f'"{n}": {n}._version' for n in self.wanted["versions"]) + "}")
        if self.spelling.wrap:
            lines += ["", f"def call({names}):", f"    return {text}", "", ""]
            text = f"{self.spelling.wrap}({names})"
        run = [f"result = {text}"]
        if name := self.case.modify:
            run.append(f"{name}.detach().copy_({name}.detach().clone())  # its values stay, its version grows")
        run += ["result.backward(grad)"] * (self.case.grad is not None)
        if "error" in self.wanted:
            run = ["try:", *(f"    {line}" for line in run), '    shown, text = ["no error"], ""',
                   "except Exception as e:", "    shown, text = [c.__name__ for c in type(e).__mro__], str(e)"]
        if "warning" in self.wanted:
            run = ["with warnings.catch_warnings(record=True) as caught:", '    warnings.simplefilter("always")',
                   *(f"    {line}" for line in run)]
        if self.crashed:  # the call goes into a process of its own, so that this one can tell how it ended
            again = "[sys.executable, __file__, \"call\"]"
            return ['if "call" in sys.argv:', *(f"    {line}" for line in [*lines, *run] if line), "    sys.exit()",
                    "try:", f"    status = subprocess.run({again}, timeout=30).returncode",
                    "except subprocess.TimeoutExpired:", '    status = "no answer within 30 seconds"']
        return lines + run

    # ---- what is looked at ----
    def checks(self) -> list[str]:
        if self.crashed:
            return ['print(f"the call ended with {status}")', "if status:", '    failures.append("crashed")']
        lines: list[str] = []
        for key, want in self.wanted.items():
            check = getattr(self, f"check_{key}", None)
            lines += check(want) if check else self.plain(key, want)
        return lines or ['print("nothing to compare with")']

    _PLAIN = {"dtype": "str(result.dtype).removeprefix('torch.')", "device": "result.device.type",
              "size": "list(result.shape)", "stride": "list(result.stride())", "offset": "result.storage_offset()",
              "requires_grad": "result.requires_grad", "grad_fn": "result.grad_fn and result.grad_fn.name()",
              "out_size": "list(out.shape)", "out_stride": "list(out.stride())"}

    def plain(self, key: str, want: Any) -> list[str]:
        want = list(want) if isinstance(want, tuple) else want
        return [f'check("{key}", {self._PLAIN[key]}, {want!r})']

    def arrays(self, what: str, got: str, want: Any, dtype: str, into: str = "failures +=") -> list[str]:
        code, value = _code(dtype)
        expected = f'np.array({_words(np.asarray(want), code)}, "{code}")'
        return [*_assignment("expected", expected, _few_values(np.asarray(want), dtype)),
                f'{into} compare("{what}", bits({got}, "{code}"), expected, lambda b: {value})']

    def check_bits(self, want: Any) -> list[str]:
        dtype = self.shown.get("dtype") or _dtype_of(want)
        if not isinstance(want, list) or len(want) == 1:
            return self.arrays("element", "result", want[0] if isinstance(want, list) else want, dtype)
        lines = ["# Any one of these is right."]
        for i, alternative in enumerate(want):
            lines += self.arrays("element", "result", alternative, dtype, f"from_{i} =")
        return [*lines, f"failures += min({', '.join(f'from_{i}' for i in range(len(want)))}, key=len)"]

    def check_unlike(self, want: Any) -> list[str]:
        code, value = _code(self.shown.get("dtype") or _dtype_of(want))
        return [*_assignment("seen", f'np.array({_words(np.asarray(want), code)}, "{code}")'),
                f'got, value = bits(result, "{code}"), lambda b: {value}',
                "same = (got == seen) | (value(got) != value(got)) & (value(seen) != value(seen))",
                'check("the result as it was seen", bool(same.all()), False)']

    def check_between(self, want: Any) -> list[str]:
        code, value = _code(self.shown.get("dtype") or _dtype_of(want[0]))
        lines = [f"value = lambda b: {value}  # noqa: E731"]
        for name, array in zip(("low", "high"), want):
            lines += _assignment(name, f'value(np.array({_words(np.asarray(array), code)}, "{code}"))')
        return [*lines, f'got = value(bits(result, "{code}"))',
                "for i in np.flatnonzero(~((low <= got) & (got <= high) | (low != low) & (got != got)))[:8]:",
                '    print(f"element {i}: expected between {low[i]} and {high[i]}, got {got[i]}")',
                "    failures.append(i)"]

    def check_grads(self, want: dict[str, Any]) -> list[str]:
        lines = []
        for name, grad in want.items():
            view = self.case.args.get(name)
            leaf = name if not isinstance(view, View) or view.leaf else f"{name}_leaf"
            if grad is None:
                lines.append(f'check("{name} has a gradient", {leaf}.grad is not None, False)')
                continue
            dtype = self.shown.get("grad_dtypes", {}).get(name) or (view.dtype if isinstance(view, View) else "float32")
            lines += self.arrays(f"gradient of {name}", f"{leaf}.grad", grad, dtype)
        return lines

    def check_grad_dtypes(self, want: dict[str, str]) -> list[str]:
        return [f'check("dtype of the gradient of {n}", str({n}.grad.dtype).removeprefix("torch."), "{d}")'
                for n, d in want.items()]

    def check_versions(self, want: dict[str, int]) -> list[str]:
        return [f'check("version of {n} grows by", {n}._version - versions["{n}"], {grows})'
                for n, grows in want.items()]

    def check_same_object(self, want: Any) -> list[str]:
        names = self.case.views()
        got = ", ".join(f'"{n}": {n}' for n in names)
        return [f'check("the result is the object", [n for n, t in {{{got}}}.items() if t is result], {list(want)!r})']

    def check_shares(self, want: Any) -> list[str]:
        got = ", ".join(f'"{n}": {n}' for n in self.case.views())
        return [f"tensors = {{{got}}}.items()", "where = result.untyped_storage().data_ptr()",
                'check("the result shares memory with", [n for n, t in tensors if '
                f"t is result or where and t.untyped_storage().data_ptr() == where], {list(want)!r})"]

    def check_buffers(self, want: dict[Any, Any]) -> list[str]:
        lines: list[str] = []
        for index, after in want.items():
            name, before = self.memory.get(int(index), "memory"), self.case.buffers[int(index)]
            after = np.asarray(after, np.uint8)
            lines.append(f"expected = bits({name}, \"u1\").copy()")
            lines += _assignment("", f"expected[:{before.size}] = {_words(before, 'u1')}")
            changed = np.flatnonzero(after != before)
            if changed.size:
                first, last = int(changed[0]), int(changed[-1]) + 1
                lines += _assignment("", f"expected[{first}:{last}] = {_words(after[first:last], 'u1')}")
            lines.append(f'failures += compare("byte", bits({name}, "u1"), expected, lambda b: b)')
        return lines

    def check_error(self, want: dict[str, Any] | None) -> list[str]:
        shown = 'print(f"got {shown[0]}: {text}")'
        if want is None:
            return [shown, 'if shown[0] != "no error":', "    failures.append(shown)"]
        return [*_string("wanted", want.get("text", "")),
                f"print(f\"expected {want['type']}: {{wanted}}\")", shown,
                f"if \"{want['type']}\" not in shown or wanted not in text:", "    failures.append(shown)"]

    def check_warning(self, want: str | None) -> list[str]:
        lines = ["texts = [str(w.message) for w in caught]", f'print("expected the warning {want!r}, got", texts)']
        test = "texts" if want is None else f"not any({want!r} in t for t in texts)"
        return [*lines, f"if {test}:", '    failures.append("warning")']


def _dtype_of(array: Any) -> str:
    """The dtype of carrier bits, where nothing else is known. bfloat16 is carried like uint16."""
    array = np.asarray(array[0] if isinstance(array, list) else array)
    found = {d.np: name for name, d in DTYPES.items() if not d.storage_only and name != "bfloat16"}
    return found.get(array.dtype, "uint8")


