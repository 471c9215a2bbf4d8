"""Makes optimistic.json.gz: ε of random nested events by dp-accounting.

    pip install dp-accounting==0.6.0
    python optimistic.py optimistic.json.gz

Each event is written in the language of package privacy, and built a second time from
dp-accounting's privacy loss distributions. Two numbers are kept for each δ: the ε of the
optimistic estimate (losses rounded down, nothing added for what is cut off), below which
no upper end may be, and that of the pessimistic one.

The optimistic ε is read at δ + 1e-11: the Fourier transforms of dp-accounting leave noise
of about 1e-13 in a sum of masses, which an estimate from below must not contain. The
pessimistic one is read at δ - 1e-11, for the same reason.

A class of mechanisms stands for its members: boundedrange(c) has a two-point pair at a
random t, zcdp(ρ) a Gaussian, fixedsize(n, m, e) the pair that drops a record of no effect.
For these the optimistic ε is a lower bound of what the event costs, and the pessimistic
one says nothing ("class": true).
"""

import gzip
import itertools
import json
import math
import random
import sys

from dp_accounting.pld import privacy_loss_distribution as pld

VERSION = "dp-accounting 0.6.0"
EVENTS = 1200
NOISE = 1e-11
DELTAS = [1e-2, 1e-3, 1e-5, 1e-7, 1e-9]

rnd = random.Random(20)


def between(lo, hi):
    """A number of three digits, uniform in the logarithm: short in the file."""
    return float("%.3g" % math.exp(rnd.uniform(math.log(lo), math.log(hi))))


def number(x):
    return repr(x)


def two_point(epsilon):
    hi = 1 / (1 + math.exp(-epsilon))
    return [(hi, 1 - hi), (1 - hi, hi)]


def response(epsilon, k):
    z = math.exp(epsilon) + k - 1
    out = [(math.exp(epsilon) / z, 1 / z), (1 / z, math.exp(epsilon) / z)]
    if k > 2:
        out.append(((k - 2) / z, (k - 2) / z))
    return out


def product(*lists):
    out = []
    for combination in itertools.product(*lists):
        out.append((math.prod(p for p, _ in combination), math.prod(q for _, q in combination)))
    return out


def sampled(q, pairs):
    return [(q * p + (1 - q) * r, r) for p, r in pairs]


def discrete(pairs, pessimistic, h):
    upper = {i: math.log(p) for i, (p, _) in enumerate(pairs) if p > 0}
    lower = {i: math.log(q) for i, (_, q) in enumerate(pairs) if q > 0}
    return pld.from_two_probability_mass_functions(
        lower, upper, pessimistic_estimate=pessimistic, value_discretization_interval=h, symmetric=False
    )


def gaussian(sigma, q, pessimistic, h):
    return pld.from_gaussian_mechanism(
        sigma, pessimistic_estimate=pessimistic, value_discretization_interval=h,
        sampling_prob=q, use_connect_dots=pessimistic,
    )


def laplace(b, q, pessimistic, h):
    return pld.from_laplace_mechanism(
        b, pessimistic_estimate=pessimistic, value_discretization_interval=h,
        sampling_prob=q, use_connect_dots=pessimistic,
    )


class Term:
    """One term: its text, how to build it, the spread of its loss, and whether it is a class."""

    def __init__(self, text, build, spread, is_class=False, replace=False):
        self.text, self.build, self.spread = text, build, spread
        self.is_class, self.replace = is_class, replace


