"""Does the tasks of a suite with DSPy's BootstrapFewShotWithRandomSearch, and says how right it is.

It wants the files of `go run ./bench/dspy/export` and an OpenAI-compatible server. A line of JSON is
written for each data set and seed. Nothing here is private: DSPy sees the records and puts them into
prompts.

DSPy searches among K + 3 programs (K = --candidates): no demonstrations, labelled ones, and K + 1 sets of
bootstrapped and labelled ones. Each is tried on the same records, and there are as many of these as make
(K + 3) times their number what `sotto synth` asks of its records at ε = 1.

What a small model gets wrong in DSPy may be the layout of its answer alone. So the way of asking is chosen for
DSPy first, on records of their own (see `variants`), and answers that DSPy cannot read are counted, and
read once more by `lenient`.
"""

import argparse
import concurrent.futures
import contextlib
import gzip
import json
import logging
import multiprocessing
import os
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Literal

# DSPy is imported where it is used: these have to be set before.
os.environ.setdefault("DSPY_CACHEDIR", os.path.join(tempfile.gettempdir(), "dspy-cache"))
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")  # fetch nothing


def normal(text):
    """As the metric exact_match of package metric: lower case, single spaces."""
    return " ".join(str(text).split()).lower()


def lenient(task, text):
    """What an answer says that DSPy cannot read, or None: the label that comes first in it, or its first line."""
    text = re.sub(r"\[\[ ## \w+ ## \]\]", "\n", text or "")
    if task["labels"]:
        found = [(m.start(), label) for label in task["labels"] if (m := re.search(rf"\b{re.escape(label)}\b", text, re.I))]
        return min(found)[1] if found else None
    field = name(task["output"])
    text = re.sub(rf"\b{field}\b\s*:", " ", re.sub(r'[{}"]', " ", text), flags=re.I)
    return next((line.strip() for line in text.splitlines() if line.strip()), None)


def name(words):
    """A field's name for DSPy."""
    return re.sub(r"\W+", "_", words.strip().lower())


def variants(task):
    """Ways of asking: DSPy's two adapters for chats, each with labels as a type (its advice) or as any string."""
    types = ["literal", "str"] if task["labels"] else ["str"]
    return [(adapter, kind) for adapter in ("chat", "json") for kind in types]


class Usage:
    """Counts what goes to the model, and not what DSPy remembers."""

    def __init__(self):
        self.lock, self.calls, self.tokens = threading.Lock(), 0, [0, 0]

    def add_usage(self, _, usage):
        with self.lock:
            self.calls += 1
            self.tokens[0] += usage.get("prompt_tokens") or 0
            self.tokens[1] += usage.get("completion_tokens") or 0

    def __deepcopy__(self, _):
        return self  # DSPy copies it for each thread

    def since(self, before):
        return {"calls": self.calls - before[0], "prompt_tokens": self.tokens[0] - before[1], "written_tokens": self.tokens[1] - before[2]}

    def now(self):
        return self.calls, *self.tokens


