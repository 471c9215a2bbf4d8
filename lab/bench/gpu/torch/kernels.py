"""Triton kernels of the forward pass. Tokens of all sequences lie one after the other, without padding."""

import triton
import triton.language as tl


@triton.jit
def add_norm(x, y, weight, out, width, epsilon, HAS: tl.constexpr, BLOCK: tl.constexpr):
    """x += y; out = rms_norm(x) * weight, a row for each program."""
    row = tl.program_id(0).to(tl.int64) * width
    at = tl.arange(0, BLOCK)
    live = at < width
    v = tl.load(x + row + at, mask=live, other=0.0)
    if HAS:
        v += tl.load(y + row + at, mask=live, other=0.0)
        tl.store(x + row + at, v, mask=live)
    scale = 1.0 / tl.sqrt(tl.sum(v * v) / width + epsilon)
    v = v * scale * tl.load(weight + at, mask=live, other=0.0)
    tl.store(out + row + at, v.to(out.dtype.element_ty), mask=live)


@triton.jit
def gate(both, out, width, BLOCK: tl.constexpr):
    """out = silu(gate) * up, where both holds gate and up side by side."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = at < width
    g = tl.load(both + row * 2 * width + at, mask=live, other=0.0).to(tl.float32)
    u = tl.load(both + row * 2 * width + width + at, mask=live, other=0.0).to(tl.float32)
    v = g / (1.0 + tl.exp(-g)) * u
    tl.store(out + row * width + at, v.to(out.dtype.element_ty), mask=live)


@triton.jit
def rotate(qkv, position, place, cosine, sine, pool, key_at, value_at,
           HEADS: tl.constexpr, KV: tl.constexpr, HALF: tl.constexpr, ROWS: tl.constexpr, KVROWS: tl.constexpr):
    """Turns queries in place and writes turned keys, and values, to their place of the pool, a token for each program.

    place is where layer 0's keys of the token begin; key_at and value_at are what to add for this layer.
    """
    token = tl.program_id(0).to(tl.int64)
    start = qkv + token * (HEADS + 2 * KV) * 2 * HALF
    there = pool + tl.load(place + token)
    at = tl.arange(0, HALF)
    p = tl.load(position + token)
    c = tl.load(cosine + p * HALF + at)[None, :]
    s = tl.load(sine + p * HALF + at)[None, :]
    row = tl.arange(0, ROWS)[:, None]
    from_ = start + row * 2 * HALF + at[None, :]
    live = row < HEADS + KV
    a = tl.load(from_, mask=live, other=0.0).to(tl.float32)
    b = tl.load(from_ + HALF, mask=live, other=0.0).to(tl.float32)
    left = (a * c - b * s).to(qkv.dtype.element_ty)
    right = (b * c + a * s).to(qkv.dtype.element_ty)
    tl.store(from_, left, mask=row < HEADS)
    tl.store(from_ + HALF, right, mask=row < HEADS)
    to = there + key_at + (row - HEADS) * 2 * HALF + at[None, :]
    keys = live & (row >= HEADS)
    tl.store(to, left, mask=keys)
    tl.store(to + HALF, right, mask=keys)
    both = tl.arange(0, 2 * HALF)[None, :]
    kv = tl.arange(0, KVROWS)[:, None]
    v = tl.load(start + (HEADS + KV + kv) * 2 * HALF + both, mask=kv < KV, other=0.0)
    tl.store(there + value_at + kv * 2 * HALF + both, v, mask=kv < KV)


@triton.jit
def attend(qkv, out, pool, pages, block_sequence, block_row, first, count, start, page_at, key_at, value_at, page_stride, scale,
           HEADS: tl.constexpr, KV: tl.constexpr, HEAD: tl.constexpr, PAGE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Causal attention over pages. A row is a (token, query head of the group): the heads that share keys share a program."""
    GROUP: tl.constexpr = HEADS // KV
    block, kv = tl.program_id(0), tl.program_id(1)
    s = tl.load(block_sequence + block)
    rows = tl.load(block_row + block) + tl.arange(0, BM)
    n = tl.load(count + s)
    past = tl.load(start + s)
    begin = tl.load(first + s).to(tl.int64)
    list_ = pages + tl.load(page_at + s)
    token = rows // GROUP
    head = kv * GROUP + rows % GROUP
    live = token < n
    dim = tl.arange(0, HEAD)
    q_at = (begin + token) * ((HEADS + 2 * KV) * HEAD) + head * HEAD
    q = tl.load(qkv + q_at[:, None] + dim[None, :], mask=live[:, None], other=0.0).to(pool.dtype.element_ty)
    position = past + token
    last = past + tl.minimum(tl.load(block_row + block) + BM - 1, n * GROUP - 1) // GROUP
    best = tl.full([BM], -1e30, tl.float32)
    total = tl.zeros([BM], tl.float32)
    sums = tl.zeros([BM, HEAD], tl.float32)
    scale *= 1.4426950408889634
    for j in range(0, last + 1, BN):
        column = j + tl.arange(0, BN)
        there = column <= last
        page = tl.load(list_ + column // PAGE, mask=there, other=0).to(tl.int64)
        at = page * page_stride + (column % PAGE) * (KV * HEAD) + kv * HEAD
        k = tl.load(pool + key_at + at[None, :] + dim[:, None], mask=there[None, :], other=0.0)
        score = tl.dot(q, k, input_precision="ieee") * scale
        score = tl.where((column[None, :] <= position[:, None]) & there[None, :], score, -1e30)
        top = tl.maximum(best, tl.max(score, 1))
        shrink = tl.exp2(best - top)
        weight = tl.exp2(score - top[:, None])
        total = total * shrink + tl.sum(weight, 1)
        v = tl.load(pool + value_at + at[:, None] + dim[None, :], mask=there[:, None], other=0.0)
        sums = sums * shrink[:, None] + tl.dot(weight.to(v.dtype), v, input_precision="ieee")
        best = top
    sums = sums / total[:, None]
    o_at = (begin + token) * (HEADS * HEAD) + head * HEAD
    tl.store(out + o_at[:, None] + dim[None, :], sums.to(out.dtype.element_ty), mask=live[:, None])
