"""Runs the code of a release's use.md as it stands, with unmodified libraries from PyPI.

python release.py DIR SECTION… runs those sections in DIR. SOTTO_URL and SOTTO_KEY are of a gateway
that has a route "my-model". What libraries send is looked at on the way: it has to be chat.json and
the question, byte for byte.
"""

import contextlib
import http.server
import io
import json
import os
import re
import sys
import threading
import urllib.error
import urllib.request
import warnings
from pathlib import Path

QUESTION = "Your text"
DEPRECATED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


class Recorder(http.server.BaseHTTPRequestHandler):
    """Hands requests on, and keeps their bodies and what they were answered with."""

    bodies = []
    answers = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.bodies.append(json.loads(body))
        request = urllib.request.Request(
            os.environ["SOTTO_URL"] + self.path, body, {"Authorization": self.headers["Authorization"], "Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request) as answer:
                status, data = answer.status, answer.read()
        except urllib.error.HTTPError as e:
            status, data = e.code, e.read()
        self.answers.append(status)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def sections(path):
    """The code of use.md by the headings before it."""
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    code = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        if found := re.search(r"```python\n(.*?)```", text, flags=re.DOTALL):
            code[name] = found.group(1)
    return code


def run(code, name):
    """What code prints. A deprecated call of its own is an error; what libraries do to each other is not."""
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as heard, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    wrong = [w for w in heard if issubclass(w.category, DEPRECATED) and w.filename == name]
    assert not wrong, f"{name}: {wrong[0].message}"
    return out.getvalue().strip()


def wanted():
    chat = json.loads(Path("chat.json").read_text(encoding="utf-8"))
    return chat["messages"] + [{"role": "user", "content": chat["question"].replace(chat["placeholder"], QUESTION)}]


def demos():
    return [json.loads(line) for line in Path("demos.jsonl").read_text(encoding="utf-8").splitlines()]


def chats(code, name):
    said = run(code, name)
    (sent,) = Recorder.bodies
    turns = [{"role": t["role"], "content": t["content"]} for t in sent["messages"]]
    assert said and turns == wanted(), (said, turns)


def dspy(code, name):
    from dspy.utils.exceptions import AdapterParseError, LMError

    try:
        run(code, name)
    except (AdapterParseError, LMError) as e:
        # A small model does not keep to the layout that DSPy asks for. DSPy then asks for JSON,
        # which the service refuses.
        assert Recorder.answers[0] == 200 and len(Recorder.answers) > 1, e
    text = json.dumps(Recorder.bodies[0], ensure_ascii=False)
    for demo in demos():
        for value in demo.values():
            assert value is True or json.dumps(value, ensure_ascii=False)[1:-1] in text, value


def hub(code, name):
    from datasets import load_dataset
    from huggingface_hub import DatasetCard

    run(code, name)
    loaded = load_dataset(str(Path.cwd()))
    assert list(loaded) == ["train"] and list(loaded["train"]) == demos(), loaded
    card = DatasetCard.load("README.md")
    about = card.data.to_dict()
    assert about["configs"] == [{"config_name": "default", "data_files": "demos.jsonl"}], about
    assert about["task_categories"][0] in ("text-classification", "question-answering", "text-generation"), about
    assert about["pretty_name"] and about["size_categories"] == ["n<1K"] and "few-shot" in about["tags"], about
    private = not any(d.get("not_private") for d in demos())
    assert ("differential-privacy" in about["tags"]) == private == ("| ε |" in card.text) == ("NOT PRIVATE" not in card.text)


def croissant(code, name):
    import mlcroissant

    run(code, name)
    data = mlcroissant.Dataset("croissant.json")  # a mistake is an exception
    issues = data.metadata.ctx.issues
    assert not issues.errors and all("is recommended" in str(w) for w in issues.warnings), issues.report()
    records = [{k.split("/")[1]: v.decode() for k, v in r.items()} for r in data.records("examples")]
    assert [list(r.values()) for r in records] == [list(d.values())[:2] for d in demos()], records
    told = json.loads(Path("croissant.json").read_text(encoding="utf-8"))["rai:personalSensitiveInformation"]
    assert "ε ≤" in told or told.startswith("NOT PRIVATE"), told


def deprecated():
    """What this looks for is found."""
    old = "from langchain_core.prompts.loading import load_prompt_from_config\n" + 'load_prompt_from_config({"_type": "prompt", "template": "a"})\n'
    try:
        run(old, "old.md")
    except AssertionError:
        return
    raise AssertionError("a deprecated call was not noticed")


CHECKS = {"openai": chats, "LangChain": chats, "LlamaIndex": chats, "DSPy": dspy, "Hugging Face datasets": hub, "Croissant": croissant}


def main():
    os.chdir(sys.argv[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
    os.environ["OPENAI_API_KEY"] = os.environ.get("SOTTO_KEY", "none")
    code = sections(Path("use.md"))
    assert set(code) == set(CHECKS), code.keys()
    for name in sys.argv[2:]:
        Recorder.bodies.clear()
        Recorder.answers.clear()
        CHECKS[name](code[name], name)
        print(name, "works with", sys.argv[1])
        if name == "LangChain":
            deprecated()
    server.shutdown()


main()
