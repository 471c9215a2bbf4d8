"""Measures one privacy accountant from PyPI on one case of events.json.

Each case runs in a process of its own, because peak memory is a property of a
process. One line of JSON goes to standard output, whatever happens:

    python peers.py --events events.json --peer dp-accounting --case agnews

`--all` runs every case, peer and setting that events.json names, one process
after another, and prints the lines in that order.

The event is read from the same expression text that `sotto account` reads, so
both sides answer the same question. A peer gets the settings events.json
chooses for it: `tight`, the fastest ones found whose upper bound is within
about 1e-3 of the true epsilon; `default`, the ones its documentation starts
from; and `coarse`, something between, where it cannot run the tight ones.
Only the call that yields the upper bound is timed (imports, one warm-up call
and a separate lower bound are not): that is what its users wait for.
"""

import argparse
import ast
import json
import math
import os
import resource
import subprocess
import sys
import threading
import time
import warnings

REPETITIONS = 5
REPEAT_WITHIN_S = 10.0


class Unsupported(Exception):
    """The peer has no mechanism or rule for this event."""


def parse(text, x=None):
    """Reads an event expression into nested tuples; x replaces the unknown."""
    return _node(ast.parse(text, mode="eval").body, x)


def _node(node, x):
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return (node.func.id, *(_node(arg, x) for arg in node.args))
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _node(node.left, x) / _node(node.right, x)
    if isinstance(node, ast.Name) and node.id == "x" and x is not None:
        return x
    raise ValueError(f"not an event expression: {ast.unparse(node)}")


def steps(event, count=1):
    """Flattens compose and repeat into (count, leaf or poisson node) pairs."""
    name, *args = event
    if name == "repeat":
        return steps(args[1], count * int(args[0]))
    if name == "compose":
        return [step for part in args for step in steps(part, count)]
    if name == "poisson":
        return [(count, ("poisson", args[0], _one_leaf(args[1])))]
    return [(count, event)]


def _one_leaf(event):
    """The single mechanism under a poisson node.

    Neither peer samples a composition. Composed Gaussians are one Gaussian
    with 1/sigma^2 summed, exactly, so those are still put to them.
    """
    inner = steps(event)
    if len(inner) == 1 and inner[0][0] == 1:
        return inner[0][1]
    if all(leaf[0] == "gaussian" for _, leaf in inner):
        return ("gaussian", 1 / math.sqrt(sum(n / leaf[1] ** 2 for n, leaf in inner)))
    raise Unsupported("no rule for sampling a composition other than of Gaussians")


class DPAccounting:
    """PLD accounting of dp-accounting, by its accountant or its PLD functions."""

    lower_is_separate = True

    def __init__(self):
        import dp_accounting
        from absl import logging
        from dp_accounting.pld import common, privacy_loss_distribution

        logging.set_verbosity(logging.ERROR)
        self.dp, self.pld, self.common = dp_accounting, privacy_loss_distribution, common

    def warm_up(self):
        self._pld(("repeat", 2, ("gaussian", 2.0)), {"interval": 1e-3}).get_epsilon_for_delta(1e-5)

    def upper(self, case, settings):
        event = parse(case["event"])
        if settings["api"] == "accountant":
            return self._accountant(event, settings).get_epsilon(case["delta"])
        return self._pld(event, settings).get_epsilon_for_delta(case["delta"])

    def lower(self, case, settings):
        # Its optimistic rounding is coarser than its pessimistic one, so the
        # lower bound gets at least the default grid.
        grid = {**settings, "interval": settings.get("lower_interval", 1e-4)}
        pld = self._pld(parse(case["event"]), grid, pessimistic=False)
        return pld.get_epsilon_for_delta(case["delta"])

    def calibrate(self, case, settings):
        bracket = settings.get("bracket")
        return self.dp.calibrate_dp_mechanism(
            lambda: self.dp.pld.PLDAccountant(value_discretization_interval=settings["interval"]),
            lambda x: self._event(parse(case["event"], x)),
            case["epsilon"],
            case["delta"],
            bracket_interval=bracket and self.dp.ExplicitBracketInterval(*bracket),
            discrete=settings.get("discrete", False),
            tol=settings.get("tol"),
        )

    def at(self, case, settings, x):
        return self._accountant(parse(case["event"], x), settings).get_epsilon(case["delta"])

    def _accountant(self, event, settings):
        accountant = self.dp.pld.PLDAccountant(value_discretization_interval=settings["interval"])
        return accountant.compose(self._event(event))

    def _event(self, event):
        parts = []
        for count, leaf in steps(event):
            sampled = leaf[0] == "poisson"
            name, noise = (leaf[2] if sampled else leaf)[:2]
            kinds = {"gaussian": self.dp.GaussianDpEvent, "laplace": self.dp.LaplaceDpEvent}
            if name not in kinds:
                raise Unsupported(f"its accountant has no event for {name}")
            one = kinds[name](noise)
            if sampled:
                one = self.dp.PoissonSampledDpEvent(leaf[1], one)
            parts.append(self.dp.SelfComposedDpEvent(one, count))
        return parts[0] if len(parts) == 1 else self.dp.ComposedDpEvent(parts)

    def _pld(self, event, settings, pessimistic=True):
        tail = settings.get("tail", 1e-15)
        total = None
        for count, leaf in steps(event):
            if leaf[0] == "gaussian":  # n Gaussians are one, as its accountant does
                leaf, count = ("gaussian", leaf[1] / math.sqrt(count)), 1
            one = self._single(leaf, settings, pessimistic)
            if count > 1:
                one = one.self_compose(count, tail)
            total = one if total is None else total.compose(one, tail)
        return total

    def _single(self, leaf, settings, pessimistic):
        q, leaf = (leaf[1], leaf[2]) if leaf[0] == "poisson" else (1.0, leaf)
        name, args = leaf[0], leaf[1:]
        interval = settings["interval"]
        grid = {"value_discretization_interval": interval, "pessimistic_estimate": pessimistic}
        if name == "gaussian":
            cut = settings.get("log_truncation", -50)
            return self.pld.from_gaussian_mechanism(
                args[0], sampling_prob=q, log_mass_truncation_bound=cut,
                use_connect_dots=pessimistic, **grid)
        if name == "laplace":
            return self.pld.from_laplace_mechanism(
                args[0], sampling_prob=q, use_connect_dots=pessimistic, **grid)
        if name == "rr" and q == 1:
            noise = args[1] / (math.exp(args[0]) + args[1] - 1)
            return self.pld.from_randomized_response(noise, args[1], **grid)
        if name == "pure" and q == 1 and pessimistic:
            params = self.common.DifferentialPrivacyParameters(args[0], 0)
            return self.pld.from_privacy_parameters(params, interval)
        if name == "pure":
            return self._sampled_pure(q, args[0], grid)
        raise Unsupported(f"no privacy loss distribution for {name} sampled at rate {q}")

    def _sampled_pure(self, q, epsilon, grid):
        """The pair of two-point distributions that dominates, built by hand."""
        high = -math.log1p(math.exp(-epsilon))
        low = high - epsilon
        mixed = [_log_mix(q, high, low), _log_mix(q, low, high)]
        return self.pld.from_two_probability_mass_functions(
            {0: low, 1: high}, {0: mixed[0], 1: mixed[1]}, symmetric=q == 1, **grid)


