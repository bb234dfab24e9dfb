"""Terms about Python: types of values, statements that compile and statements that do not, printing and errors."""

from __future__ import annotations

from gridjit.compiler.frontend.language.terms import NEITHER, Chapter, Term


def _row(named: str, types: str, meaning: str, example: str) -> Term:
    return Term(named, types, meaning, example, syntax=True)


def _not(named: str, meaning: str, example: str) -> Term:
    return Term(named, "", meaning, example, targets=NEITHER, syntax=True)


VALUES = Chapter(
    "Types of values",
    "Arguments may be of all these types ([arguments](numba-cuda.md#arguments)). A variable has one type in the whole "
    "kernel, except where one assignment never meets another. Numbers of different types become the wider type.",
    (
        _row("integers", "int8 to int64, uint8 to uint64", "literals are int64", "x = 7"),
        _row(
            "floats",
            "float16, float32, float64",
            "literals are float64; `np.float32(0.5)` is not",
            "x = np.float32(0.5)",
        ),
        _row("complex", "complex64, complex128", "literals are complex128", "c128[t] = 1j * c128[t]"),
        _row("bool", "bool", "`True` and `False`", "b1[t] = True"),
        _row("None", "none", "the absence of a value", "x = None"),
        _row("tuple", "tuples of any values", "made, unpacked, indexed by constants, added", "x, y = (1, 2.0)[:2]"),
        _row("namedtuple", "the class, a global", "made, and read by name", "f64[t] = Point(1.0, 2.0).x"),
        _row("record", "items of structured arrays", "read and written by field", "r[t].a = r[t]['b'] + 1"),
        _row(
            "IntEnum",
            "the class, a global",
            "members, which are integers",
            "b1[t] = i64[t] == Colour.red",
        ),
        _row(
            "str",
            "constants",
            "compared, measured, printed; arrays of `<U12` have items of text",
            'i64[t] = len("abc")',
        ),
        _row("datetime64, timedelta64", "items of arrays", "compared and subtracted", "b1[t] = d[0] < d[1]"),
        _row(
            "function",
            "device functions, globals",
            "called; passed as arguments; kept in tuples",
            "f64[t] = square(f64[t])",
        ),
        _row("module", "globals", "constants and functions of it", "f64[t] = math.pi"),
        _row("type", "globals, arguments", "called to convert, given as a dtype", "f64[t] = np.float32(1)"),
        _not("list", "use `cuda.local.array`", "x = [i for i in range(3)]"),
        _not("dict, set", "use arrays", "x = {1: 2}"),
    ),
)

STATEMENTS = Chapter(
    "Statements",
    "A kernel is a function of Python whose types are known when it is compiled.",
    (
        _row("x = y", "", "an assignment, also to several names", "x = y = f64[t]"),
        _row("x: T = y", "", "an annotation means nothing", "x: float = f64[t]"),
        _not("(x := y)", "assign on a line before", "if (x := f64[t]) > 0.5: f64[t] = x"),
        _row("x, y = z", "tuples", "unpacking; the length is known", "x, y = f64[t], f64[0]"),
        _row("if, elif, else", "", "branches; threads of a warp may differ", "if t > 3: f64[t] = 0.0"),
        _row("while, else", "", "a loop", "while i64[t] > 3: i64[t] -= 3"),
        _row("for, else", "ranges, arrays, tuples of one type", "a loop", "for k in range(3): f64[t] += k"),
        Term(
            "cuda.literal_unroll",
            "a tuple of several types",
            "a loop over it, unrolled; imported by its own name",
            "for x in literal_unroll((1, 2.0)): f64[t] += x",
        ),
        _row("break, continue", "", "as in Python", "for k in range(9):\n    if k == t: break"),
        _row("return", "", "ends this thread; a device function returns a value", "if t >= n: return"),
        _row("pass", "", "nothing", "pass"),
        _row(
            "def, lambda",
            "",
            "functions of the kernel, which are inlined",
            "double = lambda x: x * 2\nf64[t] = double(f64[t])",
        ),
        _row(
            "f(x, *args, y=z)",
            "device functions",
            "keyword arguments, defaults, `*` of tuples",
            "f64[t] = square(x=f64[t])",
        ),
        _row(
            "globals, closures",
            "numbers, tuples, arrays, types",
            "constants, which count in the cache's key",
            "f64[t] = TABLE[0]",
        ),
        _row("recursion", "device functions", "with a branch that ends it, and known types", "i64[t] = factorial(3)"),
        _not("import", "import before the kernel", "import math"),
        _not("global, nonlocal", "write to an array", "global TABLE\nTABLE = 1"),
        _not("del x[i]", "", "del f64[0]"),
        _not("with", "", "with square: pass"),
        _not("try, except", "check before, or `raise`", "try: f64[t] = 1\nexcept ValueError: pass"),
        _not("yield", "", "yield 1"),
        _not("class", "", "class A: pass"),
        _row("match", "constants", "comparisons with constants", "match t:\n    case 1: f64[t] = 0.0"),
        _not("match with patterns", "write `if` and `elif`", "match t:\n    case [a, b]: pass"),
        _not("x, *y = z", "", "x, *y = (1, 2, 3)"),
        _not("return x", "a kernel returns nothing", "return f64[t]"),
        _not("f(**x)", "", "square(**{'x': 1})"),
        _not("[... for ...]", "write a loop", "x = [k for k in range(3)]"),
        _not('f"{x}"', "`print` takes several values", 'x = f"{t}"'),
    ),
)

