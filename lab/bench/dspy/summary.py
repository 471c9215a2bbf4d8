"""Means of what compare.py wrote, as a table: python summary.py dspy.jsonl…"""

import json
import statistics
import sys


def rows(paths):
    for path in paths:
        with open(path) as f:
            yield from map(json.loads, f)


def cell(values):
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"


def table(found):
    """A line for each model and data set, and one for the mean over data sets where there are several."""
    lines = ["| model | data set | seeds | no examples | read leniently | optimised | read leniently | unread | calls of a search | in place of |", "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    groups = {}
    for r in found:
        groups.setdefault(r["model"], {}).setdefault(r["dataset"], {})[r["seed"]] = r
    for model, sets in groups.items():
        means = []
        for dataset, seeds in sets.items():
            of = list(seeds.values())
            scores = [[r[which][how] for r in of] for which in ("zero", "optimised") for how in ("accuracy", "lenient")]
            means.append([statistics.mean(s) for s in scores])
            unread = 100 * sum(r["optimised"]["unread"] for r in of) / sum(r["optimised"]["items"] for r in of)
            calls = statistics.mean(r["search_cost"]["calls"] for r in of)
            lines.append(f"| {model} | {dataset} | {len(of)} | {' | '.join(map(cell, scores))} | {unread:.1f} % | {calls:.0f} | {of[0]['budget']:.0f} |")
        if len(means) > 1:
            lines.append(f"| {model} | mean of {len(means)} | | {' | '.join(f'{statistics.mean(m):.1f}' for m in zip(*means))} | | | |")
    return lines


if __name__ == "__main__":
    print("\n".join(table(rows(sys.argv[1:]))))
