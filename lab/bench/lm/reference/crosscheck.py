"""Holds a fixture against an evaluation written from scratch, in numpy and F64.

    python crosscheck.py --model model.gguf --fixture reference-model.json.gz [--every 8]

Reads the quantised file itself, so the F32 copy is checked too. Prints the largest
difference of a log-probability, and how often each greedy step of the fixture is the
F64 evaluation's first choice (given the fixture's tokens before it), over every n-th
prompt that has its text in the fixture.
"""

import argparse
import gzip
import json

import gguf
import numpy as np


class F64:
    """A llama or qwen2 model; weights are turned into F64 as they are needed."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        field = lambda key: reader.get_field(key).contents()
        self.kind = field("general.architecture")
        if self.kind not in ("llama", "qwen2"):
            raise ValueError(f"architecture {self.kind} is not known here")
        number = lambda key: field(f"{self.kind}.{key}")
        self.layers = number("block_count")
        self.heads = number("attention.head_count")
        self.kv_heads = number("attention.head_count_kv")
        self.width = number("embedding_length") // self.heads
        self.epsilon = number("attention.layer_norm_rms_epsilon")
        self.base = number("rope.freq_base")
        self.tensors = {t.name: t for t in reader.tensors}

    def weight(self, name):
        tensor = self.tensors[name]
        return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)

    def linear(self, x, name):
        y = x @ self.weight(name + ".weight").T
        return y + self.weight(name + ".bias") if name + ".bias" in self.tensors else y

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon) * self.weight(name + ".weight")

    def rotate(self, x, positions):
        half = self.width // 2
        angle = positions[:, None] * self.base ** (-np.arange(half) / half)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        if self.kind == "llama":  # neighbouring pairs
            a, b = x[..., 0::2], x[..., 1::2]
            return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    def attend(self, x, layer, starts):
        name = f"blk.{layer}.attn_"
        q = self.linear(x, name + "q").reshape(len(x), self.heads, self.width)
        k = self.linear(x, name + "k").reshape(len(x), self.kv_heads, self.width)
        v = self.linear(x, name + "v").reshape(len(x), self.kv_heads, self.width)
        out = np.empty_like(q)
        for start, end in zip(starts, starts[1:]):
            positions = np.arange(end - start, dtype=np.float64)
            mask = np.where(positions[None] > positions[:, None], -np.inf, 0.0)
            queries, keys = self.rotate(q[start:end], positions), self.rotate(k[start:end], positions)
            for head in range(self.heads):
                group = head * self.kv_heads // self.heads
                s = queries[:, head] @ keys[:, group].T / np.sqrt(self.width) + mask
                s = np.exp(s - s.max(-1, keepdims=True))
                out[start:end, head] = s / s.sum(-1, keepdims=True) @ v[start:end, group]
        return self.linear(out.reshape(len(x), -1), name + "output")

    def logprobs(self, sequences, wanted):
        """Log-probabilities after the positions wanted[i] of sequences[i], one array each."""
        starts = np.cumsum([0] + [len(s) for s in sequences])
        x = self.weight("token_embd.weight")[np.concatenate(sequences)]
        for layer in range(self.layers):
            x = x + self.attend(self.norm(x, f"blk.{layer}.attn_norm"), layer, starts)
            h = self.norm(x, f"blk.{layer}.ffn_norm")
            gate = self.linear(h, f"blk.{layer}.ffn_gate")
            gate = gate / (1 + np.exp(-gate)) * self.linear(h, f"blk.{layer}.ffn_up")
            x = x + self.linear(gate, f"blk.{layer}.ffn_down")
        head = self.weight("output.weight" if "output.weight" in self.tensors else "token_embd.weight")
        out = []
        for start, rows in zip(starts, wanted):
            logits = self.norm(x[start + np.array(rows)], "output_norm") @ head.T
            logits -= logits.max(-1, keepdims=True)
            out.append(logits - np.log(np.exp(logits).sum(-1, keepdims=True)))
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--fixture", required=True)
    parser.add_argument("--every", type=int, default=8)
    args = parser.parse_args()
    with gzip.open(args.fixture) as file:
        prompts = [p for p in json.load(file)["prompts"] if "tokens" in p][:: args.every]
    sequences = [p["tokens"] + p["greedy"][:-1] for p in prompts]
    wanted = [range(len(p["tokens"]) - 1, len(s)) for p, s in zip(prompts, sequences)]
    found = F64(args.model).logprobs(sequences, wanted)
    worst, agree, steps, gaps = 0.0, 0, 0, []
    for prompt, logp in zip(prompts, found):
        for entry in prompt["top"] + prompt["others"]:
            worst = max(worst, abs(logp[0][entry["id"]] - entry["logprob"]))
        for row, token, margin in zip(logp, prompt["greedy"], prompt["greedy_margin"]):
            steps += 1
            agree += int(row.argmax()) == token
            second = np.partition(row, -2)[-2]
            gaps.append(abs(row.max() - second - margin))
    print(f"{len(prompts)} prompts, {sum(map(len, sequences))} tokens")
    print(f"largest difference of a log-probability: {worst:.2e}")
    print(f"greedy steps that agree: {agree} of {steps}; largest difference of a margin: {max(gaps):.2e}")


if __name__ == "__main__":
    main()
