"""Tests the kernels and the head of worker.py on a CPU: TRITON_INTERPRET=1 python worker_test.py"""

import types
import unittest

import numpy as np
import torch

import head
import worker

torch.set_num_threads(1)


class Random(worker.Model):
    """A model of two layers with random weights."""

    def __init__(self, dtype, shape, triton):
        self.heads, self.kv, self.head = shape
        self.layers_n, self.width, self.hidden, self.vocabulary, self.context = 2, 96, 640, 5000, 256
        self.epsilon = 1e-6
        super().__init__(types.SimpleNamespace(device="cpu", dtype=dtype, tokens=64, cache=0.01, model=None))
        self.triton = triton

    def load(self, _):
        source = torch.Generator().manual_seed(1)
        normal = lambda *size, scale=1.0: torch.randn(size, generator=source) * scale
        across, inner = (self.heads + 2 * self.kv) * self.head, self.heads * self.head
        self.layers = [
            {
                "norm1": 1 + normal(self.width, scale=0.1), "norm2": 1 + normal(self.width, scale=0.1),
                "qkv": self.low(normal(across, self.width, scale=0.2)), "bias": self.low(normal(across, scale=2.0)),
                "out": self.low(normal(self.width, inner, scale=0.1)), "both": self.low(normal(2 * self.hidden, self.width, scale=0.1)),
                "down": self.low(normal(self.width, self.hidden, scale=0.1)),
            }
            for _ in range(self.layers_n)
        ]
        self.embedding, self.norm = normal(self.vocabulary, self.width), 1 + normal(self.width, scale=0.1)
        self.output = self.low(normal(self.vocabulary, self.width, scale=0.3))
        angle = torch.outer(torch.arange(self.context).double(), 100.0 ** (-torch.arange(0, self.head, 2).double() / self.head))
        self.cosine, self.sine = angle.cos().float(), angle.sin().float()


def message(start, count, pages, ask, argument=None, lists=()):
    """A message whose steps have states in their order, and tokens made up."""
    steps = len(count)
    tokens = np.arange(sum(count)) * 37 % 5000
    parts = [[0, steps, len(tokens), sum(map(len, pages)), len(lists), sum(map(len, lists))], start, count, [len(p) for p in pages],
             np.arange(steps), [ask] * steps, argument or [0] * steps, tokens, *pages, [len(l) for l in lists], *lists]
    return np.concatenate([np.asarray(p, np.int32) for p in parts])


def run(model, messages):
    with torch.inference_mode():
        return [np.frombuffer(b"".join(worker.handle(model, m)), np.float32) for m in messages]


class Kernels(unittest.TestCase):
    SHAPES = {"9 heads of 64, 3 of keys": (9, 3, 64), "12 heads of 128, 2 of keys": (12, 2, 128)}

    def conversation(self):
        """Prompts short and long, and then more tokens of each, on pages in no order."""
        first, more = [1, 2, 23, 45, 16], [1, 3, 1, 2, 30]
        order, at, pages = np.random.default_rng(2).permutation(40), 0, []
        for a, b in zip(first, more):
            n = -(-(a + b) // worker.PAGE)
            pages.append(order[at : at + n])
            at += n
        begun = [p[: -(-n // worker.PAGE)] for p, n in zip(pages, first)]
        return [message([0] * 5, first, begun, ask=3), message(first, more, pages, ask=3)]

    def compare(self, dtype, tolerance):
        for name, shape in self.SHAPES.items():
            with self.subTest(name):
                want = run(Random(dtype, shape, triton=False), self.conversation())
                got = run(Random(dtype, shape, triton=True), self.conversation())
                for a, b in zip(want, got):
                    self.assertGreater(np.ptp(a), 1)
                    np.testing.assert_allclose(b, a, rtol=0, atol=tolerance)

    def test_float32(self):
        self.compare("float32", 2e-4)

    def test_float16(self):
        self.compare("float16", 0.1)


class Head(unittest.TestCase):
    def test_candidates(self):
        """Candidates alone score as among whole rows, for lists of any length that any number of steps share."""
        model = Random("float32", (2, 1, 16), triton=False)
        lists = [[7, 4999, 0, 12], [3], list(range(100, 160))]
        argument = [0, 2, 0, 1, 0, 0, 2, 0, 0]
        steps = len(argument)
        data = message([0] * steps, [3] * steps, [[i] for i in range(steps)], 1, argument, lists)
        replies = {}
        decide = head.gathers
        for way in (True, False):
            head.gathers = lambda *_: way
            try:
                replies[way] = run(model, [data])[0]
            finally:
                head.gathers = decide
        self.assertEqual(len(replies[True]), sum(len(lists[a]) for a in argument))
        self.assertLess(replies[False].min(), -1)
        np.testing.assert_allclose(replies[True], replies[False], rtol=0, atol=1e-5)

    def test_choice(self):
        model = types.SimpleNamespace(vocabulary=49152, width=576)
        self.assertTrue(head.gathers(model, steps=48 * 40, lists=48, longest=100))
        self.assertTrue(head.gathers(model, steps=40, lists=1, longest=100))
        self.assertFalse(head.gathers(model, steps=40, lists=1, longest=49152))
        self.assertFalse(head.gathers(model, steps=40, lists=40, longest=1000))


if __name__ == "__main__":
    unittest.main()