def _log_mix(q, a, b):
    """ln(q e^a + (1-q) e^b)."""
    return b + math.log1p(q * math.expm1(a - b))


class PRVAccountant:
    """prv-accountant, which yields both bounds in one call."""

    lower_is_separate = False

    def __init__(self):
        warnings.simplefilter("ignore")
        import numpy
        import prv_accountant
        import scipy.stats
        from prv_accountant import dpsgd

        numpy.seterr(all="ignore")
        del scipy.stats
        self.prv, self.dpsgd = prv_accountant, dpsgd
        self.last = None

    def warm_up(self):
        case = {"event": "repeat(2, gaussian(2))", "delta": 1e-5}
        self.upper(case, {"eps_error": 0.1})

    def upper(self, case, settings):
        self.last = self._bounds(parse(case["event"]), case["delta"], settings["eps_error"])
        return self.last[2]

    def lower(self, case, settings):
        return self.last[0]

    def calibrate(self, case, settings):
        (count, leaf), *rest = steps(parse(case["event"], 1.0))
        if rest or leaf[0] != "poisson" or "gaussian(x)" not in case["event"]:
            raise Unsupported("it calibrates the noise of a sampled Gaussian only")
        return self.dpsgd.find_noise_multiplier(
            leaf[1], count, case["epsilon"], case["delta"], eps_error=settings["eps_error"])

    def at(self, case, settings, x):
        # find_noise_multiplier evaluates with half the error it is given.
        bounds = self._bounds(parse(case["event"], x), case["delta"], settings["eps_error"] / 2)
        return bounds[2]

    def _bounds(self, event, delta, eps_error):
        counts, variables = zip(*((n, self._variable(leaf)) for n, leaf in steps(event)))
        accountant = self.prv.PRVAccountant(
            prvs=list(variables), max_self_compositions=list(counts),
            eps_error=eps_error, delta_error=delta / 1000)
        return accountant.compute_epsilon(delta, list(counts))

    def _variable(self, leaf):
        if leaf[0] == "poisson" and leaf[2][0] == "gaussian":
            return self.prv.PoissonSubsampledGaussianMechanism(leaf[1], leaf[2][1])
        if leaf[0] == "gaussian":
            return self.prv.GaussianMechanism(leaf[1])
        if leaf[0] == "laplace":
            return self.prv.LaplaceMechanism(1 / leaf[1])
        if leaf[0] == "pure":
            return self.prv.PureDPMechanism(leaf[1])
        raise Unsupported(f"no privacy random variable for {leaf[0]}")


PEERS = {"dp-accounting": DPAccounting, "prv-accountant": PRVAccountant}


