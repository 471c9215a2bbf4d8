"""The prompts of the reference fixtures.

own() reads own.txt, texts written for this purpose. data() names records of the
public data sets without quoting them: a file under shared/data, the number of a
line in it counted from 0, and a template. In a template {field} stands for that
field of the record, {field+k} for that of the k-th record after it; runs of white
space in a field are one space.
"""

import gzip
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = re.compile(r"\{([a-z]+)(?:\+(\d+))?\}")
TURN = re.compile(r"<\|im_start\|>(\w+)\n(.*?)<\|im_end\|>\n", re.DOTALL)

CHAT = "<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
TOPICS = "Classify the news articles into the categories of World, Sports, Business, and Technology.\n"
NEWS = "Given a label of news type, generate the chosen type of news accordingly.\n"
ANSWERS = (
    "Classify the questions based on whether their answer type is a Number, Location, Person, "
    "Description, Entity, or Abbreviation.\n"
)
KINDS = (
    "Classify the documents based on whether they are about a Company, School, Artist, Athlete, "
    "Politician, Transportation, Building, Nature, Village, Animal, Plant, Album, Film, or Book.\n"
)
GENRE = (
    "Given a genre for the film, generate a description accordingly and make sure to include the "
    "given genre in the description.\n"
)


def shots(first, second, question, answer, count, instruction=""):
    """A few-shot template: count full examples, then a question without its answer."""
    text = instruction
    for k in range(count):
        at = f"+{k}" if k else ""
        text += f"\n{first}: {{{question}{at}}}\n{second}: {{{answer}{at}}}\n"
    at = f"+{count}" if count else ""
    return text + f"\n{first}: {{{question}{at}}}\n{second}:"


def chat(system, user):
    return CHAT.replace("{system}", system).replace("{user}", user)


# Per entry: file, first ordinal, step, how many, template, special tokens in it?
TABLE = [
    ("agnews/test.jsonl.gz", 3, 211, 5, shots("Article", "Answer", "text", "label", 0, TOPICS), False),
    ("agnews/test.jsonl.gz", 40, 307, 4, shots("Article", "Answer", "text", "label", 4, TOPICS), False),
    ("agnews/train.jsonl.gz", 17, 5003, 3, shots("News Type", "Text", "label", "text", 2, NEWS), False),
    ("agnews/train.jsonl.gz", 1200, 7001, 2, shots("News Type", "Text", "label", "text", 8, NEWS), False),
    ("trec/test.jsonl.gz", 5, 67, 5, shots("Question", "Answer Type", "text", "label", 0, ANSWERS), False),
    ("trec/train.jsonl.gz", 100, 811, 5, shots("Question", "Answer Type", "text", "label", 6, ANSWERS), False),
    ("trec/train.jsonl.gz", 2500, 1009, 2, chat("You answer briefly.", "{text}"), True),
    ("dbpedia/test.jsonl.gz", 9, 233, 5, shots("Article", "Answer", "text", "label", 0, KINDS), False),
    ("dbpedia/train.jsonl.gz", 31, 2011, 5, shots("Article", "Answer", "text", "label", 3, KINDS), False),
    ("dbpedia/train.jsonl.gz", 4000, 3001, 2, chat("You name the kind of thing a text is about.", "{text}"), True),
    ("mit-g/train.jsonl.gz", 12, 401, 4, shots("Genre", "Sentence", "label", "text", 4, GENRE), False),
    ("mit-g/test.jsonl.gz", 6, 103, 4, shots("Sentence", "Genre", "text", "label", 4), False),
    ("mit-d/test.jsonl.gz", 8, 71, 4, shots("Sentence", "Director", "text", "label", 4), False),
    ("e2e/train.jsonl.gz", 21, 6007, 4, shots("Data", "Text", "input", "output", 3), False),
    ("e2e/train.jsonl.gz", 555, 9001, 2, chat("You write one sentence from the data given.", "{input}"), True),
    ("wikilarge/valid.jsonl.gz", 14, 131, 4, shots("Complex", "Simple", "input", "output", 2), False),
]


def own():
    """Prompts of own.txt: a line `=== name [special]`, then the text up to the next."""
    prompts, lines = [], []
    with open(os.path.join(HERE, "own.txt"), encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if line.startswith("=== "):
                name, *flags = line[4:].split()
                lines = []
                prompts.append({"id": name, "lines": lines, "special": "special" in flags})
            else:
                lines.append(line)
    lines.pop()  # the end of the last line is not a line
    return [{"id": p["id"], "text": "\n".join(p["lines"]), "special": p["special"]} for p in prompts]


def data(folder):
    """Prompts made from the data sets in folder; the text is for evaluation only."""
    cache, prompts = {}, []
    for file, first, step, count, template, special in TABLE:
        if file not in cache:
            with gzip.open(os.path.join(folder, file), "rt", encoding="utf-8") as lines:
                cache[file] = [json.loads(line) for line in lines]
        for n in range(count):
            ordinal = first + n * step
            source = {"file": file, "ordinal": ordinal, "template": template}
            name = f"{os.path.dirname(file)}-{len(prompts):02d}"
            prompts.append({"id": name, "source": source, "text": fill(source, cache[file]), "special": special})
    return prompts


def messages(text):
    """The turns of a chat prompt, as a chat template would be given them."""
    turns = [{"role": role, "content": content} for role, content in TURN.findall(text)]
    laid_out = "".join(f"<|im_start|>{t['role']}\n{t['content']}<|im_end|>\n" for t in turns)
    if laid_out + "<|im_start|>assistant\n" != text:
        raise ValueError("a chat prompt must be turns and the opening of the assistant's")
    return turns


def fill(source, records):
    def value(match):
        record = records[source["ordinal"] + int(match.group(2) or 0)]
        return " ".join(record[match.group(1)].split())

    return PLACE.sub(value, source["template"])


if __name__ == "__main__":
    import sys

    for prompt in own() + (data(sys.argv[1]) if len(sys.argv) > 1 else []):
        print(f"=== {prompt['id']} {len(prompt['text'])} characters\n{prompt['text']}|")
