"""Terms about arrays and NumPy: types, attributes of arrays, functions of numbers and of arrays, allocations."""

from __future__ import annotations

from gridjit.compiler.frontend.language.terms import NEITHER, Chapter, Term

TYPES = Chapter(
    "NumPy types and constants",
    "A type is called to convert a number, and given as a dtype. numba's types under their short names are the same.",
    (
        Term(
            "np.{int8,int16,int32,int64,uint8,uint16,uint32,uint64}",
            "a number",
            "an integer of this type",
            "i64[t] = {}(f64[t])",
        ),
        Term("np.{float32,float64}", "a number", "a float of this type", "f64[t] = {}(i64[t])"),
        Term("np.{complex64,complex128}", "a number", "a complex number of this type", "c128[t] = {}(f64[t])"),
        Term("np.bool_", "a number", "whether it is not 0", "b1[t] = {}(i64[t])"),
        Term("np.bool", "a number", "the same, in NumPy 2", "b1[t] = {}(i64[t])"),
        Term(
            "cuda.{int8,int16,int32,int64,uint8,uint16,uint32,uint64} {i1,i2,i4,i8,u1,u2,u4,u8}",
            "a number",
            "the same",
            "i64[t] = {}(f64[t])",
        ),
        Term(
            "cuda.{byte,char,uchar,short,ushort,int_,intc,uint,uintc,intp,uintp,long_,ulong,longlong,ulonglong,size_t,ssize_t}",
            "a number",
            "C's integers",
            "i64[t] = {}(f64[t])",
        ),
        Term("cuda.{float32,float64,f4,f8,double}", "a number", "the same", "f64[t] = {}(i64[t])"),
        Term("cuda.{complex64,complex128,c8,c16}", "a number", "the same", "c128[t] = {}(f64[t])"),
        Term("cuda.{boolean,bool_,bool,b1}", "a number", "the same", "b1[t] = {}(i64[t])"),
        Term("np.dtype", "a name", "a dtype, as a constant", 'mine = cuda.local.array(4, np.dtype("int32"))'),
        Term("np.iinfo", "an integer type", "its limits", "i64[t] = np.iinfo(np.int32).max"),
        Term("np.finfo", "a float type", "its limits", "f64[t] = np.finfo(np.float32).eps"),
        Term("np.{pi,e,inf,nan}", "float64", "constants", "f64[t] = {}"),
        Term("np.newaxis", "None", "a new axis of a view", "f64[t] = f64[np.newaxis, :][0, t]"),
        Term(
            "cuda.{int8,int16,int32,int64,uint8,uint16,uint32,uint64,float32,float64}x1 "
            "{char,uchar,short,ushort,int,uint,long,ulong,longlong,ulonglong,float,double}1",
            "numbers",
            "CUDA's vectors of 1",
            "vector = {}(1)",
        ),
        Term(
            "cuda.{int8,int16,int32,int64,uint8,uint16,uint32,uint64,float32,float64}x2 "
            "{char,uchar,short,ushort,int,uint,long,ulong,longlong,ulonglong,float,double}2",
            "numbers",
            "CUDA's vectors of 2",
            "vector = {}(1, 2)",
        ),
        Term(
            "cuda.{int8,int16,int32,int64,uint8,uint16,uint32,uint64,float32,float64}x3 "
            "{char,uchar,short,ushort,int,uint,long,ulong,longlong,ulonglong,float,double}3",
            "numbers",
            "CUDA's vectors of 3",
            "vector = {}(1, 2, 3)",
        ),
        Term(
            "cuda.{int8,int16,int32,int64,uint8,uint16,uint32,uint64,float32,float64}x4 "
            "{char,uchar,short,ushort,int,uint,long,ulong,longlong,ulonglong,float,double}4",
            "numbers",
            "CUDA's vectors of 4",
            "vector = {}(1, 2, 3, 4)",
        ),
    ),
)

