"""Writes the fixtures of this directory with llama.cpp. See README.md."""

import argparse
import base64
import ctypes
import gzip
import hashlib
import json
import pathlib
import random
import tempfile

import gguf
import jinja2.sandbox
import llama_cpp
import numpy

HERE = pathlib.Path(__file__).parent
RULES = ["smollm", "gpt-2", "llama-bpe", "qwen2", "default"]
NORMAL, UNKNOWN, CONTROL, DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

silent = llama_cpp.llama_log_callback(lambda level, text, data: None)
llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))


class Reference:
    """llama.cpp's tokeniser of a vocabulary."""

    def __init__(self, vocabulary):
        path = pathlib.Path(tempfile.mkdtemp()) / "vocabulary.gguf"
        writer = gguf.GGUFWriter(str(path), "llama")
        for key, value in [("context_length", 128), ("embedding_length", 64), ("block_count", 1),
                           ("feed_forward_length", 64), ("attention.head_count", 1)]:
            writer.add_uint32("llama." + key, value)
        writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
        ggml = "tokenizer.ggml."
        writer.add_string(ggml + "model", vocabulary["model"])
        writer.add_string(ggml + "pre", vocabulary.get("pre", "default"))
        writer.add_array(ggml + "tokens", vocabulary["tokens"])
        writer.add_array(ggml + "token_type", vocabulary["types"])
        if "scores" in vocabulary:
            writer.add_array(ggml + "scores", [float(s) for s in vocabulary["scores"]])
        if "merges" in vocabulary:
            writer.add_array(ggml + "merges", vocabulary["merges"])
        writer.add_uint32(ggml + "bos_token_id", vocabulary["bos"])
        writer.add_uint32(ggml + "eos_token_id", vocabulary["eos"])
        writer.add_bool(ggml + "add_bos_token", False)
        writer.add_bool(ggml + "add_space_prefix", vocabulary.get("prefix", False))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        options = llama_cpp.llama_model_default_params()
        options.vocab_only = True
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), options)
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        path.unlink()

    def encode(self, text, marks=False):
        room = 2 * len(text) + 16
        ids = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self.vocabulary, text, len(text), ids, room, False, marks)
        assert count >= 0
        return numpy.ctypeslib.as_array(ids)[:count].astype("<i4")

    def close(self):
        llama_cpp.llama_model_free(self.model)


def read_vocabulary(path):
    fields = gguf.GGUFReader(path).fields
    get = lambda key: fields["tokenizer.ggml." + key].contents()
    return {"model": get("model"), "pre": get("pre"), "tokens": get("tokens"), "types": get("token_type"), "merges": get("merges"),
            "bos": get("bos_token_id"), "eos": get("eos_token_id")}


# --- texts

WORDS = """the of and Notiz wind mill paper harbour twelve quiet MiXeD snake_case camelCase naïve Zürich Łódź
señor Ελλάδα Москва ירושלים القاهرة हिन्दी ไทย 漢字 かな 한국어 Ωmega café e\u0301 ﬁligree""".split()
ODD = ["'s", "'S", "'ll", "'LL", "'Ve", "'re", "'d", "'x", "’s", "it's", "WE'RE", "o'clock", " ' ", "''", "<|im_start|>",
       "<|im_end|>", "<|endoftext|>", "</s>", "<s>", "<0x0A>", "<repo_name>", "▁", "\u00a0", "\u2003", "\u3000", "\u2028",
       "\u0085", "\u200b", "\u200d", "\ufeff", "\ufffd", "\u00ad", "\u0301", "\u0e31", "\u202e", "\U0001f600",
       "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\U0002ebf0", "\U0002ee5d", "\U000e0001",
       "\U00040000", "\U0010ffff", "²", "½", "Ⅷ", "٣٤", "१२", "〇", "1234567", "3.14159", "1,000", "0x1F", "007", "€", "$5",
       "+", "<=>", "^_^", "~", "`", "```", "|", "{}", "[a]", "«», ", "—", "…", "¿?", "·", "\\", "/", "@", "#tag", "%"]
