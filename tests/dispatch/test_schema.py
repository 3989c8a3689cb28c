"""Schema strings: PyTorch's own are the corpus, and PyTorch's own parser is the judge."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reftorch.dispatch.schema import AliasInfo, Argument, FunctionSchema, Return, Type, parse_schema


def native_functions() -> list[str]:
    pytest.importorskip("torchgen", reason="not run: torchgen is not installed")
    yaml = resources.files("torchgen") / "packaged/ATen/native/native_functions.yaml"
    return re.findall(r"^- func: (.*?)\s*$", yaml.read_text(), re.MULTILINE)


def test_every_schema_of_the_installed_pytorch_survives_the_round_trip():
    torch = pytest.importorskip("torch", reason="not run: torch is not installed")
    # Some that distributed code registers have types (PyObject) that PyTorch's own parser does not know.
    theirs = [s for s in torch._C._jit_get_all_schemas() if "PyObject" not in str(s)]
    assert sum(s.name.startswith("aten::") for s in theirs) > 3000
    for their in theirs:
        our = parse_schema(str(their))
        assert str(our) == str(their)
        for attribute in ("name", "overload_name", "is_mutable"):
            assert getattr(our, attribute) == getattr(their, attribute), str(their)
        for a, b in zip(our.arguments, their.arguments, strict=True):
            assert (a.name, a.kwarg_only, a.has_default) == (b.name, b.kwarg_only, b.has_default_value())
            assert (a.is_write, a.is_out) == (bool(b.is_write), b.is_out)
            value = list(a.default_value) if isinstance(a.default_value, tuple) else a.default_value
            assert value == b.default_value and type(value) is type(b.default_value), str(their)
        assert [r.name for r in our.returns] == [r.name for r in their.returns]


def test_native_functions_are_read_as_pytorch_reads_them():
    torch = pytest.importorskip("torch", reason="not run: torch is not installed")
    lines = native_functions()
    assert len(lines) > 2000
    for line in lines:
        assert str(parse_schema("aten::" + line)) == str(torch._C.parse_schema("aten::" + line))


def test_in_place_and_out_forms_are_those_of_torchgen():
    model = pytest.importorskip("torchgen.model")
    for line in native_functions():
        our, their = parse_schema(line), model.FunctionSchema.parse(line)
        assert our.is_inplace == (their.kind() == model.SchemaKind.inplace), line
        assert [a.name for a in our.out] == [a.name for a in their.arguments.out], line


def test_the_tree_of_a_schema():
    text = "aten::f.out(Tensor(a)? x, int[2] y=1, *, Scalar s=1.0, Tensor(b!)[] out) -> (Tensor(b!)[] r, int)"
    a, b = AliasInfo(("a",), False, ("a",)), AliasInfo(("b",), True, ("b",))
    out = Type("List", (Type("Tensor", alias=b),))
    schema = parse_schema(text)
    assert schema == FunctionSchema(
        "aten::f",
        "out",
        (
            Argument("x", Type("Optional", (Type("Tensor", alias=a),))),
            Argument("y", Type("List", (Type("int"),), 2), True, (1, 1)),
            Argument("s", Type("Scalar"), True, 1.0, kwarg_only=True),
            Argument("out", out, kwarg_only=True),
        ),
        (Return(out, "r"), Return(Type("int"))),
    )
    assert (schema.namespace, schema.base_name) == ("aten", "f")
    assert [x.name for x in schema.positional] == ["x", "y"]
    assert [x.name for x in schema.kwarg_only] == ["s", "out"]
    assert [x.name for x in schema.out] == ["out"]
    assert schema.is_mutable and not schema.is_inplace
    assert [x.type.base for x in schema.arguments] == ["Tensor", "int", "Scalar", "Tensor"]
    assert len({schema, parse_schema(text)}) == 1  # hashable


@pytest.mark.parametrize(
    "argument, printed",
    [
        ("int reduction=Mean", "int reduction=1"),
        ("MemoryFormat f=contiguous_format", "MemoryFormat f=0"),
        ("float eps=1e-05", "float eps=1.0000000000000001e-05"),
        ("float p=2", "float p=2."),
        ("float big=1e18", "float big=1000000000000000000."),
        ("float bigger=1e19", "float bigger=1e+19"),
        ("Scalar beta=1", "Scalar beta=1"),
        ("bool[3] mask=True", "bool[3] mask=[True, True, True]"),
        ("int[2] s=[1,1]", "int[2] s=1"),
        ("SymInt[2] s=1", "SymInt[2] s=[1, 1]"),
        ("int[] d=[0,1]", "int[] d=[0, 1]"),
        ("str mode='mean'", 'str mode="mean"'),
        (r'str s="\t\101\"\001"', r'str s="\tA\"\001"'),
        ("Device d='cuda:1'", "Device d=cuda:1"),
        ("Tensor ( a ! )\n[ ]  x", "Tensor(a!)[] x"),
        ("DeviceIndex i", "int i"),
        ("int?? i", "int? i"),
        ("Tensor(b|a -> *) x", "Tensor(b|a -> *) x"),
        ("int x, *, int y, *, int z", "int x, *, int y, int z"),
        ("int x, *", "int x"),
    ],
)
def test_the_spelling_is_pytorchs(argument, printed):
    text = f"a::f({argument}) -> ()"
    assert str(parse_schema(text)) == f"a::f({printed}) -> ()"
    torch = pytest.importorskip("torch", reason="not run: torch is not installed")
    if "|" not in text:  # PyTorch prints these in the order of a hash table
        assert str(torch._C.parse_schema(text)) == f"a::f({printed}) -> ()"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "expected ident but found 'the end'"),
        ("f", "expected ( but found 'the end'"),
        ("f(int x)^: ()", "expected -> but found ':'"),
        ("f(int x) ->^", "expected ident or None but found 'the end'"),
        ("f(int x,^) -> ()", "expected ident or None but found ')'"),
        ("f(int ^) -> ()", "expected ident but found ')'"),
        ("f(int ^if) -> ()", "expected ident but found 'if'"),
        ("f(int x ^y) -> ()", "expected , or ) but found 'y'"),
        ("f(^Tenser x) -> ()", "unknown type specifier"),
        ("f(Tensor(^) x) -> ()", "expected ident or * but found ')'"),
        ("f(Tensor(a ^x) -> ()", "expected ) but found 'x'"),
        ("f(Tensor?^(a) x) -> ()", "expected ident but found '('"),
        ("f(int[2]^[] x) -> ()", "expected ident but found '['"),
        ("f(int[^1.5] x) -> ()", "1.5 is not a 64-bit int"),
        ("f(int x=^) -> ()", "expected number but found ')'"),
        ("f(int x=^Sum) -> ()", "expected number but found 'Sum'"),
        ("f(int x=^99999999999999999999) -> ()", "is not a 64-bit int"),
        ("f(int x=^" + "9" * 5000 + ") -> ()", "is not a 64-bit int"),
        ("f(float x=^1e999) -> ()", "is not a 64-bit float"),
        ("f(int[] x=^[1.5]) -> ()", "expected only int values in the default of a int[]"),
        ("f(Tensor x=^1) -> ()", "expected None but found '1'"),
        ("f(Tensor[] x=^[]) -> ()", "a Tensor[] cannot have this default value"),
        ("f(str x=^'\\q') -> ()", "unsupported escape \\q"),
        ("f(str x=^'mean) -> ()", "expected number but found \"'\""),
        ("f(int x=1, int ^y) -> ()", "non-default positional argument follows default argument"),
        ("f(...^, int x) -> ()", "expected ) but found ','"),
        ("f(int x) -> () ^y", "expected end but found 'y'"),
        ("a::b^::f() -> ()", "expected ( but found '::'"),
        ("f.^default() -> ()", "default is not a legal overload name"),
    ],
)
def test_a_bad_schema_is_refused_with_the_place(text, message):
    """`^` is no part of the text: it stands where the error must point."""
    place = text.find("^")
    text = text.replace("^", "")
    with pytest.raises(RuntimeError) as caught:
        parse_schema(text)
    assert message in str(caught.value)
    if place >= 0:
        assert str(caught.value).splitlines()[-1].index("~") == place
    torch = pytest.importorskip("torch", reason="not run: torch is not installed")
    if "[1.5] x)" not in text:  # PyTorch cuts the size 1.5 to 1
        with pytest.raises((RuntimeError, ValueError, IndexError)):  # the last two come from std::stoll
            torch._C.parse_schema(text)


names = st.text("abT_", min_size=1, max_size=4)  # makes no keyword
ints = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
floats = floats.map(lambda x: x or 0.0)  # -0.0 is printed as `0.`
texts = st.text(st.characters(max_codepoint=127, exclude_characters="\r"), max_size=6)  # PyTorch reads no "\\r"
values = {"int": ints, "SymInt": ints, "ScalarType": ints, "float": floats, "bool": st.booleans()}
values |= {"str": texts, "Scalar": ints | floats | st.booleans()}
bases = st.sampled_from(["Tensor", *values, "Device", "complex", "Generator", "t"])
none = st.none()


def alias_infos(max_size):
    sets = st.just(("*",)) | st.lists(names, min_size=1, max_size=max_size, unique=True).map(tuple)
    return st.builds(lambda b, w, a: AliasInfo(b, w, a or b), sets, st.booleans(), none | sets)


def lists(elements, sizes=none, alias=none):
    return st.builds(lambda e, n, a: Type("List", (e,), n, a), elements, sizes, alias)


def optionals(elements):
    return elements.map(lambda e: e if e.name == "Optional" else Type("Optional", (e,)))


def containers(elements, alias):
    """The types over `elements` that may stand anywhere; only a whole type may be a list with a size."""
    keys = st.sampled_from([Type("int"), Type("str")])
    dicts = st.builds(lambda k, v, a: Type("Dict", (k, v), None, a), keys, elements, alias)
    tuples = st.lists(elements, min_size=1, max_size=3).map(lambda e: Type("Tuple", tuple(e)))
    return lists(elements, alias=alias) | optionals(elements) | dicts | tuples


def whole_types(elements, alias=none):
    sized = lists(elements, none | st.integers(0, 4), alias)
    return elements | sized | optionals(sized)


any_alias = none | alias_infos(3)
any_leaf = st.builds(lambda n, a: Type(n, (), None, a), bases, any_alias)
any_types = whole_types(st.recursive(any_leaf, lambda t: containers(t, any_alias), max_leaves=4), any_alias)
# Deep in a type PyTorch prints no annotations, and int for SymInt and ScalarType; it orders the names of an alias
# set by its hash table.
shallow = st.builds(lambda n, a: Type(n, (), None, a), bases, none | alias_infos(1))
deep_bases = bases.filter(lambda n: n not in ("SymInt", "ScalarType")).map(Type)
deep = st.recursive(deep_bases, lambda t: containers(t, none), max_leaves=4)
pytorch_types = whole_types(shallow) | optionals(shallow) | whole_types(deep)


def defaults(type_):
    """The strategy for the default values of a type, or None if it can have none."""
    if type_.name in ("Tensor", "Generator", "Optional"):
        return none
    if type_.name != "List":
        return values.get(type_.name)
    element = type_.args[0].name
    if element not in values or element in ("str", "Scalar"):
        return None
    low, high = (0, 4) if type_.size is None else (type_.size, type_.size)
    found = st.lists(values[element], min_size=low, max_size=high).map(tuple)
    # `int[] x=[1, 1]` is printed as `int[] x=1`, by PyTorch too, and that does not parse.
    return found.map(lambda v: v[:1] if type_.size is None and len(set(v)) == 1 else v)


@st.composite
def schemas(draw, types):
    arguments, seen_default, keywords = [], False, draw(st.integers(0, 3))
    for i, type_ in enumerate(draw(st.lists(types, max_size=5))):
        kwarg_only, default = i >= keywords, defaults(type_)
        if default is not None and draw(st.booleans()):
            seen_default = True
            arguments.append(Argument(draw(names), type_, True, draw(default), kwarg_only))
        elif kwarg_only or not seen_default or type_.name == "List":
            arguments.append(Argument(draw(names), type_, kwarg_only=kwarg_only))
    returns = draw(st.lists(st.builds(Return, types, names | st.just("")), max_size=3))
    name = draw(st.sampled_from(["", "aten::", "prims::"])) + draw(names)
    overload = draw(names.filter(lambda n: not n.startswith("__")) | st.just(""))
    is_vararg = not seen_default and draw(st.booleans())
    return FunctionSchema(name, overload, tuple(arguments), tuple(returns), is_vararg, draw(st.booleans()))


@given(schemas(any_types))
def test_print_then_parse_gives_the_tree_back(schema):
    assert repr(parse_schema(str(schema))) == repr(schema)  # repr, since 1 == 1.0 == True


@given(schemas(pytorch_types))
def test_pytorch_prints_a_random_schema_alike(schema):
    torch = pytest.importorskip("torch", reason="not run: torch is not installed")
    assert str(torch._C.parse_schema(str(schema))) == str(schema)


@given(schemas(any_types).map(str), st.integers(0), st.sampled_from([*"()[]?!|*,.:=->\"'\\ 1ae%é", "..."]))
def test_a_damaged_schema_gives_a_tree_or_a_runtime_error(text, place, damage):
    place %= len(text)
    try:
        str(parse_schema(text[:place] + damage + text[place + 1 :]))
    except RuntimeError as error:
        assert "<--- HERE" in str(error)
