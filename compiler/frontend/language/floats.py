"""Terms about libdevice, about float16, bfloat16 and floats of 8 bits, and about random numbers."""

from __future__ import annotations

from gridjit.compiler.frontend.language.terms import NEITHER, Chapter, Term

_ROUNDINGS = "{rd,rn,ru,rz}"
_F64, _F32, _I32, _I64 = "f64[t] = {}(f64[t])", "f32[t] = {}(f32[t])", "i32[t] = {}(i32[t])", "i64[t] = {}(i64[t])"

LIBDEVICE = Chapter(
    "libdevice",
    "`cuda.libdevice` has CUDA's mathematical functions under their names without `__nv_`; "
    "[NVIDIA's guide](https://docs.nvidia.com/cuda/libdevice-users-guide/) says what each computes. Names with `_rd`, "
    "`_rn`, `_ru` and `_rz` round down, to nearest, up and towards zero. A function that C calls with a pointer "
    "returns a tuple.",
    (
        Term(
            "cuda.libdevice.{acos,acosh,asin,asinh,atan,atanh,cos,cosh,cospi,sin,sinh,sinpi,tan,tanh}",
            "float64",
            "trigonometric and hyperbolic functions; `cospi(x)` is cos(pi x)",
            _F64,
        ),
        Term(
            "cuda.libdevice.{acosf,acoshf,asinf,asinhf,atanf,atanhf,cosf,coshf,cospif,sinf,sinhf,sinpif,tanf,tanhf}",
            "float32",
            "the same",
            _F32,
        ),
        Term(
            "cuda.libdevice.{exp,exp2,exp10,expm1,log,log2,log10,log1p,logb,sqrt,rsqrt,cbrt,rcbrt}",
            "float64",
            "exponentials, logarithms, roots; `rsqrt` and `rcbrt` are reciprocals",
            _F64,
        ),
        Term(
            "cuda.libdevice.{expf,exp2f,exp10f,expm1f,logf,log2f,log10f,log1pf,logbf,sqrtf,rsqrtf,cbrtf,rcbrtf}",
            "float32",
            "the same",
            _F32,
        ),
        Term(
            "cuda.libdevice.{erf,erfc,erfcinv,erfcx,erfinv,normcdf,normcdfinv,lgamma,tgamma,j0,j1,y0,y1}",
            "float64",
            "error, normal distribution, gamma and Bessel functions",
            _F64,
        ),
        Term(
            "cuda.libdevice.{erff,erfcf,erfcinvf,erfcxf,erfinvf,normcdff,normcdfinvf,lgammaf,tgammaf,j0f,j1f,y0f,y1f}",
            "float32",
            "the same",
            _F32,
        ),
        Term("cuda.libdevice.jn yn", "(int32, float64)", "Bessel functions of an order", "f64[t] = {}(2, f64[t])"),
        Term("cuda.libdevice.jnf ynf", "(int32, float32)", "the same", "f32[t] = {}(2, f32[t])"),
        Term(
            "cuda.libdevice.{ceil,fabs,floor,nearbyint,rint,round,trunc}", "float64", "roundings, absolute value", _F64
        ),
        Term(
            "cuda.libdevice.{ceilf,fabsf,floorf,nearbyintf,rintf,roundf,truncf,saturatef}",
            "float32",
            "the same; `saturatef` clamps to 0 and 1",
            _F32,
        ),
        Term(
            "cuda.libdevice.{atan2,copysign,fdim,fmax,fmin,fmod,hypot,nextafter,pow,remainder}",
            "two float64",
            "as in C",
            "f64[t] = {}(f64[t], f64[0])",
        ),
        Term(
            "cuda.libdevice.{atan2f,copysignf,fdimf,fmaxf,fminf,fmodf,hypotf,nextafterf,powf,remainderf}",
            "two float32",
            "the same",
            "f32[t] = {}(f32[t], f32[0])",
        ),
        Term("cuda.libdevice.{ldexp,powi,scalbn}", "(float64, int32)", "`x * 2**n`, `x**n`", "f64[t] = {}(f64[t], 2)"),
        Term("cuda.libdevice.{ldexpf,powif,scalbnf}", "(float32, int32)", "the same", "f32[t] = {}(f32[t], 2)"),
        Term(
            "cuda.libdevice.{modf,frexp,sincos,sincospi}",
            "float64; a tuple",
            "fraction and whole part, fraction and exponent, sine and cosine",
            "first, second = {}(f64[t])",
        ),
        Term(
            "cuda.libdevice.{modff,frexpf,sincosf,sincospif,fast_sincosf}",
            "float32; a tuple",
            "the same",
            "first, second = {}(f32[t])",
        ),
        Term(
            "cuda.libdevice.remquo",
            "float64; (float64, int32)",
            "remainder and part of the quotient",
            "rest, part = {}(f64[t], f64[0])",
        ),
        Term("cuda.libdevice.remquof", "float32; (float32, int32)", "the same", "rest, part = {}(f32[t], f32[0])"),
        Term(
            "cuda.libdevice.fma fma_" + _ROUNDINGS,
            "three float64",
            "`a * b + c`, rounded once",
            "f64[t] = {}(f64[t], f64[0], f64[1])",
        ),
        Term(
            "cuda.libdevice.fmaf fmaf_" + _ROUNDINGS, "three float32", "the same", "f32[t] = {}(f32[t], f32[0], f32[1])"
        ),
        Term(
            "cuda.libdevice.{dadd,dmul,ddiv}_" + _ROUNDINGS,
            "two float64",
            "arithmetic with a rounding",
            "f64[t] = {}(f64[t], f64[0])",
        ),
        Term(
            "cuda.libdevice.{fadd,fsub,fmul,fdiv}_" + _ROUNDINGS,
            "two float32",
            "the same",
            "f32[t] = {}(f32[t], f32[0])",
        ),
        Term("cuda.libdevice.{drcp,dsqrt}_" + _ROUNDINGS, "float64", "reciprocal and root with a rounding", _F64),
        Term("cuda.libdevice.{frcp,fsqrt}_" + _ROUNDINGS + " frsqrt_rn", "float32", "the same", _F32),
        Term(
            "cuda.libdevice.fast_{cosf,exp10f,expf,log10f,log2f,logf,sinf,tanf}",
            "float32",
            "faster and less exact",
            _F32,
        ),
        Term(
            "cuda.libdevice.fast_{fdividef,powf}", "two float32", "faster and less exact", "f32[t] = {}(f32[t], f32[0])"
        ),
        Term(
            "cuda.libdevice.{finitef,isinff,isnanf,signbitf,ilogbf}",
            "float32; int32",
            "kinds of floats, the sign, the exponent",
            "i32[t] = {}(f32[t])",
        ),
        Term(
            "cuda.libdevice.{isfinited,isinfd,isnand,signbitd,ilogb}",
            "float64; int32",
            "the same",
            "i32[t] = {}(f64[t])",
        ),
        Term("cuda.libdevice.float2{int,uint}_" + _ROUNDINGS, "float32; int32", "conversions", "i32[t] = {}(f32[t])"),
        Term(
            "cuda.libdevice.float2{ll,ull}_" + _ROUNDINGS + " llrintf llroundf",
            "float32; int64",
            "conversions",
            "i64[t] = {}(f32[t])",
        ),
        Term("cuda.libdevice.double2{int,uint}_" + _ROUNDINGS, "float64; int32", "conversions", "i32[t] = {}(f64[t])"),
        Term(
            "cuda.libdevice.double2{ll,ull}_" + _ROUNDINGS + " llrint llround",
            "float64; int64",
            "conversions",
            "i64[t] = {}(f64[t])",
        ),
        Term("cuda.libdevice.double2float_" + _ROUNDINGS, "float64; float32", "conversions", "f32[t] = {}(f64[t])"),
        Term("cuda.libdevice.{int,uint}2float_" + _ROUNDINGS, "int32; float32", "conversions", "f32[t] = {}(i32[t])"),
        Term("cuda.libdevice.{ll,ull}2float_" + _ROUNDINGS, "int64; float32", "conversions", "f32[t] = {}(i64[t])"),
        Term("cuda.libdevice.{int,uint}2double_rn", "int32; float64", "conversions", "f64[t] = {}(i32[t])"),
        Term("cuda.libdevice.{ll,ull}2double_" + _ROUNDINGS, "int64; float64", "conversions", "f64[t] = {}(i64[t])"),
        Term("cuda.libdevice.half2float", "int16; float32", "a float16's bits as a float", "f32[t] = {}(i16[t])"),
        Term("cuda.libdevice.float2half_rn", "float32; int16", "a float as a float16's bits", "i16[t] = {}(f32[t])"),
        Term("cuda.libdevice.float_as_int", "float32; int32", "the bits", "i32[t] = {}(f32[t])"),
        Term("cuda.libdevice.int_as_float", "int32; float32", "the float of these bits", "f32[t] = {}(i32[t])"),
        Term("cuda.libdevice.double_as_longlong", "float64; int64", "the bits", "i64[t] = {}(f64[t])"),
        Term("cuda.libdevice.longlong_as_double", "int64; float64", "the float of these bits", "f64[t] = {}(i64[t])"),
        Term(
            "cuda.libdevice.{double2hiint,double2loint}",
            "float64; int32",
            "the upper and lower half of the bits",
            "i32[t] = {}(f64[t])",
        ),
        Term(
            "cuda.libdevice.hiloint2double",
            "two int32; float64",
            "the float of these halves",
            "f64[t] = {}(i32[t], i32[0])",
        ),
        Term("cuda.libdevice.{abs,brev,clz,ffs,popc}", "int32", "absolute value, and bits", _I32),
        Term("cuda.libdevice.{brevll,llabs}", "int64", "the same", _I64),
        Term("cuda.libdevice.{clzll,ffsll,popcll}", "int64; int32", "the same", "i32[t] = {}(i64[t])"),
        Term(
            "cuda.libdevice.{hadd,rhadd,uhadd,urhadd,max,min,umax,umin,mul24,umul24,mulhi,umulhi}",
            "two int32",
            "average, larger, smaller, product of 24 bits, upper half of the product; `u` for unsigned",
            "i32[t] = {}(i32[t], i32[0])",
        ),
        Term(
            "cuda.libdevice.{llmax,llmin,ullmax,ullmin,mul64hi,umul64hi}",
            "two int64",
            "the same",
            "i64[t] = {}(i64[t], i64[0])",
        ),
        Term(
            "cuda.libdevice.{byte_perm,sad,usad}",
            "three int32",
            "selected bytes; `abs(a - b) + c`",
            "i32[t] = {}(i32[t], i32[0], i32[1])",
        ),
    ),
)