SPACE = [" ", "  ", "   ", "    ", "\n", "\n\n", "\r\n", "\r", "\t", " \n", "\n ", "\t\t", " \t ", "\v", "\f", "\n\r\n  "]
EDGES = [0x00, 0x04, 0x20, 0x27, 0x31, 0x61, 0x73, 0x7F, 0x80, 0x81, 0x8F, 0x90, 0x96, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
         0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF8, 0xFC, 0xFE, 0xFF]


def past_unicode(text):
    """Whether llama.cpp would end with an exception."""
    for i in range(len(text) - 3):
        a, b, c, d = text[i:i + 4]
        if 0xF0 <= a < 0xF8 and all(x & 0xC0 == 0x80 for x in (b, c, d)) and ((a & 7) << 6 | b & 63) >= 0x110:
            return True
    return False


def texts(rng, count):
    found = [b"", b" ", b"  ", b"\n", b"a", b" a", b"'", b"1", b"a" * 200, b" " * 300, "é".encode() * 100, b"\xf0\x9f\x98", b"\xe2\x96"]
    while len(found) < count:
        length = rng.choice([1, 2, 3, 5, 8, 13, 21])
        kind = rng.randrange(6)
        if kind < 3:
            lists = [WORDS, ODD, SPACE, SPACE, WORDS] if kind else [ODD, SPACE]
            text = "".join(rng.choice(rng.choice(lists)) for _ in range(length)).encode()
        elif kind == 3:
            text = "".join(chr(rng.choice([rng.randrange(0x80), rng.randrange(0x3000), rng.randrange(0xD800), rng.randrange(0xE000, 0x33000)]))
                           for _ in range(length)).encode("utf-8", "surrogatepass")
        elif kind == 4:
            text = bytes(rng.choice(EDGES) for _ in range(2 * length))
        else:
            text = bytearray("".join(rng.choice(rng.choice([WORDS, ODD, SPACE])) for _ in range(length)).encode())
            for _ in range(rng.randrange(1, 4)):
                text[rng.randrange(len(text))] = rng.randrange(256)
            text = bytes(text)
        if not past_unicode(text):
            found.append(text)
    return found


def write_json(name, value):
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    if name.endswith(".gz"):
        data = gzip.compress(data, 9, mtime=0)
    (HERE / name).write_bytes(data)
    print(name, len(data), "bytes")


def encoded(text):
    return base64.b64encode(text).decode()


def make_texts(vocabulary):
    rng = random.Random(20)
    cases = [{"text": encoded(t), "ids": {}} for t in texts(rng, 2000)]
    for rule in RULES:
        reference = Reference({**vocabulary, "pre": rule})
        for case in cases:
            ids = reference.encode(base64.b64decode(case["text"])).tolist()
            # What is as under the first rule is left out.
            if rule == RULES[0] or ids != case["ids"][RULES[0]]:
                case["ids"][rule] = ids
        reference.close()
    write_json("texts.json.gz", {"rules": RULES, "cases": cases})


# --- digests


def code_points():
    """All that may be assigned, and samples of the planes that have no characters."""
    yield from range(0x34000)
    yield from range(0xE0000, 0xE1000)
    yield from range(0x34000, 0xE0000, 257)
    yield from range(0xE1000, 0x110000, 257)


def surroundings():
    """Texts of 256 code points each: within a word, after a space, after a word, doubled."""
    block = []
    for c in code_points():
        s = chr(c).encode("utf-8", "surrogatepass")
        block.append(b"a" + s + b"b " + s + b" x" + s + b" " + s + s + b"\n")
        if len(block) == 256:
            yield b"".join(block)
            block = []
    yield b"".join(block)