def peak_rss_mb():
    """Peak resident memory of this process since exec, in MB (1e6 bytes).

    ru_maxrss survives exec on Linux, so it would report a large parent's peak
    as ours; the kernel's high-water mark of the address space does not.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def timed(call):
    """Runs call until REPETITIONS or REPEAT_WITHIN_S.

    Returns its answer, the least wall-clock seconds and the least processor
    seconds; the second says more on a machine that is busy with other work.
    """
    wall = processor = math.inf
    start = time.perf_counter()
    for _ in range(REPETITIONS):
        begin = time.perf_counter(), time.process_time()
        answer = call()
        wall = min(wall, time.perf_counter() - begin[0])
        processor = min(processor, time.process_time() - begin[1])
        if time.perf_counter() - start > REPEAT_WITHIN_S:
            break
    return answer, wall, processor


class Line:
    """The one line of output, printed once, by the work or by its time limit."""

    def __init__(self, fields):
        self.fields, self.lock, self.printed = fields, threading.Lock(), False

    def emit(self, exit_now=False, **fields):
        with self.lock:
            if self.printed:
                return
            self.printed = True
            self.fields.update(fields, peak_rss_mb=round(peak_rss_mb(), 1))
            finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v
                      for k, v in self.fields.items()}
            print(json.dumps(finite), flush=True)
            if exit_now:
                os._exit(0)


def measure(case, peer_name, setting, limit):
    settings = case["peers"][peer_name].get(setting)
    line = Line({
        "case": case["name"], "peer": peer_name, "setting": setting, "task": case["task"],
        "epsilon_lower": None, "epsilon_upper": None, "x": None,
        "seconds": None, "cpu_seconds": None, "seconds_lower": None,
        "peak_rss_mb": None, "peak_rss_mb_upper": None, "baseline_rss_mb": None,
        "settings": settings, "error": None})
    if settings is None:
        reason = case["peers"][peer_name].get("unsupported", f"no setting {setting!r}")
        return line.emit(error=f"unsupported: {reason}")

    watchdog = threading.Timer(
        limit, lambda: line.emit(exit_now=True, error=f"timeout after {limit:g} s"))
    watchdog.daemon = True
    watchdog.start()
    error = None
    try:
        _measure(case, PEERS[peer_name](), settings, line.fields)
    except Unsupported as reason:
        error = f"unsupported: {reason}"
    except Exception as failure:  # a peer's failure is a result, whatever it is
        error = f"{type(failure).__name__}: {failure}".strip()
    line.emit(error=error)


def _measure(case, peer, settings, fields):
    peer.warm_up()
    fields["baseline_rss_mb"] = round(peak_rss_mb(), 1)
    if case["task"] == "calibrate":
        x, fields["seconds"], fields["cpu_seconds"] = timed(lambda: peer.calibrate(case, settings))
        fields["x"] = float(x)
        fields["epsilon_upper"] = float(peer.at(case, settings, fields["x"]))
        return
    upper, fields["seconds"], fields["cpu_seconds"] = timed(lambda: peer.upper(case, settings))
    fields["epsilon_upper"] = float(upper)
    fields["peak_rss_mb_upper"] = round(peak_rss_mb(), 1)
    if not math.isfinite(upper):
        raise ArithmeticError(f"epsilon came out as {upper}")
    begin = time.perf_counter()
    fields["epsilon_lower"] = float(peer.lower(case, settings))
    if peer.lower_is_separate:
        fields["seconds_lower"] = time.perf_counter() - begin
    if fields["epsilon_lower"] > upper * (1 + 1e-9):
        raise ArithmeticError("lower bound above upper bound: its rounding exceeds this delta")


def run_all(cases, args):
    for case in cases:
        for peer in PEERS:
            for setting in [s for s in case["peers"][peer] if s != "unsupported"] or ["tight"]:
                subprocess.run(
                    [sys.executable, __file__, "--events", args.events, "--peer", peer,
                     "--case", case["name"], "--setting", setting,
                     "--timeout", str(args.timeout), "--memory-mb", str(args.memory_mb)],
                    check=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--events", default="events.json", help="file with the cases")
    options.add_argument("--peer", choices=PEERS)
    options.add_argument("--case", help="name of one case")
    options.add_argument("--setting", default="tight", help="tight, default or coarse")
    options.add_argument("--timeout", type=float, default=120, help="seconds for one process")
    options.add_argument("--memory-mb", type=int, default=8192, help="address space allowed")
    options.add_argument("--all", action="store_true", help="run everything")
    args = options.parse_args()

    with open(args.events, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    if args.all:
        return run_all(cases, args)
    chosen = [case for case in cases if case["name"] == args.case]
    if len(chosen) != 1 or not args.peer:
        options.error("name one --peer and one --case of the events file, or pass --all")
    if sys.platform == "linux":
        size = args.memory_mb * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    measure(chosen[0], args.peer, args.setting, args.timeout)


if __name__ == "__main__":
    main()
