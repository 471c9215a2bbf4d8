"""sentence-transformers as one side of the comparison: reads a task a line, answers a line.

    python sentences.py --weights model.safetensors --vocab vocab.txt --threads 2

Tasks and answers are JSON objects, the same as those of Sotto's worker (worker.go).
`tune` tries sizes of batches, ways to compute attention, and onnxruntime instead of torch, and keeps
the fastest. It sorts texts by length itself, so that batches hold few empty places.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"  # all it needs is here
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TOKENIZERS_PARALLELISM"] = "true"

import numpy
import onnxruntime
import sentence_transformers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

SHOWN = 20  # vectors that are compared
BATCHES = [8, 16, 32, 64, 128, 256]

# What all-MiniLM-L6-v2 is, beside its weights and vocabulary.
CONFIG = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 6,
    "pad_token_id": 0,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}


ONNX = "onnxruntime"


class Exported(torch.nn.Module):
    """The encoder as onnxruntime gets it: tokens and mask in, the outputs of all places out."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state


class OnnxEncoder:
    """What SentenceTransformer does, with onnxruntime for the layers."""

    def __init__(self, model, folder, threads):
        self.tokenizer = model.tokenizer
        path = os.path.join(folder, "model.onnx")
        example = (torch.ones(2, 8, dtype=torch.int64), torch.ones(2, 8, dtype=torch.int64))
        axes = {0: "batch", 1: "places"}
        torch.onnx.export(
            Exported(model[0].auto_model.eval()), example, path, input_names=["ids", "mask"], output_names=["out"],
            dynamic_axes={"ids": axes, "mask": axes, "out": axes}, opset_version=17, dynamo=False,
        )
        path = fused(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def encode(self, texts, batch_size, show_progress_bar):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = [None] * len(texts)
        for first in range(0, len(order), batch_size):
            some = order[first : first + batch_size]
            got = self.tokenizer([texts[i] for i in some], padding=True, truncation=True, max_length=256, return_tensors="np")
            mask = got["attention_mask"].astype(numpy.int64)
            out = self.session.run(None, {"ids": got["input_ids"].astype(numpy.int64), "mask": mask})[0]
            means = (out * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
            means /= numpy.linalg.norm(means, axis=1, keepdims=True)
            for i, v in zip(some, means):
                vectors[i] = v
        return vectors


def fused(path):
    """The graph with attention, GELU and norms as single operations."""
    from onnxruntime.transformers import optimizer

    better = path.replace(".onnx", "-fused.onnx")
    optimizer.optimize_model(path, "bert", num_heads=CONFIG["num_attention_heads"], hidden_size=CONFIG["hidden_size"], opt_level=1).save_model_to_file(better)
    return better


class Worker:
    def __init__(self, folder, threads):
        self.folder, self.threads = folder, threads
        self.batch, self.attention, self.model = 32, "sdpa", None
        torch.set_num_threads(threads)

    def use(self, batch, attention):
        if self.model is None or attention != self.attention:
            kind = "eager" if attention == ONNX else attention
            words = Transformer(self.folder, model_kwargs={"attn_implementation": kind})
            words.max_seq_length = 256
            modules = [words, Pooling(CONFIG["hidden_size"], "mean"), Normalize()]
            self.model = SentenceTransformer(modules=modules, device="cpu")
            if attention == ONNX:
                self.model = OnnxEncoder(self.model, self.folder, self.threads)
        self.batch, self.attention = batch, attention

    def settings(self):
        how = f"onnxruntime {onnxruntime.__version__}" if self.attention == ONNX else f"{self.attention} attention"
        return f"batches of {self.batch} sorted by length, {how}"

    def embed(self, task):
        self.use(self.batch, self.attention)
        begin = time.perf_counter()
        vectors = self.model.encode(task["texts"], batch_size=self.batch, show_progress_bar=False)
        took = time.perf_counter() - begin
        tokens = self.model.tokenizer(task["texts"], padding=False, truncation=True, max_length=256)["input_ids"]
        return {
            "seconds": took,
            "settings": self.settings(),
            "computed": sum(len(ids) for ids in tokens),
            "values": [[float(x) for x in v] for v in vectors[:SHOWN]],
        }

    def tune(self, task):
        task, found = task["of"], []
        task = task | {"texts": task["texts"][: len(task["texts"]) // 2]}
        for attention in ["sdpa", "eager", ONNX]:
            # Which batches are best hardly depends on how torch computes attention.
            for batch in BATCHES if attention != "eager" else [min(found, key=lambda f: f["seconds"])["batch"]]:
                self.use(batch, attention)
                self.embed(task | {"texts": task["texts"][:batch]})
                seconds = self.embed(task)["seconds"]
                found.append({"seconds": seconds, "settings": self.settings(), "batch": batch, "attention": attention})
        best = min(found, key=lambda f: f["seconds"])
        self.use(best["batch"], best["attention"])
        factor = 2  # of the texts, half were used
        tried = [{"seconds": f["seconds"] * factor, "settings": f["settings"]} for f in found]
        return {"seconds": best["seconds"] * factor, "settings": self.settings(), "tried": tried}

    def peak(self, task):
        with open("/proc/self/status") as status:
            return {"seconds": 0, "peak_mb": int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) / 1024}

    def about(self, task):
        version = f"sentence-transformers {sentence_transformers.__version__}, transformers {transformers.__version__}, torch {torch.__version__}, onnxruntime {onnxruntime.__version__}, all in float32"
        return {"seconds": 0, "version": version}

    def handle(self, task):
        with torch.inference_mode():
            return getattr(self, task["task"])(task)


def lay_out(folder, weights, vocab):
    """A folder as sentence-transformers wants it."""
    os.symlink(os.path.abspath(weights), os.path.join(folder, "model.safetensors"))
    shutil.copy(vocab, os.path.join(folder, "vocab.txt"))
    for name, content in {
        "config.json": CONFIG,
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512},
    }.items():
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lay_out(folder, args.weights, args.vocab)
        worker = Worker(folder, args.threads)
        for line in sys.stdin:
            try:
                answer = worker.handle(json.loads(line))
            except Exception as error:  # the driver reports it and continues
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
