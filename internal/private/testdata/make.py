"""Writes the same made-up records in every format, with the libraries that people use.

    pip install openpyxl pyarrow
    python make.py twins
"""

import csv
import datetime
import gzip
import io
import json
import os
import shutil
import sys

import openpyxl
import pyarrow as pa
import pyarrow.parquet

out = sys.argv[1]
shutil.rmtree(out, ignore_errors=True)
os.makedirs(out)

THINGS = ["the kettle", "a garden chair", "this lamp", "the bread knife", "my umbrella", "the door mat"]
GOOD = ["works well, every day", 'is what they call "solid"', "kept its colour\nafter a year", "fits; even on the shelf"]
BAD = ["broke after | one week", "smells of glue \u2014 still", "came in \u00fcberlarge paper", "rattles\tat night"]
LABELS = ["negative", "positive"]

rows = []
for i in range(48):
    good = i % 2
    text = f"{THINGS[i % len(THINGS)].capitalize()} {(GOOD if good else BAD)[i // 2 % 4]}, said buyer number {i + 1}"
    rows.append({
        "text": text,
        "label": LABELS[good],
        "score": i * 2 + 0.1,
        "day": datetime.date(2024, 1, 1) + datetime.timedelta(days=i),
        "member": i % 3 == 0,
    })
NAMES = list(rows[0])


def plain(row):
    return [row["text"], row["label"], repr(row["score"]), row["day"].isoformat(), str(row["member"]).lower()]


def write(name, data):
    path = os.path.join(out, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def table(sep=",", end="\n"):
    s = io.StringIO()
    w = csv.writer(s, delimiter=sep, lineterminator=end)
    w.writerow(NAMES)
    w.writerows(plain(r) for r in rows)
    return s.getvalue()


write("comma.csv", table().encode())
write("semicolon.csv", table(";", "\r\n").encode("utf-8-sig"))
write("pipe.csv", table("|").encode())
write("tab.tsv", table("\t").encode())
write("tabs.csv", table("\t").encode())
write("utf16le.csv", table().encode("utf-16"))
write("utf16be.csv", b"\xfe\xff" + table("\t").encode("utf-16-be"))
write("utf16.csv.gz", gzip.compress(table(";").encode("utf-16"), mtime=0))

objects = [{**r, "day": r["day"].isoformat()} for r in rows]
write("lines.jsonl", "".join(json.dumps(o) + "\n" for o in objects).encode())
write("array.json", json.dumps(objects, indent=1).encode())
write("array.json.gz", gzip.compress(json.dumps(objects).encode(), mtime=0))

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Reviews"
sheet.append(NAMES)
for r in rows:
    sheet.append([r[n] for n in NAMES])
book.create_sheet("Other").append(["nothing"])
book.save(os.path.join(out, "book.xlsx"))

arrow = pa.table({n: [r[n] for r in rows] for n in NAMES})
pa.parquet.write_table(arrow, os.path.join(out, "rows.parquet"))