ARRAYS = Chapter(
    "Arrays",
    "Arrays are arguments, globals (copied as constants), and the arrays of "
    "[memory](#shared-local-and-constant-memory). Indices and slices are "
    "in [operators](#operators).",
    (
        Term("array.{size,ndim,itemsize,nbytes}", "int64", "as in NumPy", "i64[t] = f64.{last}"),
        Term("array.{shape,strides}", "a tuple of int64", "as in NumPy", "i64[t] = m.{last}[0]"),
        Term("array.dtype", "a type", "the items' type, as a dtype", "mine = cuda.local.array(2, f32.dtype)"),
        Term("array.T", "a view", "the axes in reverse order", "f64[t] = m.T[0, 1]"),
        Term("array.flat", "items", "all items, by one index", "f64[t] = m.flat[t]"),
        Term("array.{real,imag}", "a view", "parts of complex items", "f64[t] = c128.{last}[t]"),
        Term("array.reshape", "a view", "another shape of a contiguous array", "f64[t] = f64.reshape((8, 8))[0, 1]"),
        Term("array.transpose", "a view", "axes in another order", "f64[t] = m.transpose()[0, 1]"),
        Term("array.view", "a view", "the bytes as items of another type", "i64[t] = f64.view(np.int64)[0]"),
        Term("array.{sum,prod,mean,var,std}", "a number", "of all items, by this thread", "f64[t] = f64.{last}()"),
        Term("array.{argmin,argmax}", "int64", "of all items, by this thread", "i64[t] = f64.{last}()"),
        Term("array.{all,any}", "bool", "of all items, by this thread", "b1[t] = b1.{last}()"),
        Term("array.item", "a number", "the item of an array of one item", "f64[t] = f64[:1].item()"),
        Term("array.fill", "", "set all items, by this thread", "cuda.local.array(4, np.float64).fill(0.0)"),
        Term("np.shape", "a tuple", "the shape", "i64[t] = np.shape(m)[0]"),
        Term("np.size", "int64", "the number of items", "i64[t] = np.size(m)"),
        Term("np.asarray", "an array", "the array itself", "f64[t] = np.asarray(f64)[0]"),
        Term(
            "np.ndenumerate",
            "indices and items",
            "a loop over all items",
            "for (i, j), x in np.ndenumerate(m): f64[t] += x",
        ),
        Term("np.ndindex", "indices", "a loop over indices", "for i, j in np.ndindex((2, 3)): i64[t] += i * j"),
        Term("np.nditer", "items", "a loop over items", "for x in np.nditer(f64): f64[t] += x.item()"),
        Term(
            "np.{sum,prod,mean,var,std,average,nansum,nanprod,nanmean,nanvar,nanstd}",
            "a number",
            "of all items",
            "f64[t] = {}(f64)",
        ),
        Term("np.{argmin,argmax,count_nonzero}", "int64", "of all items", "i64[t] = {}(f64)"),
        Term("np.{all,any}", "bool", "of all items", "b1[t] = {}(b1)"),
        Term("np.searchsorted", "int64", "a place in a sorted array", "i64[t] = np.searchsorted(f64, 0.5)"),
        Term("np.trace", "a number", "the sum of the diagonal", "f64[t] = np.trace(m)"),
    ),
)

_UNARY, _BINARY = "{x}[t] = {}({x}[t])", "{x}[t] = {}({x}[t], {x}[0])"
_TRIGONOMETRIC = "np.{sin,cos,tan,arcsin,arccos,arctan,sinh,cosh,tanh,arcsinh,arccosh,arctanh}"

