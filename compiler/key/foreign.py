"""Texts of other libraries' values: NumPy's, numba's and the standard library's.

A class is known by its module's name, so that nothing is imported. text makes the text of a value inside another. An
object of the standard library's has the text of all that pickle would write to make it again. Nothing is pickled. An
object that pickle refuses, as a file or a generator, cannot be seen.
"""

from __future__ import annotations

import copyreg
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.compiler.source.code import digest_fields
from gridjit.compiler.source.files import file_digest
from gridjit.compiler.source.libraries import in_loaded, is_library, is_librarys
from gridjit.compiler.source.objects import OpaqueValue, article, state_of, type_name, unseen

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
    """Return the text of a subclass from outside the library, and of the attributes of its object."""
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
    """Describe a function of cuda.declare_device; numba-cuda's context holds its convention and linked files."""
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


def _type_variable_text(value: Any, text: Text) -> str:
    """Describe a variable of types, which Python knows by its name alone."""
    bounds = (value.__bound__, *value.__constraints__, value.__covariant__, value.__contravariant__)
    return f"type variable {value.__name__} {_items_text(bounds, text)}"


def _signature_text(value: Any, text: Text) -> str:
    """Describe a signature: its types, which may say less of themselves than they hold, and the function's own."""
    parameters = getattr(value.pysig, "parameters", {}).values()
    defaults = (part for one in parameters if one.default is not one.empty for part in (one.name, one.default))
    parts = (value.return_type, *value.args, value.recvr)
    return f"signature {_stable_repr(value)} {value.pysig is None} {_items_text((*parts, *defaults), text)}"


def _logger_text(value: Any, text: Text) -> str:
    """Describe a logger by its name and the attributes that a program set: code does not depend on its messages."""
    held = {name: item for name, item in vars(value).items() if name not in _LOGGERS}
    return f"logger {value.name} {text(held)}" if held else f"logger {value.name}"


def _dtype_text(value: Any, text: Text) -> str:
    """Return a dtype's repr, and the facts that the repr leaves out."""
    return f"{value!r} {left}".rstrip() if (left := _left_out(value, text)) else repr(value)


def _left_out(dtype: Any, text: Text) -> str:
    """Return a dtype's metadata, which of two equal kinds of integers it is, and the same of each of its fields."""
    parts = [] if dtype.metadata is None else [f"metadata {text(dtype.metadata)}"]
    parts += ["long long"] if dtype.char in "qQ" else []  # as large as a long, and equal to it
    parts += ["aligned"] if dtype.isalignedstruct else []
    for name in dtype.names or ():
        parts.append(f"{name!r}: ({_left_out(dtype.fields[name][0].base, text)})")
    return ", ".join(parts)


def _numpy_scalar_text(value: Any, text: Text) -> str:
    """Return the text of a NumPy scalar: its type, its str and its bytes."""
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


def standard_text(value: object, text: Text) -> str:
    """Return the text of an object of the standard library's; raises OpaqueValue. text: makes the text of a part."""
    cls = type(value)
    if not _is_standard(cls):
        raise unseen(value)
    try:
        reduce = copyreg.dispatch_table.get(cls)
        reduced: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception as error:
        let_through(error)
        raise unseen(value) from error
    if isinstance(reduced, str):
        return f"{text(cls)} {_global(value, reduced)}"
    # An object without state is known by its identity, as dataclasses.MISSING and results of object() are.
    held = any(part is not cls for part in reduced[1]) or any(reduced[2:])
    return f"{text(cls)} {_parts(reduced, text) if held else _global(value, _name_of(value))}"


def _is_standard(cls: type) -> bool:
    """Return whether a class is the standard library's, under its own name: a mock's is made for it, as for proxies."""
    if cls.__module__.partition(".")[0] not in sys.stdlib_module_names or not is_librarys(cls):
        return False
    return in_loaded(cls.__module__, cls.__qualname__) is cls


def _name_of(value: object) -> str:
    names = vars(sys.modules[type(value).__module__]).items()
    return next((name for name, named in names if named is value), "")


def _parts(reduced: tuple[Any, ...], text: Text) -> str:
    """Return the text of a reduced object: its constructor, arguments, state, and the items of a container."""
    make, arguments, state, listed, paired, *more = *reduced, None, None, None
    if not getattr(make, "__module__", None) or any(more):
        raise OpaqueValue("is made again in a way that gridjit does not know")
    return f"by {type_name(make)} {text((arguments, state, [*(listed or ())], [*(paired or ())]))}"


def _global(value: object, name: str) -> str:
    """Return the name of an object of the standard library's own; raises OpaqueValue for others."""
    module = getattr(value, "__module__", None) or type(value).__module__
    if not name or in_loaded(module, name) is not value or module.partition(".")[0] not in sys.stdlib_module_names:
        raise unseen(value)
    return f"{module}.{name}"


# The attributes of every logger.
_LOGGERS = frozenset(("filters", "name", "level", "parent", "propagate", "handlers", "disabled", "manager", "_cache"))
# The texts of these types also hold the attributes of the user's subclasses.
_TOLD_WHOLE = frozenset((module, "Type") for module in ("numba.core.types.abstract", "numba.cuda.types.abstract"))

DESCRIBED: dict[tuple[str, str], Callable[[Any, Text], str]] = {
    # Code does not depend on who waits for whom.
    ("logging", "Logger"): _logger_text,
    ("_thread", "lock"): lambda _value, _: "lock",
    ("_thread", "RLock"): lambda _value, _: "lock",
    ("typing", "TypeVar"): _type_variable_text,
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
