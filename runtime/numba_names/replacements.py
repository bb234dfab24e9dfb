"""Replacements: advice on names of other libraries that gridjit.cuda or its objects lack.

They are attributes of numba-cuda's dispatchers, and functions of other libraries that make arrays.
"""

from __future__ import annotations

from typing import Final, NoReturn

_CONTROL_FLOW: Final = "inspect_sass_cfg() is the control flow of what runs"
_FUNCTIONS: Final = "jit(device=True) makes functions that kernels call as they are"
_OF_KERNELS: Final = {
    "add_overload": "compile(signature, config) or declare(signature): code comes from a compile or the cache",
    "bind": "kernels are loaded when they are launched",
    **dict.fromkeys(("call", "launch"), "kernel[griddim, blockdim](...) launches"),
    "compile_device": _FUNCTIONS,
    "doc": "__doc__ is the text of the function",
    "dump": "explain() and specializations show what is compiled",
    "fold_argument_types": "kernels take their arguments by position, and have no defaults",
    "get_annotation_info": "inspect_types(), or type_annotation of an overload",
    "get_call_template": _FUNCTIONS,
    "get_function_type": _FUNCTIONS,
    "inspect_cfg": _CONTROL_FLOW,
    "inspect_disasm_cfg": _CONTROL_FLOW,
    "inspect_ptx": "inspect_asm(signature) shows the PTX of what is compiled for a GPU",
    "ptx": "inspect_asm(signature) shows the PTX of what is compiled for a GPU",
    "targetctx": "numba.cuda.descriptor.cuda_target has numba-cuda's own",
    "targetdescr": "numba.cuda.descriptor.cuda_target has numba-cuda's own",
    "typingctx": "numba.cuda.descriptor.cuda_target has numba-cuda's own",
}
_LAUNCHED: Final = ("configure", "forall", "specialize", "specialized")
_SHOWN: Final = (
    "inspect_",
    "get_",
    "overloads",
    "nopython_signatures",
    "stats",
    "compile",
    "recompile",
    "disable_comp",
)


# Names by which other libraries make arrays and ask for devices -> gridjit's way.
_ELSEWHERE: Final = {
    **dict.fromkeys(("array", "asarray", "ascontiguousarray"), "to_device(values) copies an array to the device"),
    **dict.fromkeys(("empty", "malloc"), "device_array(shape, dtype) makes an array without values"),
    "empty_like": "device_array_like(array) makes an array without values",
    **dict.fromkeys(
        ("arange", "full", "full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like"),
        "to_device(numpy.{name}(...)) makes such an array",
    ),
    **dict.fromkeys(
        ("sync", "device_synchronize", "deviceSynchronize", "wait"), "synchronize() waits for the work of all streams"
    ),
    **dict.fromkeys(
        ("memcpy", "memcpy_htod", "memcpy_dtoh", "copy_to_device"),
        "to_device(array) and array.copy_to_host() copy between the host and the device",
    ),
    **dict.fromkeys(("device_count", "get_device_count", "get_num_devices"), "gpus has all devices: len(cuda.gpus)"),
    **dict.fromkeys(("set_device", "device"), "select_device(number) chooses a device"),
    **dict.fromkeys(("current_device", "get_device", "get_device_name"), "get_current_device() returns the device"),
    **dict.fromkeys(
        ("mem_get_info", "memory_allocated", "memory_info", "get_memory_info"),
        "current_context().get_memory_info() returns the free and the total bytes",
    ),
    **dict.fromkeys(("DeviceNDArray", "ndarray"), "DeviceArray is the class of arrays on the device"),
    **dict.fromkeys(
        ("asnumpy", "copy_to_host", "to_host"), "to_device(...).copy_to_host() returns the items as a NumPy array"
    ),
}


def of_module(name: str) -> str:
    """Return advice for a name of other libraries that gridjit.cuda does not have; "" if there is none."""
    return f": cuda.{found.format(name=name)}" if (found := _ELSEWHERE.get(name)) else ""


def refuse_of_kernel(name: str) -> NoReturn:
    """Raise the AttributeError for an attribute of numba-cuda's that kernels do not have, with advice."""
    raise AttributeError(f"kernels have no attribute {name!r}: {_OF_KERNELS[name]}")


def refuse_of_function(name: str) -> NoReturn:
    """Raise the AttributeError for an attribute that device functions do not have, with advice."""
    found = _of_function(name)
    raise AttributeError(f"device functions have no attribute {name!r}{f': {found}' if found else ''}")


def _of_function(name: str) -> str | None:
    if name in _LAUNCHED:
        return "they are called in kernels; what is made without device=True is launched"
    if name in _OF_KERNELS or name.startswith((*_SHOWN, "typeof")):
        return "they are compiled in the kernels that call them, so ask these; or gridjit.cuda.compile_ptx"
    return None
