"""Texts of other libraries' values: NumPy's, numba's, and those of Python's dataclasses, typing, logging and locks.

A class is known by where it is defined, so that nothing is imported. text makes the text of a value inside another.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from gridjit.compiler.key.source.code import digest_fields
from gridjit.compiler.key.source.files import file_digest
from gridjit.compiler.key.source.libraries import is_library
from gridjit.compiler.key.source.objects import state_of
from gridjit.compiler.key.source.opaque import OpaqueValue, article, type_name, unseen

Text = Callable[[object], str]


def foreign_text(value: object, text: Text) -> str | None:
    """Return the text of a value if its class, or a base of it, is known here; raises OpaqueValue."""
    for cls in type(value).__mro__:
        name = (cls.__module__, cls.__name__)
        if (describe := DESCRIBED.get(name)) is not None:
            words = describe(value, text)
            return (
                words if name in _TOLD_WHOLE or is_library(type(value).__module__) else f"{words}{_more(value, text)}"
            )
    return None


def _more(value: object, text: Text) -> str:
    """Return what a class of another than the library, and its object, add to what the library's class has."""
    from gridjit.compiler.key.installed import owner_of  # few kernels refer to such values

    owner = owner_of(type(value))
    of = text(type(value)) if owner is None else f"{type_name(type(value))} of {owner.identity}"
    return f" of {of} {text({name: held for name, held in state_of(value).items() if name not in _LOGGERS})}"


def _items_text(values: Iterable[object], text: Text) -> str:
    return "".join(f"{text(value)}, " for value in values)


def _numba_type_text(value: Any, text: Text) -> str:
    if (dispatcher := getattr(value, "dispatcher", None)) is not None:
        return f"type of {text(dispatcher)}"
    words = f"numba type {type_name(type(value))} {_stable_repr(value)}"
    if (cls := getattr(value, "instance_class", None)) is not None:
        words = f"{words} of {text(cls)}"
    if is_library(type(value).__module__):
        return words
    # A type of the user's own: its name may not say all that its class keeps in it.
    state = {name: item for name, item in vars(value).items() if name not in ("_code", "name")}
    return f"{words} of {text(type(value))} {text(state)}"


def _stable_repr(value: object) -> str:
    words = repr(value)
    if " at 0x" in words:
        raise OpaqueValue(f"is {article(value)} object known only by its address")
    return words


def _extern_text(value: Any, text: Text) -> str:
    """Describe what cuda.declare_device made. numba-cuda's context holds its calling convention and linked files."""
    context = getattr(getattr(sys.modules.get("numba.cuda.descriptor"), "cuda_target", None), "_targetctx", None)
    found = getattr(context, "_defns", {}).get(value)
    if found is None:
        raise OpaqueValue(f"is the external function {value.name!r}, which numba-cuda does not know")
    (_, implementation), *_ = found.versions
    (descriptor,) = implementation.__defaults__
    abi = type_name(type(descriptor.call_conv))
    links = (_link_text(file, text) for library in implementation.libs for file in library._linking_files)
    cooperative = any(library.use_cooperative for library in implementation.libs)
    return f"external function {value.name} {text(value.sig)} {abi} {cooperative} {', '.join(sorted(links))}"


def _link_text(file: Any, text: Text) -> str:
    return f"{file} {file_digest(file)}" if isinstance(file, str) else text(file)


def _linkable_text(value: Any, text: Text) -> str:
    data = value.data
    data = data.encode() if isinstance(data, str) else bytes(data)
    callbacks = (getattr(value, "setup_callback", None), getattr(value, "teardown_callback", None))
    return f"{type_name(type(value))} {value.name} {digest_fields([data])} {_items_text(callbacks, text)}"


def _field_text(value: Any, text: Text) -> str:
    """Describe a field of a dataclass."""
    parts = (value.name, value.type, value.default, value.default_factory, value.metadata, value._field_type)
    flags = (value.init, value.repr, value.hash, value.compare, getattr(value, "kw_only", None))
    return f"field({_items_text((*parts, *flags), text)})"


def _alias_text(value: Any, text: Text) -> str:
    """Describe a type that is written in annotations: list[int], Literal[3]."""
    noted = getattr(value, "__metadata__", ())  # Annotated[int, 3] has the 3 there
    return f"{type(value).__name__} {text(value.__origin__)}[{_items_text((*value.__args__, *noted), text)}]"


def _signature_text(value: Any, text: Text) -> str:
    """Describe a signature: its types, which may say less of themselves than they hold, and the function's own."""
    parameters = getattr(value.pysig, "parameters", {}).values()
    defaults = (part for one in parameters if one.default is not one.empty for part in (one.name, one.default))
    parts = (value.return_type, *value.args, value.recvr)
    return f"signature {_stable_repr(value)} {value.pysig is None} {_items_text((*parts, *defaults), text)}"


def _logger_text(value: Any, text: Text) -> str:
    """Describe a logger: by its name, because code does not depend on what is logged, and what a program set on it."""
    held = {name: item for name, item in vars(value).items() if name not in _LOGGERS}
    return f"logger {value.name} {text(held)}" if held else f"logger {value.name}"


def _dtype_text(value: Any, text: Text) -> str:
    """Return what NumPy writes for a dtype, and what it leaves out."""
    return f"{value!r} {left}".rstrip() if (left := _left_out(value, text)) else repr(value)


