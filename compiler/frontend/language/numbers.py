"""Terms about numbers: operators, built-in functions, the modules math, cmath and operator, and bits of integers."""

from __future__ import annotations

from gridjit.compiler.frontend.language.terms import NEITHER, Chapter, Term

_FLOATS, _WORDS = "f32 f64", "i32 u32 i64 u64"
_ALL = "i8 i16 i32 i64 u8 u16 u32 u64"

OPERATORS = Chapter(
    "Operators",
    "Operators have Python's meaning and numba's types: two int32 give an int64, a float32 with an integer a "
    "float64, and so does one with a float64. An integer that is assigned to an item of fewer bits loses its upper "
    "bits.",
    (
        Term("+ - *", "numbers", "sum, difference, product", "f64[t] = f64[t] + 2 * f64[t] - i32[t]", syntax=True),
        Term(
            "/",
            "numbers; float",
            "quotient; 0 as the divisor is an error in debug kernels",
            "f64[t] = i32[t] / 3",
            syntax=True,
        ),
        Term(
            "// %",
            "numbers",
            "quotient that is rounded down, and its remainder",
            "i64[t] = i64[t] // 3 + i64[t] % 3",
            syntax=True,
        ),
        Term(
            "**",
            "numbers",
            "power; a small constant power of a float becomes products",
            "f64[t] = f64[t] ** 2",
            syntax=True,
        ),
        Term(
            "& | ^ ~ << >>",
            "integers; bool",
            "operations on bits",
            "i32[t] = (i32[t] & 6 | 1) ^ ~(i32[t] << 2 >> 1)",
            syntax=True,
        ),
        Term(
            "== != < <= > >=",
            "numbers, tuples; bool",
            "comparisons, chains of them too",
            "b1[t] = 0 < f64[t] <= 1",
            syntax=True,
        ),
        Term(
            "and or not",
            "anything; the operand",
            "without the second operand if the first decides",
            "b1[t] = not b1[t] or t > 3",
            syntax=True,
        ),
        Term(
            "x if c else y",
            "values of one type",
            "the value of one branch",
            "f64[t] = 1.0 if b1[t] else 0.0",
            syntax=True,
        ),
        Term("is, is not", "None, types, bools", "identity", "b1[t] = None is None", syntax=True),
        Term("in, not in", "tuples, ranges", "membership", "b1[t] = i64[t] in (1, 2, 3)", syntax=True),
        Term("@", "matrices", "the product of matrices", "product = m @ m", targets=NEITHER, syntax=True),
        Term(
            "+= -= *= /= //= %= **= &= |= ^= <<= >>=", "numbers", "assignment of the result", "f64[t] += 1", syntax=True
        ),
        Term(
            "x[i] x[i, j]",
            "arrays, tuples",
            "an item; negative indices count from the end",
            "m[t % 8, -1] = f64[-1]",
            syntax=True,
        ),
        Term("x[i:j:k] x[..., None]", "arrays, tuples", "a view", "f64[2:8:2][0] = m[1, ...][0]", syntax=True),
        Term(
            "x[a, b] = y",
            "arrays",
            "items of a slice; arrays as `y` are copied item by item",
            "m[t % 8, :] = 0.0",
            syntax=True,
        ),
        Term(
            "operator.{add,sub,mul,truediv,floordiv,mod,pow} {eq,ne,lt,le,gt,ge}",
            "as the operators",
            "the operators as functions",
            "f64[t] = {}(f64[t], 0.5)",
        ),
        Term(
            "operator.{and_,or_,xor,lshift,rshift}",
            "as the operators",
            "the operators as functions",
            "i64[t] = {}(i64[t], 1)",
        ),
        Term("operator.{neg,pos,not_}", "as the operators", "the operators as functions", "f64[t] = {}(f64[t])"),
        Term("operator.truth", "bool", "the bool", "b1[t] = operator.truth(b1[t])"),
        Term("operator.invert", "integers", "the operator `~` as a function", "i64[t] = {}(i64[t])"),
        Term(
            "operator.{iadd,isub,imul,itruediv,ifloordiv,imod,ipow}",
            "as the operators",
            "the result of the operator; numbers do not change",
            "f64[t] = {}(f64[t], 0.5)",
        ),
        Term(
            "operator.{iand,ior,ixor,ilshift,irshift}",
            "as the operators",
            "the result of the operator; numbers do not change",
            "i64[t] = {}(i64[t], 1)",
        ),
        Term("operator.abs", "", "use `abs`", "f64[t] = {}(f64[t])", targets=NEITHER),
        Term("operator.matmul", "matrices", "", "{}(m, m)", targets=NEITHER),
        Term("operator.delitem", "arrays", "", "{}(f64, 0)", targets=NEITHER, syntax=True),
        Term("operator.getitem", "arrays, tuples", "an item", "f64[t] = operator.getitem(f64, 0)"),
        Term("operator.setitem", "arrays", "assignment of an item", "operator.setitem(f64, 0, 1.0)"),
        Term("operator.contains", "tuples, ranges", "membership", "b1[t] = operator.contains((1, 2), t)"),
        Term("operator.is_ is_not", "None, types, bools", "identity", "b1[t] = {}(None, None)"),
    ),
)