def term(replace):
    kind = rnd.choice(
        ["gaussian", "laplace", "pure", "rr", "approx", "poisson gaussian", "poisson laplace", "poisson composed",
         "twice poisson", "poisson rr", "poisson mixed", "boundedrange", "zcdp", "poisson boundedrange"]
        + (["fixedsize gaussian", "fixedsize rr"] * 4 if replace else [])
    )
    s, b, q = between(0.5, 40), between(0.5, 40), between(1e-4, 0.9)
    e, k = between(0.02, 3), rnd.choice([2, 3, 5, 20])
    if kind == "gaussian":
        return Term(f"gaussian({number(s)})", lambda p, h: gaussian(s, 1, p, h), 1 / s)
    if kind == "laplace":
        return Term(f"laplace({number(b)})", lambda p, h: laplace(b, 1, p, h), 1 / b)
    if kind == "pure":
        return Term(f"pure({number(e)})", lambda p, h: discrete(two_point(e), p, h), e)
    if kind == "rr":
        return Term(f"rr({number(e)}, {k})", lambda p, h: discrete(response(e, k), p, h), e)
    if kind == "approx":
        d = between(1e-9, 1e-5)
        pairs = [(d, 0), (0, d)] + [((1 - d) * x, (1 - d) * y) for x, y in two_point(e)]
        return Term(f"approx({number(e)}, {number(d)})", lambda p, h: discrete(pairs, p, h), e)
    if kind == "poisson gaussian":
        return Term(f"poisson({number(q)}, gaussian({number(s)}))", lambda p, h: gaussian(s, q, p, h), max(q, 1e-2) / s)
    if kind == "poisson laplace":
        return Term(f"poisson({number(q)}, laplace({number(b)}))", lambda p, h: laplace(b, q, p, h), max(q, 1e-2) / b)
    if kind == "poisson composed":
        n = rnd.randint(2, 9)
        return Term(f"poisson({number(q)}, repeat({n}, gaussian({number(s)})))",
                    lambda p, h: gaussian(s / math.sqrt(n), q, p, h), max(q, 1e-2) / s * math.sqrt(n))
    if kind == "twice poisson":
        r = between(0.05, 0.9)
        return Term(f"poisson({number(q)}, poisson({number(r)}, gaussian({number(s)})))",
                    lambda p, h: gaussian(s, q * r, p, h), max(q * r, 1e-2) / s)
    if kind == "poisson rr":
        return Term(f"poisson({number(q)}, rr({number(e)}, {k}))", lambda p, h: discrete(sampled(q, response(e, k)), p, h), max(q, 1e-2) * e)
    if kind == "poisson mixed":
        a, n = between(0.02, 1.5), rnd.randint(1, 4)
        pairs = sampled(q, product(two_point(a), *[response(e, k)] * n))
        return Term(f"poisson({number(q)}, compose(pure({number(a)}), repeat({n}, rr({number(e)}, {k}))))",
                    lambda p, h: discrete(pairs, p, h), max(q, 1e-2) * (a + e))
    if kind in ("boundedrange", "poisson boundedrange"):
        t = e * rnd.uniform(0.3, 0.8)
        up = -math.expm1(t - e) / -math.expm1(-e)
        pairs = [(up, up * math.exp(-t)), (1 - up, 1 - up * math.exp(-t))]
        if kind == "boundedrange":
            return Term(f"boundedrange({number(e)})", lambda p, h: discrete(pairs, p, h), e / 2, True)
        return Term(f"poisson({number(q)}, boundedrange({number(e)}))", lambda p, h: discrete(sampled(q, pairs), p, h), max(q, 1e-2) * e / 2, True)
    if kind == "zcdp":
        return Term(f"zcdp({number(0.5 / s / s)})", lambda p, h: gaussian(s, 1, p, h), 1 / s, True)
    n = rnd.choice([10, 100, 5000])
    m = rnd.randint(1, n - 1)
    if kind == "fixedsize gaussian":
        return Term(f"fixedsize({n}, {m}, gaussian({number(s)}))", lambda p, h: gaussian(s, m / n, p, h), m / n / s, True, True)
    return Term(f"fixedsize({n}, {m}, rr({number(e)}, {k}))", lambda p, h: discrete(sampled(m / n, response(e, k)), p, h), m / n * e, True, True)


def composition(replace):
    """A text, a builder for each estimate, and whether it is a class."""
    parts = []
    for _ in range(rnd.choice([1, 1, 2, 3])):
        n = 1 if rnd.random() < 0.4 else int(between(2, 300))
        parts.append((n, term(replace)))
    texts = [t.text if n == 1 else f"repeat({n}, {t.text})" for n, t in parts]
    text = texts[0] if len(texts) == 1 else f"compose({', '.join(texts)})"
    spread = math.sqrt(sum(n * t.spread**2 for n, t in parts))
    runs = sum(n for n, _ in parts)

    def build(pessimistic):
        # Rounding down costs half of h for each run, on average: a fiftieth of the spread
        # for all of them, with no more than some 200,000 points.
        h = max(spread / 25 / runs, spread * 40 / 2e5) if not pessimistic else spread / 400 / math.sqrt(runs)
        h = max(h, 1e-6)
        total = None
        for n, t in parts:
            d = t.build(pessimistic, h)
            if n > 1:
                d = d.self_compose(n)
            total = d if total is None else total.compose(d)
        return total

    return text, build, any(t.is_class for _, t in parts)


def case():
    replace = rnd.random() < 0.2
    halves = [composition(replace)]
    text, is_class = halves[0][0], halves[0][2]
    if not replace and rnd.random() < 0.15:
        halves.append(composition(False))
        text = f"parallel({halves[0][0]}, {halves[1][0]})"
        is_class = is_class or halves[1][2]
    deltas = sorted(rnd.sample(DELTAS, 2), reverse=True)
    out = {"event": text, "deltas": deltas, "optimistic": [], "pessimistic": []}
    if replace:
        out["adjacency"] = "replace-one"
    if is_class or replace:
        out["class"] = True
    optimistic = [build(False) for _, build, _ in halves]
    pessimistic = [] if "class" in out else [build(True) for _, build, _ in halves]
    for d in deltas:
        low = max(p.get_epsilon_for_delta(d + NOISE) for p in optimistic)
        out["optimistic"].append(-1 if math.isinf(low) else float("%.7g" % (low * (1 - 1e-6))))
        if pessimistic:
            high = max(p.get_epsilon_for_delta(d - NOISE) for p in pessimistic)
            out["pessimistic"].append(-1 if math.isinf(high) else float("%.7g" % (high * (1 + 1e-6))))
    if not pessimistic:
        del out["pessimistic"]
    return out


def main(path):
    cases = []
    while len(cases) < EVENTS:
        cases.append(case())
        print(len(cases), cases[-1]["event"], cases[-1]["optimistic"], flush=True)
    with gzip.GzipFile(path, "wb", mtime=0) as f:
        f.write(json.dumps({"source": VERSION, "infinite": -1, "cases": cases}, ensure_ascii=False, separators=(",", ":")).encode())


if __name__ == "__main__":
    main(sys.argv[1])
