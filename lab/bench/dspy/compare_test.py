"""Tests of what needs no DSPy and no model: python3 compare_test.py"""

import copy
import unittest

import compare
import summary

CLOSED = {"labels": ["World", "Sports", "Business"], "output": "Answer Type"}
OPEN = {"labels": [], "output": "Genre"}


class Reading(unittest.TestCase):
    def test_normal(self):
        self.assertEqual(compare.normal("  Film\n Noir "), "film noir")

    def test_labels(self):
        for text, want in {
            "[[ ## answer_type ## ]]\nsports": "Sports",
            "It is Business, not World.": "Business",
            "Worldwide": None,  # no word of its own
            "": None,
        }.items():
            self.assertEqual(compare.lenient(CLOSED, text), want, text)
        self.assertIsNone(compare.lenient(CLOSED, None))

    def test_phrases(self):
        for text, want in {
            "[[ ## genre ## ]]\nfilm noir\n\nand more": "film noir",
            '{"genre": "film noir"}': "film noir",
            "Genre: film noir": "film noir",
            "\n\n": None,
        }.items():
            self.assertEqual(compare.lenient(OPEN, text), want, text)

    def test_name(self):
        self.assertEqual(compare.name("Answer Type"), "answer_type")

    def test_variants(self):
        self.assertEqual(len(compare.variants(CLOSED)), 4)
        self.assertEqual(compare.variants(OPEN), [("chat", "str"), ("json", "str")])


class Counting(unittest.TestCase):
    def test_usage(self):
        """DSPy copies it for each thread, and the copies count together."""
        usage = compare.Usage()
        before = usage.now()
        usage.add_usage("m", {"prompt_tokens": 3, "completion_tokens": 2})
        copy.deepcopy(usage).add_usage("m", {"prompt_tokens": 4})
        self.assertEqual(usage.since(before), {"calls": 2, "prompt_tokens": 7, "written_tokens": 2})

    def test_summary(self):
        score = lambda a: {"accuracy": a, "lenient": a + 1, "unread": 1, "items": 100}
        row = lambda name, seed, a: {"model": "m", "dataset": name, "seed": seed, "zero": score(a / 2), "optimised": score(a), "search_cost": {"calls": 10}, "budget": 11.6}
        lines = summary.table([row("a", 1, 40), row("a", 2, 60), row("b", 1, 10), row("b", 1, 20)])  # the last row of a seed counts
        self.assertEqual(lines[2], "| m | a | 2 | 25.0 ± 7.1 | 26.0 ± 7.1 | 50.0 ± 14.1 | 51.0 ± 14.1 | 1.0 % | 10 | 12 |")
        self.assertEqual(lines[-1], "| m | mean of 2 | | 17.5 | 18.5 | 35.0 | 36.0 | | | |")


if __name__ == "__main__":
    unittest.main()