BUILTINS = Chapter(
    "Built-in functions",
    "Functions of Python that need no import.",
    (
        Term("builtins.abs", "", "absolute value", "{x}[t] = abs({x}[t])", "i32 i64 f32 f64 c128"),
        Term("builtins.int float bool", "a number", "the number as another type", "i64[t] = {last}(f64[t])"),
        Term("builtins.complex", "one or two numbers", "a complex number", "c128[t] = complex(f64[t], 1.0)"),
        Term("builtins.min max", "numbers, a tuple", "the smallest, the largest", "f64[t] = {last}(f64[t], 0.5, t)"),
        Term("builtins.pow", "numbers", "power", "f64[t] = pow(f64[t], 3)"),
        Term("builtins.divmod", "numbers", "quotient and remainder", "q, r = divmod(i64[t], 3)"),
        Term("builtins.round", "floats", "rounded, halves to even", "f64[t] = round(f64[t]) + round(f64[t], 2)"),
        Term("builtins.range", "integers", "numbers to loop over", "for k in range(0, 8, 2): f64[t] += k"),
        Term("builtins.len", "arrays, tuples", "items of the first axis", "i64[t] = len(f64) + len((1, 2))"),
        Term(
            "builtins.enumerate",
            "arrays, tuples",
            "positions and items",
            "for k, x in enumerate((1, 2)): i64[t] += k * x",
        ),
        Term("builtins.zip", "arrays, tuples", "tuples of items", "for x, y in zip(f32, f64): f64[t] += x * y"),
        Term("builtins.iter next", "arrays, tuples", "an iterator, and its next item", "f64[t] = next(iter(f64))"),
        Term("builtins.sum", "tuples", "the sum of items", "f64[t] = sum((1.0, f64[t]))"),
        Term("builtins.tuple", "tuples", "a tuple", "pair = tuple((1, 2))"),
        Term("builtins.slice", "integers", "a slice", "f64[slice(0, 2)][0] = 1.0"),
        Term("builtins.type", "values", "the value's type, to convert with", "f64[t] = type(f64[t])(1)"),
        Term(
            "builtins.isinstance",
            "values, types",
            "whether a value has a type, as a constant",
            "b1[t] = isinstance(t, int)",
        ),
        Term("builtins.hasattr", "a constant name", "whether there is an attribute", 'b1[t] = hasattr(f64, "size")'),
        Term("builtins.ord", "a text of one character", "its code", 'i64[t] = ord("a")'),
        Term("builtins.print", "", "see [Printing and errors](#printing-and-errors)", "print(t, f64[t])"),
        Term("builtins.breakpoint", "", "stop in a debugger", "breakpoint()", targets=("cuda",)),
        Term(
            "builtins.map filter", "functions, arrays", "", "for x in {last}(square, f64): f64[t] = x", targets=NEITHER
        ),
        Term("builtins.sorted reversed", "arrays", "", "for x in {last}(f64): f64[t] = x", targets=NEITHER),
        Term("builtins.input open eval exec compile", "texts", "", '{last}("x")', targets=NEITHER),
        Term("builtins.getattr setattr", "a constant name", "", '{last}(f64, "size", 1)', targets=NEITHER),
        Term("builtins.hash id callable any all list dict set", "values", "", "{last}(f64)", targets=NEITHER),
        Term("builtins.repr", "values", "", "i64[t] = len(repr(t))", targets=NEITHER),
        Term(
            "builtins.bytes chr str bin hex oct ascii format",
            "",
            "texts cannot be made",
            "{last}(t)",
            targets=NEITHER,
        ),
    ),
)

