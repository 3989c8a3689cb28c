"""Operator schema strings, parsed and printed in PyTorch's grammar.

    schema   := [namespace::]name[.overload](argument, ..., *, argument, ...) -> return | (return, ...)
    argument := type name[=default]          return := type [name]
    type     := base[alias] | type[][alias] | type[N][alias] | type? | (type, ...) | Dict(type, type)
    alias    := (a) | (a!) | (a|b) | (*) | (a -> *)

`str(parse_schema(text)) == str(torch._C.parse_schema(text))`: equal ints in a list default are written once
(`int[2] stride=1`), floats have 17 digits (`1.0000000000000001e-05`) or end in a dot (`1.`), and a name
(`Mean`, `contiguous_format`) becomes its number.  One difference: PyTorch prints the names of an alias set
(`a|b`) in the order of its hash table, here they stay as written.
Source: native_functions.yaml and its README ("func"); torch._C.parse_schema of the installed PyTorch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

Constant = None | bool | int | float | str
Default = Constant | tuple[Constant, ...]

_INT_TYPES = {"int", "SymInt", "ScalarType", "Layout", "MemoryFormat"}  # an int stands for an enum's value
_CONSTANT_TYPES = _INT_TYPES | {"float", "bool", "str", "Scalar", "Optional"}
_BASE_TYPES = _CONSTANT_TYPES - {"Optional"} | set(
    "Tensor Generator Device Storage Stream QScheme Quantizer NoneType complex SymBool Any AnyClassType"
    " AnyEnumType Capsule".split()
)
_RENAMED_TYPES = {"None": "NoneType", "ConstQuantizerPtr": "int", "DeviceIndex": "int"}
_GENERIC_TYPES = {"Future", "RRef", "Await", "Dict", "Union"}
_LITERALS: dict[str, Constant] = {"None": None, "True": True, "False": False}
_LITERALS |= {"Mean": 1, "contiguous_format": 0, "strided": 0, "long": 4, "float": 6}  # PyTorch's enum values
_KEYWORDS = set(
    "None True False Ellipsis and as assert break class continue def del elif else for global if import in is"
    " not or pass raise return while with".split()
)
_TOKEN = re.compile(
    r"""(?P<ident>__torch__\.torch\.classes\.\w+\.\w+|[A-Za-z_]\w*)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<symbol>->|\.\.\.|::|\S)""",
    re.VERBOSE | re.ASCII,
)
_ESCAPES = dict(zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True))
_UNESCAPES = {code: f"\\{code:03o}" for code in (*range(32), 127)}
_UNESCAPES |= {ord(char): "\\" + letter for letter, char in _ESCAPES.items()}


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """What a value may share memory with, before and after the call, and whether the call writes to it."""

    before: tuple[str, ...]
    is_write: bool
    after: tuple[str, ...]

    def __str__(self) -> str:
        after = "" if self.after == self.before else " -> " + "|".join(self.after)
        return f"({'|'.join(self.before)}{'!' if self.is_write else ''}{after})"


@dataclass(frozen=True, slots=True)
class Type:
    """A tree: `int[2]?` is an "Optional" of a "List" of size 2 of "int"; `(int, str)` is a "Tuple"."""

    name: str
    args: tuple[Type, ...] = ()
    size: int | None = None
    alias: AliasInfo | None = None

    @property
    def base(self) -> str:
        """The name below every list and optional: "Tensor" for `Tensor?[]`."""
        return self.args[0].base if self.name in ("List", "Optional") else self.name

    @property
    def alias_info(self) -> AliasInfo | None:
        """The outermost annotation: the list's in `t[](a!)`, its elements' in `Tensor(a!)[]`."""
        return self.args[0].alias_info if not self.alias and self.name in ("List", "Optional") else self.alias

    def __str__(self) -> str:
        args, size = ", ".join(map(str, self.args)), "" if self.size is None else self.size
        named = f"{self.name}({args})" if self.args else self.name
        text = {"Optional": f"{args}?", "List": f"{args}[{size}]", "Tuple": f"({args})"}.get(self.name, named)
        return f"{text}{self.alias or ''}"


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter.  `default_value` means nothing unless `has_default`."""

    name: str
    type: Type
    has_default: bool = False
    default_value: Default = None
    kwarg_only: bool = False

    @property
    def is_write(self) -> bool:
        return self.type.alias_info is not None and self.type.alias_info.is_write

    @property
    def is_out(self) -> bool:
        return self.kwarg_only and self.is_write

    def __str__(self) -> str:
        default = f"={_print_default(self.default_value, self.type)}" if self.has_default else ""
        return f"{self.type} {self.name}{default}"


