"""The forward pass of a GGUF model through PyTorch, as a process that answers messages.

The program that starts it keeps all books: which pages of keys and values a sequence has, which
are shared, where its last state lies. A message says what to copy, what to compute and what to
answer; the worker holds nothing but the weights, the pool of pages and the states.

A message is a length (uint64) and that many bytes of int32, little-endian:
    copies, steps, tokens, pages, lists, list tokens          the numbers of what follows
    copy from, copy to                                        pages
    start, count, page count, state, ask, argument            of each step
    tokens                                                    of all steps
    pages                                                     of all steps
    list lengths, list tokens
ask is 0 nothing, 1 candidates (argument: which list), 2 best (argument: how many), 3 all,
4 given (argument: how many of the step's last tokens; less than its tokens).

A reply is a status (uint32: 0 is well), a length (uint64) and bytes: float32 scores of all
candidate asks in the order of the steps; then for each ask for best its tokens (int32), then
their scores; then the whole rows; then for each given token the best one at its place (int32; of
equal ones the lowest) and its own score. Other tokens of equal score come in no certain order.
After an error the bytes are what went wrong, which never holds tokens.
"""

import argparse
import json
import math
import os
import struct
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import head
import weights

PAGE = 16


class Model:
    def __init__(self, options):
        self.device = torch.device(options.device)
        self.cuda = self.device.type == "cuda"
        self.triton = self.cuda or os.environ.get("TRITON_INTERPRET") == "1"
        if self.triton:
            import kernels
            self.kernels = kernels
        self.dtype = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}[options.dtype]
        self.limit = options.tokens
        self.load(options.model)
        bytes_ = self.layers_n * 2 * PAGE * self.kv * self.head * self.dtype.itemsize
        self.pages = int(options.cache * 2**30 // bytes_)
        self.pool = torch.empty((self.pages, self.layers_n, 2, PAGE, self.kv, self.head), dtype=self.dtype, device=self.device)
        self.states = torch.zeros((1024, self.width), device=self.device)
        self.seconds = {"wait": 0.0, "copy": 0.0, "forward": 0.0, "head": 0.0, "reply": 0.0}
        self.computed = self.passes = self.messages = 0

    def load(self, path):
        meta, tensor = weights.read(path)
        arch = meta["general.architecture"].decode()
        if arch not in ("llama", "qwen2"):
            raise ValueError(f"architecture {arch}: this worker runs llama and qwen2")
        get = lambda key, default=None: meta.get(f"{arch}.{key}", default)
        self.layers_n, self.width, self.heads = get("block_count"), get("embedding_length"), get("attention.head_count")
        self.kv = get("attention.head_count_kv", self.heads)
        self.head = get("attention.key_length", self.width // self.heads)
        self.hidden, self.context = get("feed_forward_length"), get("context_length")
        self.epsilon = get("attention.layer_norm_rms_epsilon")
        if get("rope.scaling.type", b"none") != b"none" or tensor("rope_freqs.weight") is not None:
            raise ValueError("the model stretches positions, which this worker does not do")
        if get("rope.dimension_count", self.head) != self.head:
            raise ValueError("the model rotates a part of each head, which this worker does not do")

        def full(name):
            array = tensor(name)
            if array is None:
                raise ValueError(f"tensor {name} is missing")
            return torch.from_numpy(array).to(self.device)

        def halves(t, heads):
            # Pairs (2i, 2i+1) become (i, i+half): scores are sums over both and do not change.
            if arch != "llama":
                return t
            return t.view(heads, self.head // 2, 2, -1).transpose(1, 2).reshape(t.shape)

        self.layers = []
        for i in range(self.layers_n):
            one = lambda name: full(f"blk.{i}.{name}")
            layer = {
                "norm1": one("attn_norm.weight"), "norm2": one("ffn_norm.weight"),
                "qkv": torch.cat([halves(one("attn_q.weight"), self.heads), halves(one("attn_k.weight"), self.kv), one("attn_v.weight")]),
                "out": one("attn_output.weight"),
                "both": torch.cat([one("ffn_gate.weight"), one("ffn_up.weight")]),
                "down": one("ffn_down.weight"),
            }
            for name in ("qkv", "out", "both", "down"):
                layer[name] = self.low(layer[name])
            layer["bias"] = None
            if tensor(f"blk.{i}.attn_q.bias") is not None:
                layer["bias"] = self.low(torch.cat([halves(one("attn_q.bias"), self.heads), halves(one("attn_k.bias"), self.kv), one("attn_v.bias")]))
            self.layers.append(layer)
        self.embedding = full("token_embd.weight")
        self.norm = full("output_norm.weight")
        output = tensor("output.weight")
        self.output = self.low(self.embedding if output is None else torch.from_numpy(output).to(self.device))
        self.vocabulary = len(meta["tokenizer.ggml.tokens"])
        base = get("rope.freq_base", 10000.0)
        frequency = float(base) ** (-torch.arange(0, self.head, 2, dtype=torch.float64) / self.head)
        angle = torch.outer(torch.arange(self.context, dtype=torch.float64), frequency)
        self.cosine, self.sine = angle.cos().float().to(self.device), angle.sin().float().to(self.device)

    def low(self, t):
        """Rounds to the computing type. A CPU computes with the rounded values in float32."""
        t = t.to(self.dtype)
        return t if self.cuda else t.float()

    def times(self, a, w, bias=None, wide=False):
        """a · wᵀ + bias; wide keeps float32."""
        if self.cuda and wide and self.dtype != torch.float32:
            return torch.mm(a, w.t(), out_dtype=torch.float32)
        y = F.linear(a, w, bias)
        return y if wide else self.low(y)

    def batch_times(self, a, w):
        """a · wᵀ for each of a batch, in float32."""
        if self.cuda and self.dtype != torch.float32:
            return torch.bmm(a, w.transpose(1, 2), out_dtype=torch.float32)
        return torch.bmm(a, w.transpose(1, 2))

    # The parts of a layer, each through Triton or plainly.

    def add_norm(self, x, y, weight):
        if not self.triton:
            if y is not None:
                x += y
            return self.low(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * weight)
        out = torch.empty_like(x, dtype=self.dtype if self.cuda else torch.float32)
        block = 1 << (self.width - 1).bit_length()
        self.kernels.add_norm[(len(x),)](x, x if y is None else y, weight, out, self.width, self.epsilon, HAS=y is not None, BLOCK=block)
        return out if self.cuda else self.low(out)

    def gate(self, both):
        if not self.triton:
            g, u = both.chunk(2, -1)
            return self.low(F.silu(g) * u)
        out = torch.empty((len(both), self.hidden), dtype=both.dtype, device=both.device)
        self.kernels.gate[(len(both), -(-self.hidden // 512))](both, out, self.hidden, BLOCK=512)
        return out if self.cuda else self.low(out)

    def rotate(self, qkv, plan, layer):
        key, value = self.offsets(layer)
        if self.triton:
            power = lambda n: 1 << (n - 1).bit_length()
            self.kernels.rotate[(len(qkv),)](
                qkv, plan.position, plan.place, self.cosine, self.sine, self.pool, key, value,
                HEADS=self.heads, KV=self.kv, HALF=self.head // 2, ROWS=power(self.heads + self.kv), KVROWS=power(self.kv), num_warps=2)
            return
        parts = qkv.view(len(qkv), -1, self.head)
        turned = parts[:, : self.heads + self.kv]
        c, s = self.cosine[plan.position][:, None], self.sine[plan.position][:, None]
        a, b = turned.chunk(2, -1)
        turned.copy_(self.low(torch.cat([a * c - b * s, b * c + a * s], -1)))
        self.pool[plan.page, layer, 0, plan.inside] = turned[:, self.heads :].to(self.dtype)
        self.pool[plan.page, layer, 1, plan.inside] = parts[:, self.heads + self.kv :].to(self.dtype)

    def offsets(self, layer):
        one = PAGE * self.kv * self.head
        return layer * 2 * one, (layer * 2 + 1) * one

    def attend(self, qkv, plan, layer):
        out = torch.empty((len(qkv), self.heads * self.head), dtype=qkv.dtype, device=qkv.device)
        if self.triton:
            key, value = self.offsets(layer)
            for blocks, rows, bm in plan.blocks:
                self.kernels.attend[(len(blocks), self.kv)](
                    qkv, out, self.pool, plan.pages, blocks, rows, plan.first, plan.count, plan.start, plan.page_at,
                    key, value, self.pool.stride(0), 1 / math.sqrt(self.head),
                    HEADS=self.heads, KV=self.kv, HEAD=self.head, PAGE=PAGE, BM=bm, BN=64 if bm == 16 else 32, num_warps=warps(bm, self.head), num_stages=2)
            return out if self.cuda else self.low(out)
        queries = qkv.view(len(qkv), -1, self.head)[:, : self.heads]
        for first, count, start, page_at in plan.host:
            end = start + count
            held = self.pool[plan.pages[page_at : page_at - (-end // PAGE)].long(), layer].float()
            k, v = (held[:, i].reshape(-1, self.kv, self.head)[:end].transpose(0, 1)[None] for i in (0, 1))
            mask = torch.ones(count, end, dtype=torch.bool).tril(start)
            q = queries[first : first + count].transpose(0, 1)[None]
            group = self.heads // self.kv
            a = F.scaled_dot_product_attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), attn_mask=mask)
            out[first : first + count] = self.low(a[0].transpose(0, 1).reshape(count, -1))
        return out

    def forward(self, plan):
        x = self.embedding[plan.tokens]
        y = None
        for i, layer in enumerate(self.layers):
            h = self.add_norm(x, y, layer["norm1"])
            qkv = self.times(h, layer["qkv"], layer["bias"])
            self.rotate(qkv, plan, i)
            y = self.times(self.attend(qkv, plan, i), layer["out"], wide=True)
            h = self.add_norm(x, y, layer["norm2"])
            y = self.times(self.gate(self.times(h, layer["both"])), layer["down"], wide=True)
        self.states[plan.state] = self.finish(x, y, plan.last)
        head.given(self, x, y, plan)

    def finish(self, x, y, rows):
        """What the head reads of some rows."""
        x = x[rows] + y[rows]
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.norm


def warps(rows, head):
    """Enough warps that the sums of a block of attention, rows × head in float32, stay in registers."""
    if rows == 16:
        return 2
    return 4 if head <= 64 else 8


def upload(rows, device):
    """Arrays of one length as int32 tensors, in one transfer.

    Each begins at a multiple of 16 bytes: Triton compiles a kernel anew for every mix of alignments that it meets.
    """
    n = len(rows[0])
    table = np.zeros((len(rows), -(-n // 4) * 4), np.int32)
    table[:, :n] = rows
    return [row[:n] for row in torch.from_numpy(table).to(device, non_blocking=True).unbind(0)]


class Plan:
    """Where the tokens of one pass lie."""

    def __init__(self, model, message, chosen):
        device = model.device
        count, start = message.count[chosen], message.start[chosen]
        first = np.cumsum(count) - count
        table = [first, count, start, message.page_at[chosen], message.token_at[chosen], message.state[chosen]]
        self.first, self.count, self.start, self.page_at, token_at, state = upload(table, device)
        self.state = state.long()
        total = int(count.sum())
        sequence = torch.repeat_interleave(torch.arange(len(count), device=device), self.count.long(), output_size=total)
        offset = torch.arange(total, device=device) - self.first[sequence]
        self.tokens = message.tokens[token_at[sequence] + offset].long()
        self.position = (self.start[sequence] + offset).long()
        self.pages = message.pages
        self.page = self.pages[self.page_at[sequence] + self.position // PAGE].long()
        self.inside = self.position % PAGE
        self.place = self.page * model.pool.stride(0) + self.inside * (model.kv * model.head)
        self.last = (self.first + self.count - 1).long()
        self.given = upload(head.given_rows(message, chosen, first), device)
        self.all_tokens, self.answers = message.tokens, message.answers
        if not model.triton:
            self.host = np.stack(table[:4]).T.tolist()
            return
        group = model.heads // model.kv
        few = count * group <= 16
        self.blocks = []
        for which, bm in ((few, 16), (~few, 128)):
            sequences = np.nonzero(which)[0]
            if len(sequences) == 0:
                continue
            parts = -(-count[sequences] * group // bm)
            begin = np.repeat(np.cumsum(parts) - parts, parts)
            rows = (np.arange(len(begin)) - begin) * bm
            self.blocks.append((*upload([np.repeat(sequences, parts), rows], device), bm))


class Message:
    def __init__(self, data, device):
        numbers, at = data[:6], 6

        def take(n):
            nonlocal at
            at += n
            return data[at - n : at]

        copies, steps, tokens, pages, lists, listed = (int(n) for n in numbers)
        self.copies = take(2 * copies).reshape(2, -1)
        self.start, self.count, self.page_count, self.state, self.ask, self.argument = take(6 * steps).reshape(6, -1)
        # Two transfers: both begin aligned, as in upload.
        self.tokens, self.pages = (torch.from_numpy(take(n)).to(device, non_blocking=True) for n in (tokens, pages))
        self.token_at = np.cumsum(self.count) - self.count
        self.page_at = np.cumsum(self.page_count) - self.page_count
        self.given = np.where(self.ask == 4, self.argument, 0)
        self.answers = torch.empty((int(self.given.sum()), 2), dtype=torch.int32, device=device)
        lengths = take(lists)
        self.lengths = lengths
        if lists:
            padded = np.zeros((lists, int(lengths.max())), np.int32)
            padded[np.arange(padded.shape[1])[None] < lengths[:, None]] = take(listed)
            self.lists = torch.from_numpy(padded).to(device, non_blocking=True).long()
        if at != len(data):
            raise ValueError("the message has another length than it says")


def passes(count, limit):
    """Steps with new tokens, in groups of at most limit tokens (or one step)."""
    order = np.argsort(count, kind="stable")
    order = order[count[order] > 0]
    ends = np.cumsum(count[order])
    at, done = 0, 0
    while at < len(order):
        to = max(at + 1, int(np.searchsorted(ends, done + limit, side="right")))
        yield order[at:to]
        at, done = to, int(ends[to - 1])


def copy(model, message):
    for at in range(0, message.copies.shape[1], 4096):
        source, target = torch.from_numpy(message.copies[:, at : at + 4096]).to(model.device).long().unbind(0)
        model.pool[target] = model.pool[source]


def handle(model, data):
    clock = time.perf_counter
    began = clock()
    message = Message(data, model.device)
    if len(message.state) and (most := int(message.state.max())) >= len(model.states):
        more = torch.zeros((2 * most, model.width), device=model.device)
        more[: len(model.states)] = model.states
        model.states = more
    copy(model, message)
    copied = clock()
    # All plans first: a transfer would wait for the pass before it.
    plans = [Plan(model, message, chosen) for chosen in passes(message.count, model.limit)]
    for plan in plans:
        model.forward(plan)
    model.passes += len(plans)
    model.computed += int(message.count.sum())
    if model.cuda:
        torch.cuda.synchronize()
    forwarded = clock()
    reply = head.answer(model, message)
    model.messages += 1
    model.seconds["copy"] += copied - began
    model.seconds["forward"] += forwarded - copied
    model.seconds["head"] += clock() - forwarded
    return reply


def read_exactly(stream, n):
    data = bytearray(n)
    view, at = memoryview(data), 0
    while at < n:
        got = stream.readinto(view[at:])
        if not got:
            raise EOFError
        at += got
    return data


def send(stream, status, parts):
    stream.write(struct.pack("<IQ", status, sum(map(len, parts))))
    for p in parts:
        stream.write(p)
    stream.flush()


def serve(model, source, sink):
    clock = time.perf_counter
    device = torch.cuda.get_device_name() if model.cuda else "CPU"
    hello = {"page": PAGE, "pages": model.pages, "vocabulary": model.vocabulary, "context": model.context, "device": device,
             "torch": torch.__version__, "dtype": str(model.dtype).removeprefix("torch.")}
    send(sink, 0, [json.dumps(hello).encode()])
    while True:
        began = clock()
        try:
            (length,) = struct.unpack("<Q", read_exactly(source, 8))
        except EOFError:
            return
        data = np.frombuffer(read_exactly(source, length), "<i4")
        model.seconds["wait"] += clock() - began
        try:
            reply = handle(model, data)
        except Exception as e:
            send(sink, 1, [f"{type(e).__name__}: {e}".encode()])
            continue
        began = clock()
        send(sink, 0, reply)
        model.seconds["reply"] += clock() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="float16", choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--cache", type=float, default=1, help="GiB of keys and values")
    parser.add_argument("--tokens", type=int, default=65536, help="most tokens of a pass")
    parser.add_argument("--verbose", action="store_true", help="say at the end what the time went to")
    options = parser.parse_args()
    # Whatever prints goes to standard error: standard output is the replies'.
    sink = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    os.dup2(2, 1)
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    with torch.inference_mode():
        model = Model(options)
        serve(model, sys.stdin.buffer, sink)
    if options.verbose:
        print(json.dumps({"messages": model.messages, "passes": model.passes, "computed": model.computed,
                          "seconds": {k: round(v, 3) for k, v in model.seconds.items()}}), file=sys.stderr)


if __name__ == "__main__":
    main()
