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


def message(start, count, pages, ask, argument=None, lists=(), tokens=None):
    """A message whose steps have states in their order, and tokens made up."""
    steps = len(count)
    tokens = np.arange(sum(count)) * 37 % 5000 if tokens is None else tokens
    parts = [[0, steps, len(tokens), sum(map(len, pages)), len(lists), sum(map(len, lists))], start, count, [len(p) for p in pages],
             np.arange(steps), [ask] * steps if np.isscalar(ask) else ask, argument or [0] * steps, tokens, *pages, [len(l) for l in lists], *lists]
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

    def given(self, model, tokens, number):
        """Best tokens and scores of the last tokens of sequences that other asks are beside."""
        count = [len(t) for t in tokens]
        ask = [4 if n else 3 for n in number]
        data = message([0] * len(count), count, [[2 * i, 2 * i + 1] for i in range(len(count))], ask, list(number), tokens=np.concatenate(tokens))
        reply = run(model, [data])[0]
        pairs = reply[model.vocabulary * ask.count(3) :].reshape(-1, 2)
        return pairs[:, 0].copy().view(np.int32), pairs[:, 1]

    def test_given(self):
        """Given tokens score as among whole rows, in passes and parts of any size; of equal tokens the lowest is best."""
        model = Random("float32", (2, 1, 16), triton=False)
        source = np.random.default_rng(5)
        tokens = [source.integers(0, 5000, n) for n in (2, 32, 9, 20, 2, 17)]
        number = [1, 31, 0, 7, 1, 3]
        want_best, want_score = [], []
        for t, n in zip(tokens, number):
            for at in range(len(t) - n, len(t)):
                row = run(model, [message([0], [at], [[0, 1]], 3, tokens=t[:at])])[0]
                want_best.append(row.argmax())
                want_score.append(row[t[at]])
        rows, limit = head.GIVEN, model.limit
        for head.GIVEN, model.limit in ((rows, limit), (5, 30)):
            try:
                best, score = self.given(model, tokens, number)
            finally:
                head.GIVEN, model.limit = rows, limit
            np.testing.assert_array_equal(best, want_best)
            np.testing.assert_allclose(score, want_score, rtol=0, atol=1e-4)
        model.output[:] = model.output[7]
        best, score = self.given(model, tokens, number)
        np.testing.assert_array_equal(best, 0)
        np.testing.assert_allclose(score, -np.log(5000), rtol=0, atol=1e-4)

    def test_choice(self):
        model = types.SimpleNamespace(vocabulary=49152, width=576)
        self.assertTrue(head.gathers(model, steps=48 * 40, lists=48, longest=100))
        self.assertTrue(head.gathers(model, steps=40, lists=1, longest=100))
        self.assertFalse(head.gathers(model, steps=40, lists=1, longest=49152))
        self.assertFalse(head.gathers(model, steps=40, lists=40, longest=1000))


if __name__ == "__main__":
    unittest.main()
