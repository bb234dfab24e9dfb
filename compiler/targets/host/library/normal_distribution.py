"""Normal distribution: the error function's inverses and scaled form, and functions that the C library lacks.

Floats are computed in double. Each result is within the error that libdevice states for its own function.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from gridjit.compiler.targets.host.library.maths_text import Row, definitions_of

# The inverse of the error function at x, up to 0.85, over x: as a polynomial of x^2 / 0.36125 - 1, lowest power first;
# interpolated at Chebyshev's points, to within 1e-17.
_INNER = (
    *(0.9923311176551894, 0.13625609093771127, 0.04118441496991173, 0.015581847740229351),
    *(0.006559255347870329, 0.0029384746997488343, 0.0013711083916576037, 0.0006583824297893847),
    *(0.00032294468953457644, 0.00016103004320911562, 8.134830063933688e-05, 4.153223810554756e-05),
    *(2.1392042932518917e-05, 1.1106129271992001e-05, 5.799726675057985e-06, 3.023533069001812e-06),
    *(1.5946805544784804e-06, 9.034294722303778e-07, 4.813347739002443e-07, 1.4171856132430297e-07),
    *(7.442524277345491e-08, 2.0429711913678134e-07, 1.1142287104364278e-07, -1.0879808000788427e-07),
    *(-5.99328159999053e-08, 8.911562565642576e-08, 4.889393621086359e-08, -3.1614970900102095e-08),
    *(-1.7365284863196065e-08, 7.158304721709427e-09, 3.926236542601736e-09),
)
# Beyond: M. Wichura's algorithm AS 241 (1988), the percentage points of the normal distribution, as quotients of
# polynomials: in the tails, and far out in them.
_TAIL = (
    (
        *(1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0),
        *(1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    ),
    (
        *(1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1),
        *(1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
    ),
)
_FAR = (
    (
        *(6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1),
        *(2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    ),
    (
        *(1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2),
        *(7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
    ),
)
# (1 + 2x) exp(x^2) erfc(x) as a polynomial of (x - 4) / (x + 4), for x from 0 on (Shepherd and Laframboise, 1981);
# found in the same way.
_SCALED = (
    *(1.2329951186255526, -0.13962111684056228, 0.015379652102619974, 0.06809705425466839, -0.10103906603631811),
    *(0.09373283499911264, -0.06633036581186058, 0.037167515526338006, -0.01619773406293477, 0.005031970069102256),
    *(-0.0007577732435942576, -0.0001992571524726518, 0.00015062142608651945, -2.4397731143023292e-05),
    *(-1.1221135665965907e-05, 5.70657829924074e-06, 2.9173425573089733e-07, -8.210647933297337e-07),
    *(7.771943241086912e-08, 1.0631817593818149e-07, -2.0725802488181963e-08, -1.2338731403798444e-08),
    *(3.2323973445082033e-09, 9.297625263709659e-10, -2.764120233734578e-10),
)

_ROOT_HALF, _ROOT_HALF_REST = 0.7071067811865476, -4.833646656726457e-17


def _number(value: float) -> str:
    """Return a double as LLVM writes any of them."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def _polynomial(name: str, variable: str, coefficients: Sequence[float]) -> str:
    """Return the code of a polynomial's value, lowest power first."""
    last, lines = _number(coefficients[-1]), []
    for n in reversed(range(len(coefficients) - 1)):
        last, before = f"%{name}.{n}" if n else f"%{name}", last
        of = f"double {before}, double {variable}, double {_number(coefficients[n])}"
        lines.append(f"{last} = call double @llvm.fma.f64({of})")
    return "\n".join(lines)


def _quotient(name: str, variable: str, of: tuple[Sequence[float], Sequence[float]]) -> str:
    above, below = (_polynomial(f"{name}.{part}", variable, one) for part, one in zip("nd", of, strict=True))
    return f"{above}\n{below}\n%{name} = fdiv double %{name}.n, %{name}.d"