class Trial:
    """A data set and a seed."""

    def __init__(self, options, task, seed):
        import dspy

        logging.getLogger("dspy").setLevel(logging.CRITICAL)
        dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
        self.dspy, self.options, self.task = dspy, options, task
        task["labels"] = task.get("labels") or []
        self.input, self.output = name(task["input"]), name(task["output"])
        self.usage, self.read = Usage(), 0
        lm = dspy.LM(f"openai/{options.model}", api_base=options.url, api_key="none", temperature=0.0, max_tokens=options.max_tokens,
                     stop=["[[ ## completed"], num_retries=3, timeout=options.timeout)
        dspy.configure(lm=lm, usage_tracker=self.usage, max_errors=10**9)
        records = [self.example(r) for r in task["records"]]
        random.Random(seed).shuffle(records)
        sizes = options.dev, options.train, options.val or int(task["answers"] // (options.candidates + 3))
        if sum(sizes) > len(records):
            raise SystemExit(f"{task['name']} has {len(records)} records, and {sum(sizes)} are wanted: lower --dev, --train or --val")
        self.dev, self.train, self.val = (records[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in range(3))
        self.test = [self.example(r) for r in task["items"][: options.items or None]]

    def example(self, item):
        return self.dspy.Example({self.input: item["input"], self.output: item["output"]}).with_inputs(self.input)

    def right(self, example, prediction, trace=None):
        """The metric. It is not asked about answers that DSPy cannot read."""
        with self.usage.lock:
            self.read += trace is None
        return normal(example[self.output]) == normal(getattr(prediction, self.output, ""))

    def program(self, kind):
        dspy = self.dspy
        annotation = Literal[tuple(self.task["labels"])] if kind == "literal" else str
        fields = {self.input: (str, dspy.InputField()), self.output: (annotation, dspy.OutputField())}
        instruction = self.task.get("instruction")
        return dspy.Predict(dspy.Signature(fields, instruction) if instruction else dspy.Signature(fields))

    def adapter(self, name):
        return {"chat": self.dspy.ChatAdapter, "json": self.dspy.JSONAdapter}[name]()

    def score(self, program, adapter, examples):
        """How right a program is, how right if its answers are read leniently, and how many DSPy cannot read."""
        from dspy.utils.exceptions import AdapterParseError

        def ask(example):
            with self.dspy.context(lm=self.dspy.settings.lm, adapter=adapter, usage_tracker=self.usage):
                try:
                    got = program(**example.inputs())
                    return self.right(example, got), got[self.output], False
                except AdapterParseError as e:
                    return False, e.lm_response, True

        from dspy.utils.parallelizer import ParallelExecutor

        run = ParallelExecutor(num_threads=self.options.threads, disable_progress_bar=True, max_errors=1)
        correct = read = failed = 0
        for example, (ok, said, unread) in zip(examples, run.execute(ask, examples)):
            correct += ok
            failed += unread
            if not ok:
                guess = lenient(self.task, said)
                ok = guess is not None and normal(guess) == normal(example[self.output])
            read += ok
        n = len(examples)
        return {"accuracy": round(100 * correct / n, 2), "lenient": round(100 * read / n, 2), "unread": failed, "items": n}

    def choose_variant(self):
        """What suits each kind of program best, by its accuracy on the development records."""
        tried = {}
        for adapter, kind in variants(self.task):
            zero = self.program(kind)
            labelled = self.dspy.LabeledFewShot(k=16).compile(self.program(kind), trainset=self.train)
            tried[f"{adapter} {kind}"] = {
                "zero": self.score(zero, self.adapter(adapter), self.dev), "labelled": self.score(labelled, self.adapter(adapter), self.dev),
            }
        best = {which: max(tried, key=lambda v: tried[v][which]["accuracy"]) for which in ("zero", "labelled")}
        return tried, best["zero"], best["labelled"]

    def run(self):
        dspy, options = self.dspy, self.options
        began, at = time.time(), self.usage.now()
        tried, zero_variant, variant = self.choose_variant()
        row = {"development": tried, "zero_variant": zero_variant, "variant": variant, "development_cost": self.usage.since(at)}
        at, searching, self.read = self.usage.now(), time.time(), 0
        adapter, kind = variant.split()
        with dspy.context(adapter=self.adapter(adapter), lm=dspy.settings.lm):
            search = dspy.BootstrapFewShotWithRandomSearch(
                metric=self.right, max_bootstrapped_demos=4, max_labeled_demos=16, num_candidate_programs=options.candidates, num_threads=options.threads,
            )
            best = search.compile(self.program(kind), trainset=self.train, valset=self.val)
        row |= {"search_cost": self.usage.since(at), "search_seconds": round(time.time() - searching, 1)}
        row |= {"search_answers": (options.candidates + 3) * len(self.val), "search_unread": (options.candidates + 3) * len(self.val) - self.read}
        first = best.candidate_programs[0]
        row |= {"candidate": first["seed"], "demonstrations": len(best.demos), "validation": first["score"],
                "validations": [c["score"] for c in best.candidate_programs]}
        at = self.usage.now()
        zero_adapter, zero_kind = zero_variant.split()
        row["zero"] = self.score(self.program(zero_kind), self.adapter(zero_adapter), self.test)
        row["optimised"] = self.score(best, self.adapter(adapter), self.test)
        row |= {"test_cost": self.usage.since(at), "seconds": round(time.time() - began, 1), "prompt": [dict(d) for d in best.demos] if options.prompts else None}
        return row


def work(options, path, seed):
    """A row. What DSPy prints goes to a log."""
    task = json.loads(gzip.decompress(Path(path).read_bytes()))
    with open(Path(options.logs, f"{task['name']}-{seed}.log") if options.logs else os.devnull, "w") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        trial = Trial(options, task, seed)
        row = {"dataset": task["name"], "model": options.model, "seed": seed, "dspy": trial.dspy.__version__, "budget": task["answers"],
               "train": len(trial.train), "val": len(trial.val), "candidates": options.candidates}
        return row | trial.run()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="files that export wrote")
    parser.add_argument("--url", default="http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="smollm2", help="the name that the server and the rows know it by")
    parser.add_argument("--seeds", default="1", help="separated by commas")
    parser.add_argument("--out", default="dspy.jsonl", help="a file for the rows")
    parser.add_argument("--logs", help="a folder for what DSPy prints; default: nowhere")
    parser.add_argument("--candidates", type=int, default=16, help="K; DSPy's default is 16")
    parser.add_argument("--train", type=int, default=200, help="records to take demonstrations from")
    parser.add_argument("--val", type=int, default=0, help="records to try programs on; default: what the budget allows")
    parser.add_argument("--dev", type=int, default=64, help="records to choose the way of asking with")
    parser.add_argument("--items", type=int, default=0, help="test items; default: all in the file")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=32, help="requests at once, of each data set and seed")
    parser.add_argument("--parallel", type=int, default=1, help="data sets and seeds at once")
    parser.add_argument("--timeout", type=float, default=300, help="seconds of a request")
    parser.add_argument("--prompts", action="store_true", help="write the demonstrations of the best program too")
    options = parser.parse_args()
    began, failed = time.time(), 0
    jobs = [(path, int(seed)) for seed in options.seeds.split(",") for path in options.files]
    with open(options.out, "a") as out, concurrent.futures.ProcessPoolExecutor(options.parallel, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(work, options, *job): job for job in jobs}
        for done in concurrent.futures.as_completed(futures):
            path, seed = futures[done]
            try:
                row = done.result()
            except Exception as e:
                failed += 1
                print(f"{path}, seed {seed} failed: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
                continue
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(f"{time.time() - began:6.1f} s {row['dataset']} seed {seed}: none {row['zero']['accuracy']}, optimised {row['optimised']['accuracy']} "
                  f"(read leniently {row['optimised']['lenient']}, {row['optimised']['unread']} unread; {row['variant']}; {row['search_cost']['calls']} calls)", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
