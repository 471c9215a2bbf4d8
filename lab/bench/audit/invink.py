"""Runs invink as it comes on a file of texts, one on each line, and prints a run on each line.

    invink.py MODEL DATA SEED RUNS EPSILON MODE

MODE default leaves random_seed as it comes, fresh gives each run a new one."""
import contextlib
import io
import os
import random
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
# A script of the package's name must not stand in for it.
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

import torch
torch.set_num_threads(1)
torch.cuda.is_bf16_supported = lambda *a, **k: True
import invink
model, data, seed, runs, epsilon, mode = sys.argv[1:7]
texts = open(data).read().strip().split("\n")
inside = invink.generate.__globals__
kept = {}
def once(name):  # the same model each time: loading is not what is audited
    load = inside[name]
    def get(**kw):
        if name not in kept:
            kept[name] = load(**kw)
        return kept[name]
    inside[name] = get


once("load_hf_model")
once("load_hf_tokenizer")
r = random.Random(int(seed))
for _ in range(int(runs)):
    kw = {} if mode == "default" else {"random_seed": r.randrange(2**31)}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        out = invink.generate(
            texts, model, "Short notes.", epsilon=float(epsilon), batch_size=3, num=1, max_toks=4,
            device_map=-1, dtype="float32", topk=10, **kw)
    print(" | ".join(t.replace("\n", " ") for t in out.texts) or "-")
