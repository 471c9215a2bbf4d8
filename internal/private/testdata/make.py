"""Writes the same made-up records in every format, with the libraries that people use.

    pip install openpyxl pyarrow datasets
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

import datasets
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
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

rest = lambda o: {k: v for k, v in o.items() if k != "label"}
# The shapes of Label Studio 1.x (Export, JSON) and of Argilla 2.x (records.to_json, and
# records.to_list(flatten=True)).
write("label_studio.json", json.dumps([{
    "id": i + 1, "data": rest(o), "predictions": [], "meta": {}, "project": 1, "drafts": [], "inner_id": i + 1,
    "annotations": [{"id": i, "completed_by": 1, "was_cancelled": False, "result": [
        {"id": "r", "from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [o["label"]]}}]}],
} for i, o in enumerate(objects)]).encode())
write("argilla.json", json.dumps([{
    "id": f"r{i}", "fields": {"text": o["text"]}, "metadata": {k: o[k] for k in ("score", "day", "member")},
    "suggestions": {"label": {"value": "negative", "score": None, "agent": None}},
    "responses": {"label": [{"value": o["label"], "user_id": "u"}]}, "vectors": {}, "status": "completed",
} for i, o in enumerate(objects)]).encode())
write("argilla_flat.jsonl", "".join(json.dumps({
    "status": None, "_server_id": None, **rest(o), "label.responses": [o["label"]],
    "label.responses.users": ["u"], "label.responses.status": ["submitted"], "label.suggestion": None,
}) + "\n" for o in objects).encode())

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Reviews"
sheet.append(NAMES)
for r in rows:
    sheet.append([r[n] for n in NAMES])
book.create_sheet("Other").append(["nothing"])
book.save(os.path.join(out, "book.xlsx"))

arrow = pa.table({n: [r[n] for r in rows] for n in NAMES})
pa.feather.write_feather(arrow, os.path.join(out, "lz4.feather"))
pa.feather.write_feather(arrow, os.path.join(out, "zstd.feather"), compression="zstd", chunksize=20)
with pa.ipc.new_file(os.path.join(out, "file.arrow"), arrow.schema) as w:
    w.write_table(arrow, max_chunksize=17)
coded = arrow.set_column(1, "label", arrow["label"].dictionary_encode())
coded = coded.set_column(0, "text", coded["text"].cast(pa.large_string()))
with pa.ipc.new_stream(os.path.join(out, "stream.arrow"), coded.schema) as w:
    w.write_table(coded)
views = arrow.set_column(0, "text", arrow["text"].cast(pa.string_view()))
with pa.ipc.new_stream(os.path.join(out, "views.arrow"), views.schema) as w:
    w.write_table(views)
pa.parquet.write_table(arrow, os.path.join(out, "rows.parquet"))

# Dictionaries that no value refers to, for internal/rows/convert.
unused = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int32()), [" " * (700 << 10)])
with pa.ipc.new_stream(os.path.join(out, "../../../convert/testdata/dictionaries.arrow"),
                       pa.schema([("a", unused.type), ("b", unused.type)]),
                       options=pa.ipc.IpcWriteOptions(compression="zstd")) as w:
    w.write_table(pa.table({"a": unused, "b": unused}))

features = datasets.Features({
    "text": datasets.Value("string"), "label": datasets.ClassLabel(names=LABELS), "score": datasets.Value("float64"),
    "day": datasets.Value("date32"), "member": datasets.Value("bool"),
})
ds = datasets.Dataset.from_list([{**r, "label": LABELS.index(r["label"])} for r in rows], features=features)
ds.save_to_disk(os.path.join(out, "saved"), num_shards=2)
datasets.DatasetDict({"train": ds, "test": ds.select(range(3))}).save_to_disk(os.path.join(out, "splits"))
hub = os.path.join(out, "hub")
os.makedirs(os.path.join(hub, "data"))
for i in range(2):
    ds.shard(2, i, contiguous=True).to_parquet(os.path.join(hub, "data", f"train-0000{i}-of-00002.parquet"))
ds.select(range(3)).to_parquet(os.path.join(hub, "data", "test-00000-of-00001.parquet"))
write("hub/README.md", b"""---
license: mit
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*
  - split: test
    path: data/test-*
---
Made-up reviews.
""")
os.makedirs(os.path.join(out, "files"))
shutil.copy(os.path.join(out, "comma.csv"), os.path.join(out, "files", "train.csv"))
for folder, _, files in os.walk(out):
    for name in files:
        if name.startswith("cache-"):
            os.remove(os.path.join(folder, name))