MATHS = Chapter(
    "math and cmath",
    "float32 gives float32; integers are taken as float64. `fastmath=True` makes some of these faster and less exact. "
    "On a GPU they are libdevice's functions.",
    (
        Term(
            "math.{acos,asin,atan,cosh,sinh,tan,tanh,acosh,asinh,atanh}",
            "integers",
            "trigonometric and hyperbolic functions",
            "{x}[t] = {}({x}[t])",
            _FLOATS,
        ),
        Term("math.{sin,cos}", "integers", "sine, cosine", "{x}[t] = {}({x}[t])", "f16 f32 f64"),
        Term(
            "math.{exp,log,log2,log10,sqrt}",
            "integers",
            "exponential, logarithms, root",
            "{x}[t] = {}({x}[t])",
            "f16 f32 f64",
        ),
        Term("math.exp2", "integers", "2**x; from Python 3.11 on", "{x}[t] = {}({x}[t])", "f16 f32 f64"),
        Term("math.{expm1,log1p}", "integers", "exp(x) - 1, log(1 + x)", "{x}[t] = {}({x}[t])", _FLOATS),
        Term(
            "math.{erf,erfc,gamma,lgamma}",
            "integers",
            "error functions, gamma functions",
            "{x}[t] = {}({x}[t])",
            _FLOATS,
        ),
        Term(
            "math.{ceil,floor,trunc}",
            "int64; float16 for float16",
            "rounding to an integer",
            "i64[t] = {}({x}[t])",
            "f16 f32 f64",
        ),
        Term("math.fabs", "integers", "absolute value", "{x}[t] = {}({x}[t])", "f16 f32 f64"),
        Term("math.{degrees,radians}", "integers", "angles", "{x}[t] = {}({x}[t])", _FLOATS),
        Term(
            "math.{atan2,copysign,fmod,hypot,nextafter,pow,remainder}",
            "",
            "as in Python",
            "{x}[t] = {}({x}[t], {x}[0])",
            _FLOATS,
        ),
        Term("math.{isfinite,isinf,isnan}", "bool", "kinds of floats", "b1[t] = {}({x}[t])", "f32 f64 i64"),
        Term("math.ldexp", "(float, int32)", "`x * 2**n`", "{x}[t] = math.ldexp({x}[t], 2)", _FLOATS),
        Term(
            "math.frexp", "(float, int32)", "fraction and exponent", "fraction, exponent = math.frexp({x}[t])", _FLOATS
        ),
        Term(
            "math.modf", "a pair of floats", "fraction and whole part", "fraction, whole = math.modf({x}[t])", _FLOATS
        ),
        Term("math.{pi,e,tau,inf,nan}", "float64", "constants", "f64[t] = {}"),
        Term("math.{gcd,lcm,comb,perm,isclose,dist}", "", "", "f64[t] = {}(i64[t], 2)", targets=NEITHER),
        Term("math.{factorial,isqrt,fsum,prod,ulp}", "", "", "f64[t] = {}(i64[t])", targets=NEITHER),
        Term("cmath.{acos,asin,atan,acosh,asinh,atanh}", "", "as in Python", "{x}[t] = {}({x}[t])", "c64 c128"),
        Term(
            "cmath.{cos,sin,tan,cosh,sinh,tanh,exp,log,log10,sqrt}",
            "",
            "as in Python",
            "{x}[t] = {}({x}[t])",
            "c64 c128",
        ),
        Term("cmath.{isfinite,isinf,isnan}", "bool", "kinds of numbers", "b1[t] = {}({x}[t])", "c64 c128"),
        Term("cmath.phase", "float", "the angle", "f64[t] = cmath.phase({x}[t])", "c64 c128"),
        Term("cmath.polar", "two floats", "length and angle", "length, angle = cmath.polar({x}[t])", "c64 c128"),
        Term("cmath.rect", "complex", "a number of a length and an angle", "c128[t] = cmath.rect(f64[t], 0.5)"),
        Term("complex.real imag", "float", "the parts of a complex number", "f64[t] = c128[t].{last}"),
        Term("complex.conjugate", "complex", "the conjugate", "c128[t] = c128[t].conjugate()"),
    ),
)

BITS = Chapter(
    "Bits, fused operations and selection",
    "Each is one instruction of a GPU or a few.",
    (
        Term("cuda.popc", "the argument's", "the number of bits that are 1", "{x}[t] = cuda.popc({x}[t])", _ALL),
        Term("cuda.clz", "the argument's", "the number of leading zeros", "{x}[t] = cuda.clz({x}[t])", _ALL),
        Term(
            "cuda.ffs",
            "uint32",
            "the position of the lowest 1, from 1; 0 if there is none",
            "u32[t] = cuda.ffs({x}[t])",
            _WORDS,
        ),
        Term("cuda.brev", "the argument's", "the bits in reverse order", "{x}[t] = cuda.brev({x}[t])", "u32 u64"),
        Term(
            "cuda.fma",
            "the arguments'",
            "`a * b + c`, rounded once",
            "{x}[t] = cuda.fma({x}[t], {x}[0], {x}[1])",
            _FLOATS,
        ),
        Term("cuda.cbrt", "the argument's", "the cube root", "{x}[t] = cuda.cbrt({x}[t])", _FLOATS),
        Term(
            "cuda.selp",
            "`(bool, a, b)`; a's and b's type",
            "`a` if the first is true, else `b`; both are computed",
            "{x}[t] = cuda.selp(t > 3, {x}[t], {x}[0])",
            "i16 u16 i32 u32 i64 u64 f32 f64",
        ),
        Term(
            "int.bit_count",
            "integer",
            "the number of bits that are 1 in the absolute value",
            "i64[t] = {x}[t].bit_count()",
            _WORDS,
        ),
    ),
)

CHAPTERS = (OPERATORS, BUILTINS, MATHS, BITS)
