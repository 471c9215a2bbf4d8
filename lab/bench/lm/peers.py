"""llama.cpp as one side of the comparison: reads a task a line, answers a line.

    python peers.py --model model.gguf --threads 2

Tasks and answers are JSON objects, the same as those of Sotto's worker (worker.go).
`tune` tries the ways llama.cpp can do a task and keeps the fastest, so that later
runs of the task show it at its best:

- repack: weights laid out anew for its faster kernels where it has some for the
  format, or as they are in the file;
- flash: its fused attention, or the plain one;
- unified: one cache for all sequences, with a stored prefix shared, or one each;
- wide: as many questions as fit a batch, or half as many.

`quantise` writes a Q8_0 copy of the weights, the format it is fastest with.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time

import llama_cpp
import numpy as np
from llamacpp import BATCH, Model

Q8_0 = 7  # llama.cpp's number for files of mostly Q8_0


class Worker:
    def __init__(self, path, threads, repack):
        self.path, self.threads, self.repack = path, threads, repack
        self.best = {}
        self.have = None, None  # settings, model
        self.fanned = None  # what the model holds, if it is a fan

    def model(self, **settings):
        """A model with these settings; the last one is kept, as loading is not the task."""
        self.fanned = None
        have, model = self.have
        if have != settings:
            if model:
                model.close()
            self.have = None, None
            model = Model(self.path, threads=self.threads, **settings)
            self.have = settings, model
        model.clear()
        return model

    def first(self, task):
        """Settings that suit a task before others are tried."""
        settings = {"repack": False, "flash": True, "unified": task["task"] in ("memory", "questions")}
        return settings | ({"wide": True} if task["task"] == "questions" else {})

    def tune(self, task):
        """Changes one choice after the other, and stays with what is faster."""
        task, found = task["of"], []
        best = self.first(task) | {"repack": self.repack}
        choices = ["repack"] if self.repack else []
        choices += ["flash"] + (["unified"] if task["task"] in ("ensemble", "questions") else [])
        choices += ["wide"] if "wide" in best else []
        whole, task = task, fewer(task)
        scale = len(whole.get("prefixes", [0])) / len(task.get("prefixes", [0]))
        seconds = self.time(task, best)
        found.append({"seconds": seconds, "settings": describe(best)})
        for choice in choices:
            other = best | {choice: not best[choice]}
            took = self.time(task, other)
            found.append({"seconds": took, "settings": describe(other)})
            if took < seconds:
                best, seconds = other, took
        self.best[task["task"]] = best
        found = [f | {"seconds": f["seconds"] * scale} for f in found]
        return {"seconds": seconds * scale, "settings": describe(best), "tried": found}

    def time(self, task, settings):
        warm_up = self.run(task, settings)["seconds"]
        return min(self.run(task, settings)["seconds"] for _ in range(2 if warm_up < 5 else 1))

    def handle(self, task):
        if task["task"] == "tune":
            return self.tune(task)
        settings = self.best.get(task["task"], self.first(task))
        return self.run(task, settings) | {"settings": describe(settings)}

    def run(self, task, settings):
        return getattr(self, task["task"])(task, settings)

    def prefill(self, task, settings):
        """A prompt from nothing, with the logits of its last token."""
        model, tokens = self.model(sequences=1, context=1024, **settings), task["tokens"]
        batch = [(t, i, [0], i + 1 == len(tokens)) for i, t in enumerate(tokens)]
        begin = time.perf_counter()
        model.run(batch)
        model.row(len(tokens) - 1)
        return {"seconds": time.perf_counter() - begin}

    def decode(self, task, settings):
        """One sequence, token by token, each the likeliest after those before."""
        model, tokens = self.model(sequences=1, context=1024, **settings), task["tokens"]
        row = model.decode([(t, i, [0], i + 1 == len(tokens)) for i, t in enumerate(tokens)])[0]
        at = len(tokens)
        begin = time.perf_counter()
        for step in range(task["steps"]):
            model.run([(int(row.argmax()), at + step, [0], True)])
            row = model.view(0)
        return {"seconds": time.perf_counter() - begin}

    def ensemble(self, task, settings):
        """Steps of all sequences at once, over a prefix that they share.

        It computes whole rows of logits for all that any are wanted of, and
        candidates are picked from them.
        """
        model = self.fan(task, settings)
        at = len(task["prefix"]) + len(task["own"][0])
        model.run([(own[0], at, [s], True) for s, own in enumerate(task["own"])])
        for sequence in range(len(task["own"])):  # back to where it was, now warm
            model.remove(sequence, at)
        candidates = np.array(task["candidates"])
        begin = time.perf_counter()
        for step in range(task["steps"]):
            model.run([(own[step], at + step, [s], True) for s, own in enumerate(task["own"])])
            whole = model.row(0)
            chosen = [model.view(s)[candidates] for s in range(1, len(task["own"]))]
        assert len(whole) and len(chosen) == len(task["own"]) - 1
        return {"seconds": time.perf_counter() - begin}

    def fan(self, task, settings):
        """A model that holds the sequences; they are computed once for several runs."""
        if self.fanned == (task, settings):
            model = self.have[1]
            for sequence in range(len(task["own"])):
                model.remove(sequence, len(task["prefix"]) + len(task["own"][0]))
            return model
        prefix, own = task["prefix"], task["own"]
        longest = len(prefix) + len(own[0]) + 64
        room = len(prefix) + len(own) * (len(own[0]) + 64) if settings["unified"] else len(own) * longest
        model = self.model(sequences=len(own), context=(room + 255) // 256 * 256, **settings)
        model.run([(t, i, [0], False) for i, t in enumerate(prefix)])
        for sequence in range(1, len(own)):
            model.copy(0, sequence)
        for sequence, tokens in enumerate(own):
            model.run([(t, len(prefix) + i, [sequence], i + 1 == len(tokens)) for i, t in enumerate(tokens)])
        self.fanned = task, settings
        return model

    def questions(self, task, settings):
        """Questions after shared prefixes: a prefix is computed once, copied, and a batch
        takes as many of its questions as fit."""
        settings = dict(settings)
        prefixes, own, candidates = task["prefixes"], task["own"], np.array(task["candidates"])
        longest, each = len(own[0]), len(own) // len(prefixes)
        wide = min(BATCH // longest, each)
        if not settings.pop("wide"):
            wide = (wide + 1) // 2
        room = len(prefixes[0]) + wide * longest if settings["unified"] else (wide + 1) * (len(prefixes[0]) + longest)
        slack = 256 if settings["unified"] else 256 * (wide + 1)  # rounding up
        model = self.model(sequences=wide + 1, context=(room + slack) // 256 * 256, **settings)
        values, begin = [], time.perf_counter()
        for p, prefix in enumerate(prefixes):
            model.clear()
            model.run([(t, i, [0], False) for i, t in enumerate(prefix)])
            mine = own[p * each : (p + 1) * each]
            for at in range(0, each, wide):
                part = mine[at : at + wide]
                batch = []
                for s, tokens in enumerate(part, 1):
                    model.remove(s, 0)
                    model.copy(0, s)
                    batch += [(t, len(prefix) + i, [s], i + 1 == len(tokens)) for i, t in enumerate(tokens)]
                model.run(batch)
                values += [model.view(s * longest - 1)[candidates] for s in range(1, len(part) + 1)]
        took = time.perf_counter() - begin
        computed = sum(map(len, prefixes)) + sum(map(len, own))
        return {"seconds": took, "computed": computed, "values": [among(v) for v in values]}

    def memory(self, task, settings):
        """Peak memory of holding the sequences; run in a process of its own."""
        begin = time.perf_counter()
        self.fan(task, settings)
        took = time.perf_counter() - begin
        with open("/proc/self/status") as status:  # not getrusage: a child starts with its parent's peak there
            peak = int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) / 1024
        return {"seconds": took, "peak_mb": peak}

    def load(self, task, settings):
        """Opening the file until it can be used."""
        have, model = self.have
        if model:
            model.close()
            self.have = None, None
        begin = time.perf_counter()
        Model(self.path, sequences=1, context=1024, threads=self.threads, **settings).close()
        return {"seconds": time.perf_counter() - begin}

    def about(self, task, settings):
        info = llama_cpp.llama_print_system_info().decode().strip(" |")
        return {"name": "llama.cpp", "version": f"llama-cpp-python {llama_cpp.__version__}", "about": info}


def fewer(task):
    """Of many questions some that take seconds: those of two prefixes."""
    if task["task"] != "questions":
        return task
    each = len(task["own"]) // len(task["prefixes"])
    return task | {"prefixes": task["prefixes"][:2], "own": task["own"][: 2 * each]}


def among(logits):
    """Probabilities among themselves."""
    x = np.exp(logits.astype(np.float64) - logits.max())
    return [float(p) for p in x / x.sum()]


def describe(settings):
    words = {
        "repack": ("weights repacked", "weights as in the file"),
        "flash": ("flash attention", "plain attention"),
        "unified": ("one cache for all", "a cache for each"),
        "wide": ("as many questions as fit a batch", "half as many questions as fit a batch"),
    }
    return ", ".join(words[k][0 if v else 1] for k, v in settings.items())


def quantise(source, target):
    """Writes a Q8_0 copy of source; through F32, as it requantises nothing else well."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference"))
    import dequantise

    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as folder:
        plain = os.path.join(folder, "f32.gguf")
        dequantise.copy(source, plain)
        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype = Q8_0
        part = os.path.join(folder, "q8_0.gguf")
        if llama_cpp.llama_model_quantize(plain.encode(), part.encode(), params) != 0:
            sys.exit(f"llama.cpp cannot quantise {source}")
        os.replace(part, target)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repack", action="store_true", help="try repacked weights too")
    parser.add_argument("--quantise", help="write a Q8_0 copy of the model to this file, and end")
    args = parser.parse_args()
    if args.quantise:
        return quantise(args.model, args.quantise)
    worker = Worker(args.model, args.threads, args.repack)
    for line in sys.stdin:
        try:
            answer = worker.handle(json.loads(line))
        except Exception as error:  # the driver reports it and continues
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