FUNCTIONS = Chapter(
    "NumPy functions of numbers",
    "With arrays and a last argument for the result, as in `np.sin(x, out)`, one thread computes all items. Names that "
    "NumPy 2 added for the same functions (`np.acos`) may be used too.",
    (
        Term(_TRIGONOMETRIC, "also integers", "as in NumPy", _UNARY, "f32 f64 c64 c128"),
        Term("np.{log,log2,log10}", "also integers", "logarithms", _UNARY, "f32 f64 c64 c128"),
        Term("np.{deg2rad,rad2deg,degrees,radians}", "also integers", "angles", _UNARY, "f32 f64"),
        Term("np.{arctan2,hypot}", "also integers", "as in NumPy", _BINARY, "f32 f64"),
        Term("np.{conjugate,conj}", "", "the conjugate", _UNARY, "i64 f64 c128"),
        Term(
            "np.{maximum,minimum,fmax,fmin}",
            "",
            "larger, smaller; `f...`: the other of a NaN",
            _BINARY,
            "i64 f32 f64 c128",
        ),
        Term(
            "np.{divide,true_divide}", "float, complex", "the quotient", "{x}[t] = {}({x}[t], {x}[0])", "f32 f64 c128"
        ),
        Term(
            "np.{bitwise_and,bitwise_or,bitwise_xor,left_shift,right_shift}",
            "",
            "the operators as functions",
            _BINARY,
            "i32 i64 u64",
        ),
        Term("np.{invert,bitwise_not}", "", "the operator `~` as a function", _UNARY, "i32 i64 u64"),
        Term(
            "np.{equal,not_equal,less,less_equal,greater,greater_equal}",
            "bool",
            "the operators as functions",
            "b1[t] = {}({x}[t], {x}[0])",
            "i64 f64",
        ),
        Term(
            "np.{logical_and,logical_or,logical_xor}", "bool", "as in NumPy", "b1[t] = {}({x}[t], {x}[0])", "i64 f64 b1"
        ),
        Term("np.logical_not", "bool", "as in NumPy", "b1[t] = {}({x}[t])", "i64 f64 b1"),
        Term("np.isnan", "bool", "whether it is NaN", "b1[t] = {}({x}[t])", "i64 f32 f64 c128"),
        Term("np.{real,imag,angle}", "", "parts of a complex number", "f64[t] = {}(c128[t])"),
        Term("np.{around,round}", "", "rounded, halves to even", "f64[t] = {}(f64[t])"),
        Term("np.sinc", "", "sin(pi x) / (pi x)", "f64[t] = {}(f64[t])"),
        Term("np.{isscalar,iscomplexobj,isrealobj}", "bool", "kinds of types, as constants", "b1[t] = {}(f64[t])"),
        Term(
            "np.{exp,exp2,expm1,log1p,sqrt,cbrt,fabs,ceil,floor,trunc,rint,spacing,modf,frexp,absolute,negative,positive,square,"
            "reciprocal,sign,signbit,isfinite,isinf}",
            "",
            "use [`math`](#math-and-cmath) or operators",
            "{}(f64[t])",
            targets=NEITHER,
            allocates=True,
        ),
        Term(
            "np.{add,subtract,multiply,floor_divide,remainder,mod,fmod,divmod,power,float_power,copysign,nextafter,ldexp,"
            "logaddexp,logaddexp2,heaviside,gcd,lcm}",
            "",
            "use [`math`](#math-and-cmath) or operators",
            "{}(i64[t], i64[0])",
            targets=NEITHER,
            allocates=True,
        ),
        Term("np.isnat", "bool", "whether a date is NaT", "b1[t] = {}(d[t])"),
        Term("np.{isposinf,isneginf,nan_to_num}", "", "", "{}(f64[t])", targets=NEITHER, allocates=True),
        Term("np.isclose", "", "", "{}(f64[t], 0.5)", targets=NEITHER, allocates=True),
        Term(
            "np.clip",
            "",
            "of numbers; write `min(max(x, low), high)`",
            "{}(f64[t], 0.0, 1.0)",
            targets=NEITHER,
            allocates=True,
        ),
    ),
)

_OF_PARTS = "f64[t] = {}((f64, f64)).size"