_HALVES = "{int,ll,short,uint,ull,ushort}"
_OF_ONE = (
    "{habs,hneg,hceil,hfloor,hrint,htrunc,hcos,hsin,hexp,hexp2,hexp10,hlog,hlog2,hlog10,hrcp,hsqrt,hrsqrt,htanh,"
    "htanh_approx}"
)
_OF_TWO = "{hadd,hsub,hmul,hdiv,hmax,hmin}"
_COMPARED = "{heq,hne,hlt,hle,hgt,hge}"
_WIDE = "{int16,uint16,int32,uint32,int64,uint64}"

NARROW = Chapter(
    "Floats of 16 and 8 bits",
    "float16 is a type of arrays and arguments; operators, [math functions](#math-and-cmath) and `abs` take it. "
    "bfloat16 and CUDA's floats of 8 bits are types of arrays where `ml_dtypes` is installed.",
    (
        Term("np.float16", "a type", "float16", "f16[t] = np.float16(f64[t]) * f16[t]"),
        Term("cuda.fp16." + _OF_ONE, "float16", "functions of one float16", "f16[t] = {}(f16[t])"),
        Term("cuda.fp16." + _OF_TWO, "two float16", "arithmetic, larger and smaller", "f16[t] = {}(f16[t], f16[0])"),
        Term("cuda.fp16." + _COMPARED, "two float16; bool", "comparisons", "b1[t] = {}(f16[t], f16[0])"),
        Term("cuda.fp16.hfma", "three float16", "`a * b + c`, rounded once", "f16[t] = {}(f16[t], f16[0], f16[1])"),
        Term("cuda.fp16.__{habs,hneg}", "float16", "the same as without `__`", "f16[t] = {}(f16[t])"),
        Term(
            "cuda.fp16.__{hadd,hsub,hmul}{,_rn,_sat} __hdiv __{hmax,hmin}{,_nan}",
            "two float16",
            "`_rn`: without a fused operation; `_sat`: clamped to 0 and 1; `_nan`: NaN if one is NaN",
            "f16[t] = {}(f16[t], f16[0])",
        ),
        Term(
            "cuda.fp16.__hfma{,_relu,_sat}",
            "three float16",
            "`_relu`: 0 if negative",
            "f16[t] = {}(f16[t], f16[0], f16[1])",
        ),
        Term(
            "cuda.fp16.__{heq,hne,hlt,hle,hgt,hge}{,u}",
            "two float16; bool",
            "`u`: true if one is NaN",
            "b1[t] = {}(f16[t], f16[0])",
        ),
        Term("cuda.fp16.__hisinf", "float16; int32", "1 for inf, -1 for -inf, else 0", "i32[t] = {}(f16[t])"),
        Term("cuda.fp16.__hisnan", "float16; bool", "whether it is NaN", "b1[t] = {}(f16[t])"),
        Term(
            "cuda.fp16.__half2" + _HALVES + "_" + _ROUNDINGS + " __half2{char,uchar}_rz",
            "float16; an integer",
            "conversions",
            "i64[t] = {}(f16[t])",
        ),
        Term(
            "cuda.fp16.__" + _HALVES + "2half_" + _ROUNDINGS,
            "an integer; float16",
            "conversions",
            "f16[t] = {}(i64[t])",
        ),
        Term("cuda.fp16.__half2float", "float16; float32", "conversion", "f32[t] = {}(f16[t])"),
        Term(
            "cuda.fp16.__float2half __float2half_" + _ROUNDINGS + " __double2half",
            "a float; float16",
            "conversions",
            "f16[t] = {}(f32[t])",
        ),
        Term("cuda.fp16.__half_as_{short,ushort}", "float16; 16 bits", "the bits", "i16[t] = {}(f16[t])"),
        Term(
            "cuda.fp16.__{short,ushort}_as_half", "16 bits; float16", "the float16 of these bits", "f16[t] = {}(i16[t])"
        ),
        Term("cuda.fp16.__half", "a number", "a float16", "f16[t] = {}(f32[t])"),
        Term(
            "cuda.fp16.atomicAdd",
            "`(pointer, float16)`",
            "for pointers, as cffi gives them; arrays are not",
            "{}(f16, f16[t])",
            targets=NEITHER,
        ),
        Term("cuda.bfloat16 cuda.bf16.bfloat16", "a type", "bfloat16", "f32[t] = np.float32({}(f32[t]))"),
        Term(
            "cuda.bf16." + _OF_ONE,
            "bfloat16",
            "functions of one bfloat16",
            "f32[t] = np.float32({}(cuda.bfloat16(f32[t])))",
        ),
        Term(
            "cuda.bf16." + _OF_TWO + " {hadd,hsub,hmul}_{rn,sat} {hmax,hmin}_nan",
            "two bfloat16",
            "arithmetic, larger and smaller, as for float16",
            "f32[t] = np.float32({}(cuda.bfloat16(f32[t]), cuda.bfloat16(f32[0])))",
        ),
        Term(
            "cuda.bf16." + _COMPARED + " {heq,hne,hlt,hle,hgt,hge}u",
            "two bfloat16; bool",
            "comparisons",
            "b1[t] = {}(cuda.bfloat16(f32[t]), cuda.bfloat16(f32[0]))",
        ),
        Term(
            "cuda.bf16.hfma{,_relu,_sat}",
            "three bfloat16",
            "`a * b + c`, rounded once",
            "f32[t] = np.float32({}(cuda.bfloat16(f32[t]), cuda.bfloat16(f32[0]), cuda.bfloat16(f32[1])))",
        ),
        Term(
            "cuda.bf16.hisinf",
            "bfloat16; int32",
            "1 for inf, -1 for -inf, else 0",
            "i32[t] = {}(cuda.bfloat16(f32[t]))",
        ),
        Term("cuda.bf16.hisnan", "bfloat16; bool", "whether it is NaN", "b1[t] = {}(cuda.bfloat16(f32[t]))"),
        Term(
            "cuda.bf16.float32_to_bfloat16 float32_to_bfloat16_" + _ROUNDINGS + " float64_to_bfloat16",
            "a float; bfloat16",
            "conversions",
            "f32[t] = np.float32({}(f32[t]))",
        ),
        Term("cuda.bf16.bfloat16_to_float32", "bfloat16; float32", "conversion", "f32[t] = {}(cuda.bfloat16(f32[t]))"),
        Term(
            "cuda.bf16.bfloat16_to_" + _WIDE + "_" + _ROUNDINGS + " bfloat16_to_{int8,uint8}_rz",
            "bfloat16; an integer",
            "conversions",
            "i64[t] = {}(cuda.bfloat16(f32[t]))",
        ),
        Term(
            "cuda.bf16." + _WIDE + "_to_bfloat16_" + _ROUNDINGS,
            "an integer; bfloat16",
            "conversions",
            "f32[t] = np.float32({}(i64[t]))",
        ),
        Term(
            "cuda.bf16.bfloat16_as_{int16,uint16}",
            "bfloat16; 16 bits",
            "the bits",
            "i16[t] = {}(cuda.bfloat16(f32[t]))",
        ),
        Term(
            "cuda.bf16.{int16,uint16}_as_bfloat16",
            "16 bits; bfloat16",
            "the bfloat16 of these bits",
            "f32[t] = np.float32({}(i16[t]))",
        ),
        Term(
            "float8.fp8_{e4m3,e5m2,e8m0}",
            "types, of numba.cuda._internal.cuda_fp8",
            "CUDA's floats of 8 bits: conversions to and from other numbers",
            "f32[t] = np.float32({}(f32[t]))",
        ),
    ),
)

RANDOM = Chapter(
    "Random numbers",
    "`states` is `cuda.random.create_xoroshiro128p_states(64, seed=1)`: a state of xoroshiro128+ for each thread, "
    "2**64 numbers apart.",
    (
        Term(
            "cuda.random.xoroshiro128p_uniform_{float32,float64}",
            "(states, index)",
            "a number in [0, 1)",
            "f64[t] = {}(states, t)",
        ),
        Term(
            "cuda.random.xoroshiro128p_normal_{float32,float64}",
            "(states, index)",
            "a number of the normal distribution",
            "f64[t] = {}(states, t)",
        ),
        Term("cuda.random.xoroshiro128p_next", "(states, index); uint64", "64 random bits", "u64[t] = {}(states, t)"),
        Term("cuda.random.xoroshiro128p_jump", "(states, index)", "skip 2**64 numbers", "{}(states, t)"),
        Term("cuda.random.init_xoroshiro128p_state", "(states, index, seed)", "a state of a seed", "{}(states, t, 7)"),
    ),
)

CHAPTERS = (LIBDEVICE, NARROW, RANDOM)
