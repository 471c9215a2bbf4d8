"""Makes radius.json: AdaDPSyn's aggregation (Gao et al. 2025, algorithms 1, 4 and 5) in
floating point, straight from the paper, on made-up vectors with made-up noise.

    python3 radius.py > radius.json
"""
import json
import math
import random

RHO, THETA, MU = 0.8, 0.1, 0.55


def dist(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))


def aggregate(P, s0, s1, s2, lam, rounds, noise):
    M, K = len(P), len(P[0])
    t = max(1, round(RHO * M))
    D = [[dist(a, b) for b in P] for a in P]

    def L(r):
        counts = sorted((min(t, sum(d <= r for d in row)) for row in D), reverse=True)
        return sum(counts[:t]) / t

    low, high, z = 0.0, math.sqrt(2) / 2, iter(noise["search"])
    while high - low > THETA:
        mid = (low + high) / 2
        at_mid = L(mid) + 2 * s0 * next(z)
        at_half = L(mid / 2) + 2 * s0 * next(z)
        if at_half >= t or at_mid >= t:
            high = mid
        else:
            low = mid
    r = (low + high) / 2

    def mean(X, R, z):
        p = [max(0.0, (sum(x[k] for x in X) + 2 * R * s1 * z[k]) / M) for k in range(K)]
        total = sum(p)
        return [x / total if total > 0 else 1 / K for x in p]

    R = math.sqrt(2) / 2
    p = mean(P, R, noise["means"][0])
    why = "rounds"
    for j in range(rounds):
        wide = r + 2 * lam * R * s1 * math.sqrt(K) / M
        if R < wide:
            why = "wide"
            break
        covered = sum(dist(x, p) <= wide for x in P)
        if covered + s2 * noise["coverage"][j] < MU * M:
            why = "coverage"
            break
        R = wide
        X = []
        for x in P:
            far = max(1.0, dist(x, p) / R)
            X.append([c + (v - c) / far for v, c in zip(x, p)])
        p = mean(X, R, noise["means"][j + 1])
    return dict(target=r, radius=R, mean=p, pick=max(range(K), key=p.__getitem__), end=why)


def case(rng, quiet):
    M, K, rounds = rng.randint(2, 14), rng.randint(2, 6), rng.randint(1, 3)
    centre = [rng.random() ** 2 for _ in range(K)]
    P = []
    for _ in range(M):
        x = [c * math.exp(rng.gauss(0, 0.3)) for c in centre]
        if rng.random() < 0.15:
            x = [rng.random() ** 4 for _ in range(K)]
        x = [v / sum(x) for v in x]
        x = [round(v, 6) for v in x]
        x[0] = round(max(0.0, 1 - sum(x[1:])), 6)
        P.append(x)
    g = (lambda: 0.0) if quiet else (lambda: round(rng.gauss(0, 1), 4))
    noise = dict(search=[g() for _ in range(6)], means=[[g() for _ in range(K)] for _ in range(rounds + 1)], coverage=[g() for _ in range(rounds)])
    given = dict(s0=round(rng.uniform(0.5, 5), 2), s1=round(rng.uniform(0.3, 1.6), 2), s2=round(rng.uniform(0.5, 5), 2), lam=rng.choice([0, 0.15, 0.25, 2]), rounds=rounds)
    return dict(points=P, noise=noise, **given, want=aggregate(P, given["s0"], given["s1"], given["s2"], given["lam"], rounds, noise))


rng = random.Random(5)
cases = [case(rng, i < 12) for i in range(48)]
print('{"source": "radius.py", "cases": [')
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
