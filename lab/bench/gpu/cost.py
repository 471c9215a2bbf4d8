"""Measures what a GPU does with the work of the methods: the forward pass of torch/worker.py, as runs use it.

    python3 cost.py --out measured.json

Weights are random, of the true shapes: what a pass costs does not depend on their values. Times are those of whole
messages, from the numbers that the program sends to the scores that it gets back, the median of several. Nothing is
computed from a data sheet. `go run ./bench/gpu cost` prints the table, with money.
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import time
import types

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch"))
import worker

PAGE = worker.PAGE
NOTHING, CANDIDATES, BEST = 0, 1, 2


class Shape(types.SimpleNamespace):
    """The numbers of a model."""


MODELS = {
    "SmolLM2-135M": Shape(layers=30, width=576, heads=9, kv=3, head=64, hidden=1536, vocabulary=49152, bias=False, tied=True),
    "Qwen2.5-1.5B": Shape(layers=28, width=1536, heads=12, kv=2, head=128, hidden=8960, vocabulary=151936, bias=True, tied=True),
    "Llama-3.1-8B": Shape(layers=32, width=4096, heads=32, kv=8, head=128, hidden=14336, vocabulary=128256, bias=False, tied=False),
    # For a test without a GPU.
    "tiny": Shape(layers=2, width=64, heads=4, kv=2, head=16, hidden=128, vocabulary=512, bias=True, tied=True),
}


class Random(worker.Model):
    """A model of a shape, with random weights."""

    def __init__(self, shape, options):
        self.shape = shape
        super().__init__(options)

    def load(self, _):
        s = self.shape
        self.layers_n, self.width, self.heads, self.kv, self.head = s.layers, s.width, s.heads, s.kv, s.head
        self.hidden, self.vocabulary, self.context, self.epsilon = s.hidden, s.vocabulary, 4096, 1e-5
        source = torch.Generator(self.device).manual_seed(1)

        def normal(rows, columns):
            # Such that what comes out of a product is about as large as what goes in.
            return self.low(torch.randn((rows, columns), generator=source, device=self.device) * columns**-0.5)

        across, inner = (s.heads + 2 * s.kv) * s.head, s.heads * s.head
        one = lambda: torch.ones(s.width, device=self.device)
        self.layers = [
            {
                "norm1": one(), "norm2": one(), "qkv": normal(across, s.width), "bias": self.low(torch.zeros(across, device=self.device)) if s.bias else None,
                "out": normal(s.width, inner), "both": normal(2 * s.hidden, s.width), "down": normal(s.width, s.hidden),
            }
            for _ in range(s.layers)
        ]
        self.embedding = torch.randn((s.vocabulary, s.width), generator=source, device=self.device)
        self.norm = one()
        self.output = self.low(self.embedding) if s.tied else normal(s.vocabulary, s.width)
        angle = torch.outer(torch.arange(self.context).double(), 10000.0 ** (-torch.arange(0, s.head, 2).double() / s.head))
        self.cosine, self.sine = angle.cos().float().to(self.device), angle.sin().float().to(self.device)

    def parameters(self):
        matrices = sum(layer[n].numel() for layer in self.layers for n in ("qkv", "out", "both", "down"))
        return matrices + self.embedding.numel() + (0 if self.shape.tied else self.output.numel())


class Sequence:
    def __init__(self, state):
        self.pages, self.length, self.state = [], 0, state


class Room:
    """The books of pages and sequences, which the program keeps in a run."""

    def __init__(self, model, seed=1):
        self.model, self.random = model, np.random.default_rng(seed)
        self.next = self.states = 0
        self.copies = []

    def page(self):
        if self.next >= self.model.pages:
            raise SystemExit(f"the cache has {self.model.pages} pages, which is too few: give more with --cache")
        self.next += 1
        return self.next - 1

    def new(self, of=None):
        self.states += 1
        q = Sequence(self.states - 1)
        if of is not None:  # a fork: full pages are shared, a page in use is copied
            full = of.length // PAGE
            q.pages, q.length = list(of.pages[:full]), of.length
            if of.length % PAGE:
                q.pages.append(self.page())
                self.copies.append((of.pages[full], q.pages[-1]))
        return q

    def send(self, steps, lists=()):
        """A message with steps (sequence, new tokens, ask, argument); returns how many tokens were computed."""
        start, count, pages = [], [], []
        for q, tokens, _, _ in steps:
            while len(q.pages) * PAGE < q.length + tokens:
                q.pages.append(self.page())
            start.append(q.length)
            count.append(tokens)
            q.length += tokens
            pages.append(q.pages if tokens else [])
        total = sum(count)
        tokens = self.random.integers(0, self.model.vocabulary, total)
        copies = np.array(self.copies, np.int32).reshape(-1, 2).T.reshape(-1)
        parts = [[len(self.copies), len(steps), total, sum(map(len, pages)), len(lists), sum(map(len, lists))], copies, start, count,
                 [len(p) for p in pages], [s[0].state for s in steps], [s[2] for s in steps], [s[3] for s in steps], tokens,
                 *pages, [len(l) for l in lists], *lists]
        self.copies = []
        worker.handle(self.model, np.concatenate([np.asarray(p, np.int32) for p in parts]))
        return total


def labels(model, n):
    return [list(range(7, 7 + n))]


def prefill(model, size):
    """Prompts of which nothing is shared."""
    room = Room(model)
    return lambda: room.send([(room.new(), size.prefill, BEST, 1) for _ in range(size.prompts)])


def decode(model, size, sequences):
    """Sequences that are written on, a token each."""
    room = Room(model)
    all_ = [room.new() for _ in range(sequences)]
    room.send([(q, size.prefill, NOTHING, 0) for q in all_])
    return lambda: room.send([(q, 1, BEST, 1) for q in all_])


def choose(model, size):
    """Short questions over few prefixes, answered by a label of four: what choosing by the records does."""
    room = Room(model)
    prefixes = [room.new() for _ in range(size.prefixes)]
    room.send([(q, size.prefix, NOTHING, 0) for q in prefixes])
    begun, states = room.next, room.states

    def once():
        room.next, room.states = begun, states  # the questions before are dropped
        return room.send([(room.new(prefixes[i % len(prefixes)]), size.question, CANDIDATES, 0) for i in range(size.questions)], labels(model, 4))

    return once


def clipped(model, size, texts):
    """Whole texts: prompts that share an instruction, and then a token at a time for all, with scores of 100 candidates."""
    room = Room(model)
    instruction = room.new()
    room.send([(instruction, size.instruction, NOTHING, 0)])
    begun, states = room.next, room.states
    best = min(100, model.vocabulary)
    candidates = [sorted(room.random.choice(model.vocabulary, best, replace=False)) for _ in range(texts)]

    def once():
        room.next, room.states = begun, states
        sets = [[room.new(instruction) for _ in range(1 + size.records)] for _ in range(texts)]
        total = 0
        for at in range(size.tokens):
            new = size.record if at == 0 else 1
            total += room.send([(q, new, BEST if i == 0 else NOTHING, 2 * best if i == 0 else 0) for s in sets for i, q in enumerate(s)])
            room.send([(q, 0, CANDIDATES, i) for i, s in enumerate(sets) for q in s[1:]], candidates)
        return total

    return once


def vote(model, size, answers):
    """Answers with a label: a prompt for each of the drawn records, which share an instruction."""
    room = Room(model)
    instruction = room.new()
    room.send([(instruction, size.instruction, NOTHING, 0)])
    begun, states = room.next, room.states

    def once():
        room.next, room.states = begun, states
        return room.send([(room.new(instruction), size.record + size.question, CANDIDATES, 0) for _ in range(answers * size.voters)], labels(model, 4))

    return once


FULL = types.SimpleNamespace(prompts=32, prefill=512, prefixes=8, prefix=300, question=30, questions=4096, instruction=40, record=75, records=32,
                             tokens=100, voters=40, sequences=(1, 33, 1024), texts=(1, 16, 48), answers=(1, 64), repeats=5)
SMALL = types.SimpleNamespace(prompts=2, prefill=20, prefixes=2, prefix=21, question=5, questions=6, instruction=10, record=7, records=3,
                              tokens=3, voters=4, sequences=(1, 3), texts=(1, 2), answers=(1, 2), repeats=2)


def work(model, size):
    """What is measured: name, how many of its units a run does, what the unit is, the run, and whether once is enough."""
    yield f"prefill of {size.prompts} prompts of {size.prefill} tokens", size.prompts, "prompts", prefill(model, size)
    for n in size.sequences:
        yield f"decode, {n} sequence{'s' * (n > 1)}", n, "tokens", decode(model, size, n)
    yield f"choose: {size.questions} questions of {size.question} tokens over {size.prefixes} prefixes of {size.prefix}", size.questions, "questions", choose(model, size)
    for n in size.texts:
        yield f"clipped: {n} text{'s' * (n > 1)} at once, {size.tokens} tokens, {size.records} records of {size.record}", n, "texts", clipped(model, size, n)
    for n in size.answers:
        yield f"vote: {n} answer{'s' * (n > 1)} at once, {size.voters} records of {size.record}, question of {size.question}", n, "answers", vote(model, size, n)


def measure(run, repeats, least):
    """Tokens of a run, and the seconds of several after one that warms up."""
    clock = time.perf_counter
    began = clock()
    run()
    seconds = []
    warm = clock() - began
    while len(seconds) < repeats and (len(seconds) < 2 or sum(seconds) < least):
        began = clock()
        tokens = run()
        seconds.append(clock() - began)
    return tokens, seconds, warm


def ceilings(device):
    """What the device does at best: a large product in bfloat16, and a large copy (read and written bytes)."""
    if device.type != "cuda":
        return {}
    a, b = (torch.randn(8192, 8192, device=device, dtype=torch.bfloat16) for _ in range(2))
    x = torch.randn(2**30, device=device)
    y = torch.empty_like(x)

    def timed(f, n):
        for _ in range(3):
            f()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(n):
            f()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / 1e3 / n

    return {"tflops": 2 * 8192**3 / timed(lambda: a @ b, 20) / 1e12, "gigabytes_a_second": 2 * x.numel() * 4 / timed(lambda: y.copy_(x), 10) / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="SmolLM2-135M,Qwen2.5-1.5B,Llama-3.1-8B")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--cache", type=float, default=100, help="GiB of keys and values")
    parser.add_argument("--tokens", type=int, default=65536, help="most tokens of a pass")
    parser.add_argument("--small", action="store_true", help="small work: to try the program without a GPU")
    parser.add_argument("--seconds", type=float, default=6, help="stop repeating after so many")
    parser.add_argument("--out", help="a file for the measurements")
    options = parser.parse_args()
    options.model = None
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    device = torch.device(options.device)
    size = SMALL if options.small else FULL
    report = {"date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU",
              "torch": torch.__version__, "dtype": options.dtype, "rows": []}
    with torch.inference_mode():
        report["ceilings"] = ceilings(device)
        print(json.dumps(report["ceilings"]), flush=True)
        for name in options.models.split(","):
            model = Random(MODELS[name], options)
            for what, units, unit, run in work(model, size):
                tokens, seconds, warm = measure(run, size.repeats, options.seconds)
                row = {"model": name, "parameters": model.parameters(), "work": what, "unit": unit, "units": units, "tokens": tokens,
                       "seconds": statistics.median(seconds), "min": min(seconds), "max": max(seconds), "repeats": len(seconds)}
                report["rows"].append(row)
                print(f"{name}: {what}: {row['seconds']:.4f} s ({row['least']:.4f}-{row['most']:.4f}, {len(seconds)} times, warm-up {warm:.1f} s), "
                      f"{tokens / row['seconds']:.0f} tokens/s, {units / row['seconds']:.1f} {unit}/s", flush=True)
                if options.out:  # what is there stays if the rest fails
                    with open(options.out, "w") as f:
                        json.dump(report, f, indent=1)
            del model, run
            if device.type == "cuda":
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