def _left_out(dtype: Any, text: Text) -> str:
    """Return a dtype's metadata, which of two equal kinds of integers it is, and all that of its fields."""
    parts = [] if dtype.metadata is None else [f"metadata {text(dtype.metadata)}"]
    parts += ["long long"] if dtype.char in "qQ" else []  # as large as a long, and equal to it
    parts += ["aligned"] if dtype.isalignedstruct else []
    for name in dtype.names or ():
        parts.append(f"{name!r}: ({_left_out(dtype.fields[name][0].base, text)})")
    return ", ".join(parts)


def _numpy_scalar_text(value: Any, text: Text) -> str:
    """Return the text of a NumPy scalar: its type, what people read, and its bytes."""
    if value.dtype.hasobject:
        raise unseen(value)
    return f"numpy {_dtype_text(value.dtype, text)} {value} 0x{value.tobytes().hex()}"


# Digests of arrays that nobody can write to, by identity.
_frozen_arrays: dict[int, tuple[weakref.ref[Any], tuple[object, ...], str]] = {}


def _array_text(value: Any, text: Text) -> str:
    """Return the text of an array: element type, shape, layout, access and a digest of its content as it is now."""
    known = type(value).__name__ in ("ndarray", "memmap", "recarray") and is_library(type(value).__module__)
    if value.dtype.hasobject or not known:
        raise unseen(value)
    flags = value.flags
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    both = order == "C" and flags.f_contiguous
    access = "" if flags.writeable else " readonly"
    layout = f"{'CF' if both else order}{'' if flags.aligned else ' unaligned'}{access}"
    # The stride of an extent of one may be anything, and a kernel may read it. Other strides follow from the layout.
    free = order != "A" and min(value.shape, default=2) < 2
    strides = f" strides {value.strides}" if free else ""
    return (
        f"{type(value).__name__} {_dtype_text(value.dtype, text)} {value.shape} {layout}{strides} {_digest_of(value)}"
    )


def _digest_of(value: Any) -> str:
    known = _frozen_arrays.get(id(value))
    shape = (value.shape, value.strides, value.dtype.str)
    if known is not None and known[0]() is value and known[1] == shape and _is_frozen(value):
        return known[2]
    digest = array_digest(value)
    if _is_frozen(value):
        identity = id(value)
        _frozen_arrays[identity] = (weakref.ref(value, lambda _: _frozen_arrays.pop(identity, None)), shape, digest)
    return digest


def array_digest(value: Any) -> str:
    """Return the digest of an array's bytes as they are now."""
    numpy: Any = sys.modules["numpy"]
    # In the order of memory if that copies nothing; the layout is in the text beside the digest.
    flat = value.view(numpy.ndarray).ravel("F" if value.flags.fnc else "C")
    return digest_fields([memoryview(flat.view("u1")) if flat.nbytes else b""])


def _is_frozen(value: Any) -> bool:
    # Only bytes never change. Anything else that is read-only may be written through an older view.
    while (base := getattr(value, "base", None)) is not None:
        value = base
    return type(value) is bytes


def _ufunc_text(value: Any, _: Text) -> str:
    """Return the name of one of NumPy's own universal functions."""
    numpy: Any = sys.modules["numpy"]
    name = value.__name__
    if getattr(numpy, name, None) is not value:
        raise OpaqueValue(f"is the ufunc {name!r} from outside NumPy, whose code gridjit cannot see")
    return f"ufunc {name}"


# What every logger holds.
_LOGGERS = frozenset(("filters", "name", "level", "parent", "propagate", "handlers", "disabled", "manager", "_cache"))
# The texts of these have what classes of the user's own add.
_TOLD_WHOLE = frozenset((module, "Type") for module in ("numba.core.types.abstract", "numba.cuda.types.abstract"))

DESCRIBED: dict[tuple[str, str], Callable[[Any, Text], str]] = {
    # Code does not depend on who waits for whom.
    ("logging", "Logger"): _logger_text,
    ("_thread", "lock"): lambda _value, _: "lock",
    ("_thread", "RLock"): lambda _value, _: "lock",
    ("_collections", "_tuplegetter"): lambda value, _: f"field {value.__reduce__()[1][0]}",
    ("collections", "_tuplegetter"): lambda value, _: f"field {value.__reduce__()[1][0]}",  # from Python 3.12 on
    ("dataclasses", "Field"): _field_text,
    # There is one of each, or a few that are known by their names.
    ("dataclasses", "_MISSING_TYPE"): lambda _value, _: "missing",
    ("dataclasses", "_HAS_DEFAULT_FACTORY_CLASS"): lambda _value, _: "a default factory's",
    ("dataclasses", "_FIELD_BASE"): lambda value, _: f"dataclasses.{value.name}",
    ("types", "GenericAlias"): _alias_text,
    ("typing", "_GenericAlias"): _alias_text,
    ("typing", "_SpecialForm"): lambda value, _: repr(value),
    ("numpy", "ndarray"): _array_text,
    ("numpy", "generic"): _numpy_scalar_text,
    ("numpy", "dtype"): _dtype_text,
    ("numpy", "ufunc"): _ufunc_text,
    ("numba.core.types.abstract", "Type"): _numba_type_text,
    ("numba.cuda.types.abstract", "Type"): _numba_type_text,
    ("numba.core.typing.templates", "Signature"): _signature_text,
    ("numba.cuda.typing.templates", "Signature"): _signature_text,
    ("numba.cuda.compiler", "ExternFunction"): _extern_text,
    ("numba.cuda.cudadrv.linkable_code", "LinkableCode"): _linkable_text,
}