def make_digests(vocabulary, data, others):
    digests = {"code_points": {}, "models": {}, "data": {}}
    for path in others:
        reference = Reference(read_vocabulary(path))
        total = hashlib.sha256()
        for text in texts(random.Random(20), 2000):
            total.update(reference.encode(text).tobytes())
        digests["models"][pathlib.Path(path).name] = total.hexdigest()
        reference.close()
    for rule in RULES:
        reference = Reference({**vocabulary, "pre": rule})
        total = hashlib.sha256()
        for text in surroundings():
            total.update(reference.encode(text).tobytes())
        digests["code_points"][rule] = total.hexdigest()
        reference.close()
    reference = Reference({**vocabulary, "pre": RULES[0]})
    for path in sorted(data.glob("*/*")):
        text = path.read_bytes()
        if path.suffix == ".gz":
            text = gzip.decompress(text)
        ids = reference.encode(text)
        digests["data"][str(path.relative_to(data))] = {"bytes": len(text), "tokens": len(ids), "sha256": hashlib.sha256(ids.tobytes()).hexdigest()}
    (HERE / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")


# --- small vocabularies


def alphabet():
    spelled, following = [], 256
    for b in range(256):
        if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b <= 0xFF:
            spelled.append(chr(b))
        else:
            spelled.append(chr(following))
            following += 1
    return spelled


SPELLED = alphabet()


def byte_pairs(rng, pre):
    """A byte-level vocabulary with bytes missing, and merges that repeat or make no token."""
    missing = set(rng.sample(range(256), 8))
    missing -= set(range(ord("0"), ord("9") + 1))
    letters = [SPELLED[ord(c)] for c in "abcde 1\n'"] + [SPELLED[b] for b in "é".encode()]
    tokens = ["<mark>", "<end>"] + [c for b, c in enumerate(SPELLED) if b not in missing]
    parts, merges = list(letters), []
    for count in range(1, 8):  # rules differ in how many digits stay together
        merges.append("1" * count + " 1")
        tokens.append("1" * (count + 1))
    for _ in range(150):
        left, right = rng.choice(parts), rng.choice(parts)
        if len(left + right) > 12:
            continue
        merges.append(left + " " + right)
        parts.append(left + right)
        if left + right not in tokens and rng.random() < 0.9:
            tokens.append(left + right)
    merges += rng.sample(merges, 20)
    extra = [SPELLED[ord("d")] * 3 + SPELLED[ord("e")] * 2, SPELLED[ord("e")] * 4]  # only as whole pieces
    tokens += [t for t in extra if t not in tokens]
    defined = ["<tool>", "<tool>x", "  ", "ab ba"]
    return {"model": "gpt2", "pre": pre, "tokens": tokens + defined, "merges": merges, "bos": 0, "eos": 1,
            "types": [CONTROL, CONTROL] + [NORMAL] * (len(tokens) - 2) + [DEFINED] * len(defined)}


def pieces(rng, prefix, crossing):
    """A SentencePiece vocabulary with many equal scores."""
    units = list("abcde") + ["▁", "é", "漢", "1", "."]
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    types = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    plain = units[:-1]
    for _ in range(260):
        text = "".join(rng.choice(units) for _ in range(rng.choice([2, 2, 3, 3, 4, 5, 6])))
        if "▁" in text.lstrip("▁") and not crossing:
            text = text.replace("▁", "")
        if text and text not in plain:
            plain.append(text)
    defined = ["<tool>", "a<tool>", "bad"]
    defined = [d for d in defined if d not in plain]
    tokens += plain + defined
    types += [NORMAL] * len(plain) + [DEFINED] * len(defined)
    scores = [0.0] * 259 + [-float(rng.randrange(12)) for _ in plain] + [0.0] * len(defined)
    return {"model": "llama", "tokens": tokens, "types": types, "scores": scores, "prefix": prefix, "bos": 1, "eos": 2}


def small_texts(rng, count):
    units = ["a", "b", "c", "d", "e", " ", " ", "1", "\n", "'", ".", "é", "漢", "▁", "x", "111", "1111", "²", "<tool>", "<s>", "  ", "ddd", "ee", "ab ba", "bad"]
    found = [b"", b" ", b"a", b" a ", b"abcde" * 40, b"dddee", b"eeee", b"a" * 100, b"1" * 7, b"a 11111 1"]
    while len(found) < count:
        text = "".join(rng.choice(units) for _ in range(rng.choice([1, 2, 4, 8, 16, 40, 120]))).encode()
        if rng.random() < 0.25:
            text = bytearray(text)
            for _ in range(3):
                text[rng.randrange(len(text))] = rng.choice(EDGES)
            text = bytes(text)
        if not past_unicode(text):
            found.append(text)
    return found


def make_vocabularies():
    rng = random.Random(21)
    vocabularies = [byte_pairs(rng, rule) for rule in RULES]
    vocabularies += [pieces(rng, prefix, crossing) for prefix in (False, True) for crossing in (False, True)]
    for vocabulary in vocabularies:
        reference = Reference(vocabulary)
        vocabulary["cases"] = [{"text": encoded(t), "ids": reference.encode(t).tolist()} for t in small_texts(rng, 150)]
        reference.close()
    write_json("vocabularies.json.gz", vocabularies)


# --- chats

TURNS = "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}"
SYSTEM = ("{% if messages[0].role == 'system' %}{% set system_message = messages[0].content %}{% set loop_messages = messages[1:] %}"
          "{% else %}{% set loop_messages = messages %}{% endif %}")
THOUGHTS = ("{%- if tools %}{{- 'tools' }}{%- else %}{%- if messages[0].role == 'system' %}{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}{%- endif %}{%- endif %}"
            "{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}"
            "{%- if ns.multi_step_tool and message.role == 'user' and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}"
            "{%- set ns.multi_step_tool = false %}{%- set ns.last_query_index = index %}{%- endif %}{%- endfor %}"
            "{%- for message in messages %}BEGIN{%- if (message.role == 'user') or (message.role == 'system' and not loop.first) %}{{- '<|im_start|>' + message.role + '\\n' + QUESTION + '<|im_end|>' + '\\n' }}"
            "{%- elif message.role == 'assistant' %}CONTENT{%- if loop.index0 > ns.last_query_index %}{%- if loop.last or (not loop.last and reasoning_content) %}"
            "{{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}"
            "{%- else %}{{- '<|im_start|>' + message.role + '\\n' + content }}{%- endif %}{%- else %}{{- '<|im_start|>' + message.role + '\\n' + content }}{%- endif %}"
            "{%- if message.tool_calls %}{{- 'tools' }}{%- endif %}{{- '<|im_end|>\\n' }}{%- elif message.role == 'tool' %}{{- 'tools' }}{%- endif %}{%- endfor %}"
            "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>' }}{%- endif %}{%- endif %}")
TEMPLATES = {
    "chatml": "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}"
              "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    "chatml, with a system message of its own": """{#- spaced out -#}
{%- for message in messages %}
    {%- if loop.first and messages[0]["role"] != "system" %}
<|im_start|>system
You say "yes".<|im_end|>
    {% endif %}
    {{- "<|im_start|>" + message["role"] }}
{{ message["content"] }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}""",
    "chatml, with tools": "{%- if tools %}{{ 'tools: ' + tools }}{%- else %}{%- if messages[0].role == 'system' %}{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}"
                          "{%- else %}{{- '<|im_start|>system\\nHelp.<|im_end|>\\n' }}{%- endif %}{%- endif %}{%- for message in messages %}"
                          "{%- if (message.role == 'user') or (message.role == 'system' and not loop.first) or (message.role == 'assistant' and not message.tool_calls) %}"
                          "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{%- elif message.role == 'tool' %}{{ message.content }}{%- endif %}{%- endfor %}"
                          "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}",
    "chatml-thoughts": THOUGHTS.replace("CONTENT", "{%- set content = message.content %}{%- set reasoning_content = '' %}{%- if message.reasoning_content is defined and message.reasoning_content is not none %}{%- set reasoning_content = message.reasoning_content %}"
                                        "{%- else %}{%- if '</think>' in message.content %}{%- set content = message.content.split('</think>')[-1].lstrip('\\n') %}"
                                        "{%- set reasoning_content = message.content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}{%- endif %}{%- endif %}")
                               .replace("BEGIN", "").replace("QUESTION", "message.content"),
    "chatml-thoughts, of contents that need not be text": THOUGHTS.replace("CONTENT", "{%- set reasoning_content = '' %}{%- if message.reasoning_content is string %}{%- set reasoning_content = message.reasoning_content %}"
                                        "{%- else %}{%- if '</think>' in content %}{%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}"
                                        "{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}{%- endif %}")
                               .replace("BEGIN", "{%- if message.content is string %}{%- set content = message.content %}{%- else %}{%- set content = '' %}{%- endif %}").replace("QUESTION", "content"),
    "llama3": "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}"
              "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
              "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
    "llama3, with a date": "{{ bos_token }}{% if custom_tools is defined %}{% set tools = custom_tools %}{% endif %}{% if not date_string is defined %}{% set date_string = '1 May 2030' %}{% endif %}"
                           "{% if messages[0].role == 'system' %}{% set system_message = messages[0].content | trim %}{% set messages = messages[1:] %}{% else %}{% set system_message = '' %}{% endif %}"
                           "{{ '<|start_header_id|>system<|end_header_id|>\\n\\n' }}{% if tools is defined %}{{ 'tools' }}{% endif %}{{ 'It is ' + date_string + '\\n\\n' }}{% if tools is defined %}{{ 'tools' }}{% endif %}"
                           "{{ system_message }}{{ '<|eot_id|>' }}{% for message in messages %}{% if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}"
                           "{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}{% elif false %}{{ 'tools' }}{% endif %}{% endfor %}"
                           "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    "llama2": "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
              "{% for message in loop_messages %}" + TURNS +
              "{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"
              "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
    "mistral": "{{ bos_token }}{% for message in messages %}" + TURNS +
               "{% if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}{% elif message.role == 'assistant' %}{{ message.content + eos_token + ' ' }}{% else %}{{ raise_exception('no such role') }}{% endif %}{% endfor %}",
    "mistral-v1": SYSTEM + "{{ bos_token }}{% for message in loop_messages %}" + TURNS +
                  "{% if message.role == 'user' %}{% if loop.first and system_message is defined %}{{ ' [INST] ' + system_message + '\\n\\n' + message.content + ' [/INST]' }}{% else %}{{ ' [INST] ' + message.content + ' [/INST]' }}{% endif %}"
                  "{% elif message.role == 'assistant' %}{{ ' ' + message.content + eos_token }}{% else %}{{ raise_exception('no such role') }}{% endif %}{% endfor %}",
    "mistral-v3": SYSTEM + "{% if not tools is defined %}{% set tools = none %}{% endif %}{% set user_messages = loop_messages | list %}{% for message in loop_messages %}" + TURNS + "{% endfor %}"
                  "{{ bos_token }}{% for message in loop_messages %}{% if message.role == 'user' %}{% if tools is not none and (message == user_messages[-1]) %}{{ 'tools' }}{% endif %}"
                  "{% if loop.last and system_message is defined %}{{ '[INST] ' + system_message + '\\n\\n' + message.content + '[/INST]' }}{% else %}{{ '[INST] ' + message.content + '[/INST]' }}{% endif %}"
                  "{% elif message.role == 'call' %}{{ 'tools' }}{% elif message.role == 'assistant' %}{{ ' ' + message.content | trim + eos_token }}{% elif message.role == 'tool' %}{{ 'tools' }}{% endif %}{% endfor %}",
    "mistral-v7": "{{ bos_token }}{% for message in messages %}{% if message.role == 'user' %}{{ '[INST] ' + message.content + '[/INST]' }}{% elif message.role == 'system' %}{{ '[SYSTEM_PROMPT] ' + message.content + '[/SYSTEM_PROMPT]' }}"
                  "{% elif message.role == 'assistant' %}{{ ' ' + message.content + eos_token }}{% else %}{{ raise_exception('no such role') }}{% endif %}{% endfor %}",
    "zephyr": "{% for message in messages %}\n" + "\n".join(
        "{% " + word + " message['role'] == '" + role + "' %}\n{{ '<|" + role + "|>\n' + message['content'] + eos_token }}"
        for word, role in [("if", "user"), ("elif", "system"), ("elif", "assistant")]) +
        "\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
    "phi3": "{% for message in messages %}{% if message.role == 'system' and message.content %}{{ '<|system|>\n' + message.content + '<|end|>\n' }}{% elif message.role == 'user' %}{{ '<|user|>\n' + message.content + '<|end|>\n' }}"
            "{% elif message.role == 'assistant' %}{{ '<|assistant|>\n' + message.content + '<|end|>\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
    "phi3-turns": "{{ bos_token }}{% for message in messages %}{% if (message.role == 'user') %}{{ '<|user|>\\n' + message.content + '<|end|>\\n<|assistant|>\\n' }}{% elif (message.role == 'assistant') %}{{ message.content + '<|end|>\\n' }}{% endif %}{% endfor %}",
    "gemma": "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('no system message') }}{% endif %}{% for message in messages %}" + TURNS +
             "{% if (message.role == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message.role %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message.content | trim + '<end_of_turn>\\n' }}{% endfor %}"
             "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
}
MARKS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<start_of_turn>",
         "<end_of_turn>", "<|user|>", "<|system|>", "<|assistant|>", "<|end|>"]


def chat_vocabularies():
    """Bytes and marks. [INST] is a mark in the first and text in the second."""
    marks = MARKS + ["[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"]
    merges = ["u s", "us e", "use r", "Ċ Ċ", "Ġ a"]
    tokens = marks + SPELLED + [m.replace(" ", "") for m in merges]
    yield {"model": "gpt2", "pre": "smollm", "tokens": tokens, "types": [CONTROL] * len(marks) + [NORMAL] * (len(tokens) - len(marks)),
           "merges": merges, "bos": 0, "eos": 1}
    plain = list("abcdefghijklmnopqrstuvwxyz[]/INST▁") + ["us", "er", "user", "[I", "NST", "[INST", "▁a"]
    yield {"model": "llama", "tokens": MARKS + ["<0x%02X>" % b for b in range(256)] + plain,
           "types": [CONTROL] * len(MARKS) + [BYTE] * 256 + [NORMAL] * len(plain),
           "scores": [0.0] * (len(MARKS) + 256) + [-float(i) for i in range(len(plain))], "prefix": True, "bos": 0, "eos": 1}


def conversations():
    make = lambda *turns: [{"role": {"s": "system", "u": "user", "a": "assistant"}[role], "content": content} for role, content in turns]
    yield make(("u", "Hello"))
    yield make(("s", "Be brief."), ("u", "What is 12 + 30?"))
    yield make(("u", "Hi"), ("a", "Hello."), ("u", "And a joke?"))
    yield make(("s", "Rhyme.\nAlways."), ("u", "one"), ("a", "two"), ("u", "three"), ("a", "four"), ("u", "five"))
    yield make(("u", "  wide\n"), ("a", "\n\n answer \n"), ("u", "\t tabs \u00a0"))
    yield make(("u", ""))
    yield make(("s", ""), ("u", "日本 ü"))
    yield make(("s", " s "), ("u", "a\n\nb"))
    yield make(("u", "q"), ("a", "a"))
    yield make(("u", "a"), ("u", "b"))
    yield make(("u", "a"), ("a", "<think>\nhm\n</think>\n\nyes"), ("u", "b"))
    yield make(("u", "a"), ("a", "<think>one</think>\ntwo"), ("a", "\nthree"), ("a", "x</think>\nfour"))
    yield make(("u", "a"), ("a", "b"), ("u", "<tool_response>c</tool_response>"), ("a", "<think>d</think>e"), ("u", "<tool_response></tool_response>"))
    yield make(("u", "a"), ("s", "late"), ("u", "b"))


def make_chats():
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def raise_exception(message):
        raise jinja2.TemplateError(message)

    vocabularies = list(chat_vocabularies())
    references = [Reference(v) for v in vocabularies]
    templates = []
    for name, template in TEMPLATES.items():
        cases = []
        for messages in conversations():
            case = {"messages": messages, "ids": None}
            try:
                text = environment.from_string(template).render(
                    messages=messages, bos_token="<s>", eos_token="</s>", add_generation_prompt=True, raise_exception=raise_exception)
                case["ids"] = [r.encode(text.encode(), marks=True).tolist() for r in references]
            except jinja2.TemplateError:
                pass  # the template refuses it
            cases.append(case)
        templates.append({"name": name, "template": template, "cases": cases})
    write_json("chats.json.gz", {"vocabularies": vocabularies, "templates": templates})


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--model", required=True, help="the default model's GGUF file")
    arguments.add_argument("--data", type=pathlib.Path, required=True, help="the directory of data sets")
    arguments.add_argument("--other", nargs="*", default=[], help="GGUF files of other models")
    arguments.add_argument("--only", nargs="*", default=["texts", "vocabularies", "chats", "digests"])
    options = arguments.parse_args()
    vocabulary = read_vocabulary(options.model)
    if "texts" in options.only:
        make_texts(vocabulary)
    if "vocabularies" in options.only:
        make_vocabularies()
    if "chats" in options.only:
        make_chats()
    if "digests" in options.only:
        make_digests(vocabulary, options.data, options.other)


if __name__ == "__main__":
    main()