def _scaled(name: str, value: str, scale: float) -> str:
    """Return the code that multiplies by a scale; of the root of 1/2 with the digits that a double does not hold."""
    rest = scale / _ROOT_HALF * _ROOT_HALF_REST if scale != 1.0 else 0.0
    return f"""%{name}.rest = fmul double {value}, {_number(rest)}
    %{name} = call double @llvm.fma.f64(double {value}, double {_number(scale)}, double %{name}.rest)"""


def _inverse(start: str, argument: str, near: float, far: float) -> str:
    """Return the code of an inverse.

    start: gives %q, which is from -1/2 to 1/2, and %log, of a tail's probability. argument: what the result is near to
    zero, but for a factor: near for the inverse of the error function, far for the percentage points.
    """
    return f"""{start}
    %size = call double @llvm.fabs.f64(double %q)
    %middle = fcmp ole double %size, {_number(0.425)}
    %whole = fmul double %q, 2.0
    %square = fmul double %whole, %whole
    %place = call double @llvm.fma.f64(double %square, double {_number(1 / 0.36125)}, double -1.0)
    {_polynomial("near", "%place", _INNER)}
    %near.own = fmul double %near, {argument}
    {_scaled("near.r", "%near.own", near)}
    %log.minus = fneg double %log
    %root = call double @llvm.sqrt.f64(double %log.minus)
    %shifted = fsub double %root, {_number(1.6)}
    {_quotient("tail", "%shifted", _TAIL)}
    %shifted.far = fsub double %root, 5.0
    {_quotient("far", "%shifted.far", _FAR)}
    %is.far = fcmp ogt double %root, 5.0
    %outer = select i1 %is.far, double %far, double %tail
    {_scaled("outer.scaled", "%outer", far)}
    %end = fcmp oeq double %root, 0x7FF0000000000000
    %outer.size = select i1 %end, double 0x7FF0000000000000, double %outer.scaled
    %outer.r = call double @llvm.copysign.f64(double %outer.size, double %q)
    %r = select i1 %middle, double %near.r, double %outer.r
    ret double %r"""