ERRORS = Chapter(
    "Printing and errors",
    "On a GPU, text appears when the device is synchronized. Exceptions and assertions raise in Python, and name the "
    "kernel, the block and the thread: on the host always, on a GPU with `debug=True` ([debugging](debugging.md)).",
    (
        _row("print", "numbers, bools, texts", "one line of values, at most 32", 'print("thread", t, f64[t])'),
        _row(
            "assert",
            "a condition, a constant text",
            "an AssertionError if it does not hold",
            'assert f64[t] >= 0, "negative"',
        ),
        _row("raise", "a class, constants", "an exception", 'if t > 99: raise ValueError("too large")'),
        Term(
            "cuda.KernelRuntimeError CudaSupportError",
            "classes",
            "numba-cuda's exceptions",
            'if t > 99: raise {}("too large")',
        ),
    ),
)

_CODE = (
    "cuda.{compile,compile_all,compile_for_current_device,compile_ptx,compile_ptx_for_current_device,declare_device}"
)
_LINKED = "cuda.{LinkableCode,Archive,CUSource,Cubin,Fatbin,LTOIR,Object,PTXSource}"
_MEMORY = (
    "cuda.{BaseCUDAMemoryManager,GetIpcHandleMixin,HostOnlyCUDAMemoryManager,IpcHandle,MappedMemory,MemoryInfo,MemoryPointer,"
    "PinnedMemory,set_memory_manager,open_ipc_array,defer_cleanup}"
)
_ARRAYS = (
    "cuda.{to_device,device_array,device_array_like,managed_array,mapped_array,mapped_array_like,mapped,pinned,pinned_array,"
    "pinned_array_like,as_cuda_array,from_cuda_array_interface,is_cuda_array,prepare_shape_strides_dtype,DeviceArray,In,Out,InOut}"
)
_DEVICES = (
    "cuda.{gpus,get_current_device,list_devices,select_device,current_context,require_context,close,detect,is_available,"
    "is_supported_version,is_float16_supported,is_bfloat16_supported,is_fp8_supported,cuda_error,profile_start,profile_stop,profiling,runtime,synchronize}"
)
_STREAMS = (
    "cuda.{stream,event,event_elapsed_time,current_stream,default_stream,external_stream,legacy_default_stream,"
    "per_thread_default_stream}"
)


def _outside(named: str, meaning: str, example: str = "{}(f64)") -> Term:
    return Term(named, "", meaning, example, targets=NEITHER)


OUTSIDE = Chapter(
    "Names of gridjit.cuda for programs",
    "These names are for the program around the kernels; a kernel that uses one does not compile. [API](api.md) and "
    "[numba-cuda](numba-cuda.md) describe them.",
    (
        _outside("cuda.{jit,vectorize,guvectorize,reduce,Reduce}", "decorators and reductions"),
        _outside(
            "cuda.random.create_xoroshiro128p_states init_xoroshiro128p_states",
            "[states of random numbers](#random-numbers)",
        ),
        _outside("cuda.launchconfig.current_launch_config", "[launch configurations](sensitivity.md)"),
        _outside(_CODE, "compiles"),
        _outside(_LINKED, "files to link"),
        _outside(_ARRAYS, "arrays"),
        _outside(_DEVICES, "devices, and whether there are any"),
        _outside(_STREAMS, "streams and events"),
        _outside(_MEMORY, "memory managers"),
        _outside(
            "cuda.{void,none,optional,deferred_type,dim3,Dim3,grid_group,GridGroup,ffi,ffi_forced_object}",
            "types in signatures",
        ),
    ),
)

CHAPTERS = (VALUES, STATEMENTS, ERRORS, OUTSIDE)