ALLOCATIONS = Chapter(
    "Allocations",
    "With `NUMBA_CUDA_ENABLE_NRT=1`, kernels allocate: each thread for itself, which is slow on a GPU. These rows need "
    "it; without it, they do not compile. One thread computes the whole result.",
    (
        Term(
            "np.{zeros,empty,ones,arange,eye,identity,tri}",
            "an array",
            "a new array",
            "f64[t] = {}(4).size",
            allocates=True,
        ),
        Term(
            "x[mask]",
            "an array of bool",
            "the items where it is true",
            "f64[t] = f64[b1][0]",
            allocates=True,
            syntax=True,
        ),
        Term(
            "x[indices]", "an array of integers", "these items", "f64[t] = f64[i64[:8]][0]", allocates=True, syntax=True
        ),
        Term("x > y", "arrays", "comparisons, item by item", "b1[t] = (f64 > 0.5)[0]", allocates=True, syntax=True),
        Term("np.full", "an array", "a new array", "f64[t] = np.full(4, 1.0)[0]", allocates=True),
        Term(
            "np.{zeros_like,empty_like,ones_like}",
            "an array",
            "a new array of the same shape",
            "f64[t] = {}(f64)[0]",
            allocates=True,
        ),
        Term("np.full_like", "an array", "a new array of the same shape", "f64[t] = {}(f64, 1.0)[0]", allocates=True),
        Term("np.linspace", "an array", "equal steps", "f64[t] = {}(0.0, 1.0, 4)[0]", allocates=True),
        Term("np.{array}", "an array", "of a list or a tuple", "f64[t] = np.array([1.0, 2.0])[0]", allocates=True),
        Term("np.{copy,ascontiguousarray,asfortranarray}", "an array", "a copy", "f64[t] = {}(f64)[0]", allocates=True),
        Term("np.frombuffer", "a view", "bytes as items", "i64[t] = {}(f64, np.int64)[0]", allocates=True),
        Term("np.insert", "an array", "an item added", "f64[t] = {}(f64, 1, 2.0)[0]", allocates=True),
        Term(
            "np.polynomial.polynomial.polyint",
            "an array",
            "the integral's coefficients",
            "f64[t] = {}(f64)[0]",
            allocates=True,
        ),
        Term(
            "np.{append,repeat,roll,delete}",
            "an array",
            "items added, repeated, moved, left out",
            "f64[t] = {}(f64, 1)[0]",
            allocates=True,
        ),
        Term(
            "np.{concatenate,stack,hstack,vstack,dstack,column_stack}",
            "an array",
            "arrays joined",
            _OF_PARTS,
            allocates=True,
        ),
        Term("np.{atleast_1d,atleast_2d,atleast_3d}", "an array", "more axes", "f64[t] = {}(f64).size", allocates=True),
        Term(
            "np.{ravel,transpose,flip,fliplr,flipud}",
            "a view",
            "axes and items in another order",
            "f64[t] = {}(m).size",
            allocates=True,
        ),
        Term("np.reshape", "a view", "another shape", "f64[t] = {}(f64, (8, 8))[0, 1]", allocates=True),
        Term("np.broadcast_to", "a view", "repeated items", "f64[t] = {}(f64, (2, 64))[0, 0]", allocates=True),
        Term("np.expand_dims", "a view", "a new axis", "f64[t] = {}(f64, 0)[0, 0]", allocates=True),
        Term(
            "np.lib.stride_tricks.as_strided",
            "a view",
            "any shape and strides",
            "f64[t] = {}(f64, (4,), (16,))[0]",
            allocates=True,
        ),
        Term(
            "np.{min,max,amin,amax,nanmin,nanmax,ptp,median,nanmedian}",
            "a number",
            "of all items",
            "f64[t] = {}(f64)",
            allocates=True,
        ),
        Term(
            "np.{cumsum,cumprod,nancumsum,nancumprod,diff,ediff1d}",
            "an array",
            "running sums, differences",
            "f64[t] = {}(f64)[0]",
            allocates=True,
        ),
        Term("np.{convolve,correlate}", "an array", "of two arrays", "f64[t] = {}(f64, f64)[0]", allocates=True),
        Term("np.histogram", "arrays", "counts and edges", "i64[t] = {}(f64, 4)[0][0]", allocates=True),
        Term("np.bincount", "an array", "counts of integers", "i64[t] = {}(i64)[0]", allocates=True),
        Term(
            "np.{nonzero,flatnonzero,argwhere}",
            "arrays of int64",
            "indices of items that are not 0",
            "i64[t] = len({}(f64))",
            allocates=True,
        ),
        Term(
            "np.{diag,diagflat}",
            "an array",
            "the diagonal, or a matrix of it",
            "f64[t] = {}(f64[:4])[0, 0]",
            allocates=True,
        ),
        Term("np.{tril_indices}", "arrays of int64", "indices of a triangle", "i64[t] = {}(4)[0][0]", allocates=True),
        Term(
            "np.tril_indices_from", "arrays of int64", "indices of a triangle", "i64[t] = {}(m)[0][0]", allocates=True
        ),
        Term("np.indices", "an array", "indices", "i64[t] = {}((2, 2))[0, 0, 0]", allocates=True),
        Term("np.take", "a number or an array", "items by indices", "f64[t] = {}(f64, 3)", allocates=True),
        Term(
            "np.where", "as the operands", "of a bool and two numbers", "f64[t] = {}(b1[t], 1.0, 0.0)", allocates=True
        ),
        Term("np.{isreal,iscomplex}", "bool", "kinds of numbers", "b1[t] = {}(c128[t])", allocates=True),
        Term("np.array_equal", "bool", "of two arrays", "b1[t] = {}(f64, f64)", allocates=True),
        Term("array.{min,max}", "a number", "of all items", "f64[t] = f64.{last}()", allocates=True),
        Term(
            "array.{copy,flatten,ravel,cumsum,cumprod,conj,conjugate}",
            "an array",
            "as in NumPy",
            "f64[t] = f64.{last}()[0]",
            allocates=True,
        ),
        Term("array.astype", "an array", "items of another type", "f64[t] = f64.astype(np.float32)[0]", allocates=True),
        Term("array.repeat", "an array", "as in NumPy", "f64[t] = f64.repeat(2)[0]", allocates=True),
        Term("array.take", "a number", "as in NumPy", "f64[t] = f64.take(1)", allocates=True),
        Term("array.nonzero", "arrays of int64", "as in NumPy", "i64[t] = f64.nonzero()[0][0]", allocates=True),
        Term("array.clip", "an array", "as in NumPy", "f64[t] = f64.clip(0.0, 1.0)[0]", allocates=True),
    ),
)