_ROWS: tuple[Row, ...] = (
    (
        "erfinv",
        "double",
        "double x",
        _inverse(
            """%q = fmul double %x, 5.000000e-01
            %x.size = call double @llvm.fabs.f64(double %x)
            %rest = fsub double 1.0, %x.size
            %p = fmul double %rest, 5.000000e-01
            %log = call double @__nv_log(double %p)""",
            "%x",
            1.0,
            _ROOT_HALF,
        ),
    ),
    (
        "erfcinv",
        "double",
        "double x",
        # Half of the smallest numbers would be zero.
        _inverse(
            f"""%c = fsub double 1.0, %x
            %q = fmul double %c, 5.000000e-01
            %upper = fcmp ogt double %x, 1.0
            %other = fsub double 2.0, %x
            %p = select i1 %upper, double %other, double %x
            %log.p = call double @__nv_log(double %p)
            %log = fsub double %log.p, {_number(0.6931471805599453)}""",
            "%c",
            1.0,
            _ROOT_HALF,
        ),
    ),
    (
        "normcdfinv",
        "double",
        "double x",
        _inverse(
            """%q = fsub double %x, 5.000000e-01
            %upper = fcmp ogt double %q, 0.0
            %other = fsub double 1.0, %x
            %p = select i1 %upper, double %other, double %x
            %log = call double @__nv_log(double %p)""",
            "%q",
            4 * _ROOT_HALF,
            1.0,
        ),
    ),
    # Of negative numbers: 2 exp(x^2) less that of the positive one. What squares, sums and quotients lose counts.
    (
        "erfcx",
        "double",
        "double x",
        f"""%a = call double @llvm.fabs.f64(double %x)
        %less = fsub double %a, 4.0
        %more = fadd double %a, 4.0
        %t = fdiv double %less, %more
        {_polynomial("scaled", "%t", _SCALED)}
        %twice = fmul double %a, 2.0
        %weight = fadd double %twice, 1.0
        %weight.share = fsub double %weight, %twice
        %twice.share = fsub double %weight, %weight.share
        %twice.lost = fsub double %twice, %twice.share
        %one.lost = fsub double 1.0, %weight.share
        %weight.lost = fadd double %twice.lost, %one.lost
        %near.first = fdiv double %scaled, %weight
        %near.minus = fneg double %near.first
        %left.over = call double @llvm.fma.f64(double %near.minus, double %weight, double %scaled)
        %left = call double @llvm.fma.f64(double %near.minus, double %weight.lost, double %left.over)
        %near.more = fdiv double %left, %weight
        %near = fadd double %near.first, %near.more
        %far = fdiv double {_number(0.5641895835477563)}, %a
        %is.far = fcmp ogt double %a, 1.000000e+08
        %positive = select i1 %is.far, double %far, double %near
        %square = fmul double %x, %x
        %square.minus = fneg double %square
        %lost = call double @llvm.fma.f64(double %x, double %x, double %square.minus)
        %power = call double @__nv_exp(double %square)
        %power.lost = fmul double %power, %lost
        %power.all = fadd double %power, %power.lost
        %power.twice = fmul double %power.all, 2.0
        %negative = fsub double %power.twice, %positive
        %huge = fcmp ogt double %square, 7.095000e+02
        %negative.all = select i1 %huge, double 0x7FF0000000000000, double %negative
        %is.negative = fcmp olt double %x, 0.0
        %r = select i1 %is.negative, double %negative.all, double %positive
        ret double %r""",
    ),
    # In the tail exp(-x^2 / 2) erfcx / 2, with what rounding took from the square and from erfcx's argument. Of results
    # near the smallest, the power comes in two factors.
    (
        "normcdf",
        "double",
        "double x",
        f"""%y = fmul double %x, {_number(-_ROOT_HALF)}
        %erfc = call double @__nv_erfc(double %y)
        %middle = fmul double %erfc, 5.000000e-01
        %scaled.near = call double @__nv_erfcx(double %y)
        %y.minus = fneg double %y
        %y.part = call double @llvm.fma.f64(double %x, double {_number(-_ROOT_HALF)}, double %y.minus)
        %y.rest = call double @llvm.fma.f64(double %x, double {_number(-_ROOT_HALF_REST)}, double %y.part)
        %y.twice = fmul double %y, 2.0
        %slope.steep = fmul double %y.twice, %scaled.near
        %slope = fsub double %slope.steep, {_number(2 / math.pi**0.5)}
        %scaled = call double @llvm.fma.f64(double %y.rest, double %slope, double %scaled.near)
        %scaled.half = fmul double %scaled, 5.000000e-01
        %square = fmul double %x, %x
        %square.minus = fneg double %square
        %lost = call double @llvm.fma.f64(double %x, double %x, double %square.minus)
        %lost.half = fmul double %lost, -5.000000e-01
        %small = fcmp ogt double %square, 1.400000e+03
        %share = select i1 %small, double -2.500000e-01, double -5.000000e-01
        %exponent = fmul double %square, %share
        %power = call double @__nv_exp(double %exponent)
        %again = select i1 %small, double %power, double 1.0
        %a = call double @llvm.fma.f64(double %scaled.half, double %lost.half, double %scaled.half)
        %b = fmul double %a, %power
        %tail = fmul double %b, %again
        %is.tail = fcmp olt double %x, -1.0
        %is.zero = fcmp olt double %x, -4.000000e+01
        %some = select i1 %is.zero, double 0.0, double %tail
        %r = select i1 %is.tail, double %some, double %middle
        ret double %r""",
    ),
)
_SINGLE = """%wide = fpext float %x to double
%found = call double @__nv_{name}(double %wide)
%r = fptrunc double %found to float
ret float %r"""


def normal_maths() -> dict[str, str]:
    """Return name -> definition of these functions."""
    names = [row[0] for row in _ROWS]
    singles: list[Row] = [(f"{name}f", "float", "float x", _SINGLE.format(name=name)) for name in names]
    return definitions_of((*_ROWS, *singles), {})
