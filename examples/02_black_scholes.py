"""Black-Scholes: the price of European options. Device functions and math.* in a kernel."""

import math

import numpy as np

import gridjit
from gridjit import cuda

RATE, VOLATILITY = 0.02, 0.3  # globals are constants of the code; a changed one is a new compile


@gridjit.jit(device=True)
def normal_cdf(x):
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


@gridjit.jit
def black_scholes(price, strike, years, call, put):
    i = cuda.grid(1)
    if i < price.size:
        spread = VOLATILITY * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years[i]) / spread
        discounted = strike[i] * math.exp(-RATE * years[i])
        call[i] = price[i] * normal_cdf(d1) - discounted * normal_cdf(d1 - spread)
        put[i] = discounted * normal_cdf(spread - d1) - price[i] * normal_cdf(-d1)


def main():
    n = 100_000
    random = np.random.default_rng(0)
    price, strike, years = (random.uniform(low, high, n) for low, high in ((5, 30), (1, 100), (0.25, 10)))
    call, put = np.empty(n), np.empty(n)
    black_scholes.forall(n)(*map(gridjit.In, (price, strike, years)), gridjit.Out(call), gridjit.Out(put))
    parity = price - strike * np.exp(-RATE * years)  # call - put, whatever the volatility
    np.testing.assert_allclose(call - put, parity, atol=1e-9)
    assert (call >= np.maximum(parity, 0) - 1e-9).all()
    print(f"{n:,} options: calls and puts keep put-call parity")


if __name__ == "__main__":
    main()