@dataclass(frozen=True, slots=True)
class Return:
    """One result; most have no name."""

    type: Type
    name: str = ""

    def __str__(self) -> str:
        return f"{self.type} {self.name}" if self.name else str(self.type)


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """A parsed schema.  `name` includes the namespace, as in PyTorch: "aten::add"."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @property
    def namespace(self) -> str:
        return self.name.rpartition("::")[0]

    @property
    def base_name(self) -> str:
        return self.name.rpartition("::")[2]

    @property
    def positional(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if not a.kwarg_only)

    @property
    def kwarg_only(self) -> tuple[Argument, ...]:
        """The arguments after the `*`; the out arguments are among them."""
        return tuple(a for a in self.arguments if a.kwarg_only)

    @property
    def out(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.is_out)

    @property
    def is_mutable(self) -> bool:
        return any(a.is_write for a in self.arguments)

    @property
    def is_inplace(self) -> bool:
        """Whether this is an in-place form.  As in PyTorch, the name decides: `add_`, `__iadd__`."""
        dunder = self.name.endswith("__")
        return self.is_mutable and (self.base_name.startswith("__i") if dunder else self.name.endswith("_"))

    def __str__(self) -> str:
        args = [*self.positional, *(["*"] if self.kwarg_only else []), *self.kwarg_only]
        params = ", ".join(map(str, [*args, "..."] if self.is_vararg else args))
        results = ", ".join(map(str, [*self.returns, "..."] if self.is_varret else self.returns))
        # A lone tuple keeps the outer parentheses, or it would read as several returns.
        if len(self.returns) + self.is_varret != 1 or results.startswith("("):
            results = f"({results})"
        return f"{self.name}{'.' if self.overload_name else ''}{self.overload_name}({params}) -> {results}"


def _print_default(value: Default, type_: Type) -> str:
    if isinstance(value, str) and type_.base == "str":
        return f'"{value.translate(_UNESCAPES)}"'
    if isinstance(value, tuple):
        # `int[2] stride=1`, as native_functions.yaml has it; PyTorch prints only lists of int that way.
        same = type_.args[0].name == "int" and len(value) > 1 and len(set(value)) == 1
        texts = [_print_default(v, type_.args[0]) for v in value]
        return texts[0] if same else f"[{', '.join(texts)}]"
    if isinstance(value, float):  # what fits an int64 is printed as one, with a dot
        return f"{int(value)}." if -(2.0**63) <= value < 2.0**63 and value == int(value) else f"{value:.17g}"
    return str(value)


def parse_schema(text: str) -> FunctionSchema:
    """Parse one schema string.

    >>> s = parse_schema("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
    >>> s.name, s.overload_name, s.is_inplace, [a.name for a in s.kwarg_only]
    ('aten::add_', 'Tensor', True, ['alpha'])

    Raises RuntimeError, which says what was expected and marks the place, if `text` is not a schema.
    """
    return _Parser(text).schema()


class _Parser:
    """Recursive descent; a token's kind is its text, except for identifiers, numbers and strings."""

    def __init__(self, text: str) -> None:
        self.text, self.i = text, 0
        self.tokens = [
            (m[0] if m.lastgroup == "symbol" or m[0] in _KEYWORDS else m.lastgroup, m[0], m.start())
            for m in _TOKEN.finditer(text)
        ] + [("end", "the end", len(text))]
        self.arguments: list[Argument] = []
        self.kwarg_only = False

    def error(self, message: str, at: int | None = None) -> NoReturn:
        kind, word, start = self.tokens[self.i if at is None else at]
        line, width = re.sub(r"\s", " ", self.text), 1 if kind == "end" else len(word)
        raise RuntimeError(f"{message} here:\n{line}\n{' ' * start}{'~' * width} <--- HERE")

    def at(self, *kinds: str) -> bool:
        return self.tokens[self.i][0] in kinds

    def accept(self, kind: str) -> bool:
        self.i += (found := self.at(kind))
        return found

    def expect(self, *kinds: str) -> str:
        if not self.at(*kinds):
            self.error(f"expected {' or '.join(kinds)} but found {self.tokens[self.i][1]!r}")
        self.i += 1
        return self.tokens[self.i - 1][1]

    def items(self, close: str, item: Callable[[], object], dots: bool = False) -> tuple[list[Any], bool]:
        """`item, item close` or, if `dots` may come, `item, ... close`: the items, and whether they came."""
        found: list[Any] = []
        word = close if self.accept(close) else ","
        while word == ",":
            if dots and self.accept("..."):
                self.expect(close)
                return found, True
            found.append(item())
            word = self.expect(",", close)
        return found, False

    def schema(self) -> FunctionSchema:
        name = self.expect("ident")
        if self.accept("::"):
            name += "::" + self.expect("ident")
        overload = self.expect("ident") if self.accept(".") else ""
        if overload == "default" or overload.startswith("__"):
            self.error(f"{overload} is not a legal overload name", self.i - 1)
        self.expect("(")
        is_vararg = self.items(")", self.argument, dots=True)[1]
        if is_vararg and any(a.has_default for a in self.arguments):
            self.error("schemas with vararg (...) can't have default value args", self.i - 2)
        self.expect("->")
        if self.accept("("):
            returns, is_varret = self.items(")", self.result, dots=True)
        else:
            is_varret = self.accept("...")
            returns = [] if is_varret else [self.result()]
        self.expect("end")
        return FunctionSchema(name, overload, tuple(self.arguments), tuple(returns), is_vararg, is_varret)

    def argument(self) -> None:
        if self.accept("*"):
            self.kwarg_only = True
            return
        type_, name = self.whole_type(sized=True), self.expect("ident")
        # Lists are exempt, as in PyTorch: old schemas had sized lists without a default after defaults.
        required = not self.at("=") and not self.kwarg_only and type_.name != "List"
        if required and any(a.has_default for a in self.arguments):
            self.error("non-default positional argument follows default argument", self.i - 1)
        has_default = self.accept("=")
        default = self.default(type_) if has_default else None
        self.arguments.append(Argument(name, type_, has_default, default, self.kwarg_only))

    def result(self) -> Return:
        return Return(self.whole_type(sized=True), self.expect("ident") if self.at("ident") else "")

    def whole_type(self, sized: bool = False) -> Type:
        type_ = self.base_type()
        while self.at("?", "["):
            if self.accept("?"):
                type_ = type_ if type_.name == "Optional" else Type("Optional", (type_,))
                continue
            self.expect("[")
            # A size may stand only outermost; nothing but a `?` may follow it.
            size = int(self.number(int)) if sized and not self.at("]") else None
            self.expect("]")
            type_ = Type("List", (type_,), size, self.alias())
            if size is not None:
                return Type("Optional", (type_,)) if self.accept("?") else type_
        return type_

    def base_type(self) -> Type:
        if self.accept("("):
            return Type("Tuple", tuple(self.items(")", self.whole_type)[0]))
        name = self.expect("ident", "None")
        name = _RENAMED_TYPES.get(name, name)
        args: tuple[Type, ...] = ()
        if name in _GENERIC_TYPES:
            self.expect("(")
            args = tuple(self.items(")", self.whole_type)[0])
        # A lower case name is a type variable; __torch__.torch.classes.* are classes that users register.
        elif name not in _BASE_TYPES and not name[0].islower() and not name.startswith("__torch__."):
            self.error("unknown type specifier", self.i - 1)
        takes_alias = name == "Dict" or not args and "." not in name
        return Type(name, args, None, self.alias() if takes_alias else None)

    def alias(self) -> AliasInfo | None:
        if not self.accept("("):
            return None
        before, is_write = self.alias_set(), self.accept("!")
        after = self.alias_set() if self.accept("->") else before
        self.expect(")")
        return AliasInfo(before, is_write, after)

    def alias_set(self) -> tuple[str, ...]:
        names = [self.expect("ident", "*")]
        while names != ["*"] and self.accept("|"):
            names.append(self.expect("ident"))
        return tuple(names)

    def default(self, type_: Type) -> Default:
        if type_.name in ("Tensor", "Generator"):
            return _LITERALS[self.expect("None")]
        if type_.name == "Device":
            return self.string(self.expect("string"))
        if type_.name in _CONSTANT_TYPES:
            return self.constant(type_.name)
        element = type_.args[0].name if type_.name == "List" else ""
        kind = int if element in _INT_TYPES else {"float": float, "bool": bool}.get(element)
        if kind is None:
            self.error(f"a {type_} cannot have this default value")
        start = self.i
        if type_.size is not None and not self.at("["):  # int[2] stride=1
            values = [self.constant(element)] * type_.size
        else:
            self.expect("[")
            values = self.items("]", lambda: self.constant(element))[0]
        if any(type(v) is not kind for v in values):
            self.error(f"expected only {kind.__name__} values in the default of a {type_}", start)
        return tuple(values)

    def constant(self, type_name: str) -> Constant:
        word = self.tokens[self.i][1]
        if word in _LITERALS:
            self.i += 1
            return _LITERALS[word]
        if self.at("string"):
            return self.string(self.expect("string"))
        sign = "-" if self.accept("-") else ""
        is_float = type_name == "float" or any(c in self.tokens[self.i][1] for c in ".e")
        return self.number(float if is_float else int, sign)

    def number(self, kind: type[int] | type[float], sign: str = "") -> int | float:
        word = sign + self.expect("number")
        try:
            value: int | float = kind(word)
        except ValueError:  # a fraction, or more digits than Python converts
            value = float("inf")
        if not (-(2**63) <= value < 2**63 if kind is int else abs(value) < float("inf")):
            self.error(f"{word} is not a 64-bit {kind.__name__}", self.i - 1)
        return value

    def string(self, word: str) -> str:
        def unescape(m: re.Match[str]) -> str:
            if m[1] not in _ESCAPES and (len(m[1]) != 3 or m[1] > "177"):
                self.error(f"unsupported escape {m[0]}", self.i - 1)
            return _ESCAPES.get(m[1]) or chr(int(m[1], 8))

        return re.sub(r"\\([0-7]{3}|.)", unescape, word[1:-1])
