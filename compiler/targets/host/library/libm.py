"""libm: the `__nv_` functions that are functions of the C library."""

from __future__ import annotations

from dataclasses import dataclass

from gridjit.compiler.targets.host.library.maths_text import KINDS, PURE, define

# Functions of one and of two arguments; their float twins end in f, as CUDA's do.
_OF_ONE = [
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
    "cbrt",
    "logb",
    "j0",
    "j1",
    "y0",
    "y1",
]
_OF_TWO = ["pow", "atan2", "fmod", "hypot", "remainder", "nextafter", "fdim"]
# CUDA's fast functions give up accuracy for speed. The host does not need to.
_FAST = ["sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10"]
# Functions whose arguments are not all of one type.
ODD_DECLARATIONS = {
    "frexp": "declare double @frexp(double, ptr) nounwind willreturn",
    "frexpf": "declare float @frexpf(float, ptr) nounwind willreturn",
    "ilogb": f"declare i32 @ilogb(double) {PURE}",
    "ilogbf": f"declare i32 @ilogbf(float) {PURE}",
    "jn": f"declare double @jn(i32, double) {PURE}",
    "jnf": f"declare float @jnf(i32, float) {PURE}",
    "yn": f"declare double @yn(i32, double) {PURE}",
    "ynf": f"declare float @ynf(i32, float) {PURE}",
    "remquo": "declare double @remquo(double, double, ptr) nounwind willreturn",
    "remquof": "declare float @remquof(float, float, ptr) nounwind willreturn",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LibmCall:
    """A call of the C library: the function, the type of its arguments and result, and how many arguments."""

    function: str
    kind: str
    count: int

    @property
    def declaration(self) -> str:
        """The function's declaration."""
        return f"declare {self.kind} @{self.function}({', '.join([self.kind] * self.count)}) {PURE}"

    def definition(self, name: str) -> str:
        """Return the definition of a `__nv_` function that is this call; `<function>` stands for its attributes."""
        arguments = ", ".join(f"{self.kind} {letter}" for letter in "xy"[: self.count])
        values = ", ".join(f"{self.kind} %{letter}" for letter in "xy"[: self.count])
        call = f"%r = call {self.kind} @{self.function}({values})<{self.function}>"
        return define(name, self.kind, arguments, f"{call}\nret {self.kind} %r")


def libm_calls() -> dict[str, LibmCall]:
    """Return the call that each function is, by the function's name without `__nv_`."""
    calls: dict[str, LibmCall] = {}
    for suffix, kind, _, _ in KINDS:
        for count, names in ((1, _OF_ONE), (2, _OF_TWO)):
            calls |= {n + suffix: LibmCall(function=n + suffix, kind=kind, count=count) for n in names}
    calls |= {f"fast_{name}f": LibmCall(function=f"{name}f", kind="float", count=1) for name in _FAST}
    return calls | {"fast_powf": LibmCall(function="powf", kind="float", count=2)}