def _missing(named: str, example: str) -> Term:
    return Term(named, "", "", example, targets=NEITHER, allocates=True)


MISSING = Chapter(
    "NumPy functions that kernels do not have",
    "These do not compile, with or without allocations. Write a loop, or compute the result before the launch.",
    (
        _missing("np.{sort,argsort,unique,unwrap,vander}", "{}(f64)"),
        _missing("np.trapezoid", "{}(f64)"),
        _missing("np.{tril,triu,triu_indices_from,rot90}", "{}(m)"),
        Term("np.trim_zeros", "", "", "np.trim_zeros(f64)", targets=NEITHER, allocates=True, syntax=True),
        _missing("np.triu_indices", "{}(4)"),
        _missing("np.{nanargmin,nanargmax,roots}", "{}(f64)"),
        _missing("np.polynomial.polynomial.{polyadd,polysub,polymul,polydiv}", "{}(f64, f64)"),
        _missing("np.polynomial.polynomial.polyval", "{}(0.5, f64)"),
        _missing("np.moveaxis", "{}(m, 0, 1)"),
        _missing("np.fill_diagonal", "{}(m, 1.0)"),
        _missing(
            "np.{dot,vdot,kron,outer,corrcoef,cov,union1d,intersect1d,setdiff1d,setxor1d,isin,allclose,broadcast_arrays,digitize}",
            "{}(f64, f64)",
        ),
        _missing("np.cross", "{}(f64[:3], f64[:3])"),
        _missing("np.{swapaxes}", "{}(m, 0, 1)"),
        _missing("np.{split,array_split,partition,argpartition}", "{}(f64, 2)"),
        _missing("np.resize", "{}(f64, (2,))"),
        _missing("np.{hsplit,vsplit}", "{}(m, 2)"),
        _missing("np.dsplit", "{}(f64.reshape((4, 4, 4)), 2)"),
        _missing("np.{percentile,quantile,nanpercentile,nanquantile}", "{}(f64, 0.5)"),
        _missing("np.extract", "{}(b1, f64)"),
        _missing("np.select", "{}((b1,), (f64,))"),
        _missing("np.{logspace,geomspace}", "{}(1.0, 2.0, 4)"),
        _missing("np.interp", "{}(0.5, f64, f64)"),
        _missing("np.take_along_axis", "{}(m, i64.reshape((8, 8)), 0)"),
        _missing("np.{bartlett,blackman,hamming,hanning}", "{}(4)"),
        _missing("np.kaiser", "{}(4, 1.0)"),
        _missing("np.broadcast_shapes", "{}((2,), (1,))"),
        Term("np.lib.stride_tricks.sliding_window_view", "", "", "{}(f64, 3)", targets=NEITHER, allocates=True),
        Term(
            "np.linalg.{cholesky,cond,det,eig,eigh,eigvals,eigvalsh,inv,lstsq,matrix_power,matrix_rank,norm,pinv,qr,slogdet,solve,svd}",
            "",
            "",
            "{}(m)",
            targets=NEITHER,
            allocates=True,
        ),
        Term("np.polynomial.polynomial.Polynomial", "", "", "{}(f64)(1.0)", targets=NEITHER, allocates=True),
        _missing("np.matmul", "{}(m, m)"),
        _missing("np.{tile,pad}", "{}(f64, 2)"),
        _missing("np.asarray_chkfinite", "{}(f64)"),
        _missing("np.gradient", "{}(f64)"),
        Term(
            "np.random.{random,normal,rand}",
            "",
            "use [`cuda.random`](#random-numbers)",
            "{}()",
            targets=NEITHER,
            allocates=True,
        ),
        _missing("array.dot", "f64.{last}(f64)"),
        _missing("array.sort", "f64.sort()"),
    ),
)

CHAPTERS = (TYPES, ARRAYS, FUNCTIONS, ALLOCATIONS, MISSING)
