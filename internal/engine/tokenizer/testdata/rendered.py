"""Writes rendered.json.gz: chat templates and what jinja2 renders of conversations.

    pip install jinja2==3.1.6
    python rendered.py [--official DIRECTORY] [--out FILE]

The templates below are written for this purpose, in the constructs of the models' own.
--official adds every *.jinja of a directory. Those in the committed file are
Qwen-Qwen2.5-7B-Instruct, Qwen-Qwen3-0.6B and mistralai-Mistral-Nemo-Instruct-2407
(Apache-2.0) and microsoft-Phi-3.5-mini-instruct (MIT), as llama.cpp's models/templates
has them.
"""

import argparse
import gzip
import json
import pathlib

import jinja2.sandbox

HERE = pathlib.Path(__file__).parent

GEMMA3 = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
  {%- if messages[0]['content'] is string -%}{%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
  {%- else -%}{%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}{%- endif -%}
  {%- set loop_messages = messages[1:] -%}
{%- else -%}
  {%- set first_user_prefix = "" -%}
  {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
  {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception("user and assistant take turns") }}{%- endif -%}
  {%- if (message['role'] == 'assistant') -%}{%- set role = "model" -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}
  {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
  {%- if message['content'] is string -%}{{ message['content'] | trim }}
  {%- elif message['content'] is iterable -%}
    {%- for item in message['content'] -%}{%- if item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}{%- endfor -%}
  {%- else -%}{{ raise_exception("not a text") }}{%- endif -%}
  {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}
"""

PHI4_MINI = """{% for message in messages %}
{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}
{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}
{%- else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}
{%- else %}{{ eos_token }}
{%- endif %}"""

TURN = "{{{{'<|im_start|>{0}<|im_sep|>' + message['content'] + '<|im_end|>'}}}}"
PHI4 = (
    "{% for message in messages %}{% if (message['role'] == 'system') %}" + TURN.format("system")
    + "{% elif (message['role'] == 'user') %}" + TURN.format("user") + "{% elif (message['role'] == 'assistant') %}" + TURN.format("assistant")
    + "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"
)

OWN = {"gemma3": GEMMA3, "phi4-mini": PHI4_MINI, "phi4": PHI4}

CONTENTS = ["Hello", "  spaces around \n", "", "two\nlines", "ünïcode ☃ 漢字", "a\n\nb ", "</think>x", "{{ braces }} {% if %}", "quotes \" and '"]


def conversations():
    turn = lambda role, content: {"role": role, "content": content}
    for i, content in enumerate(CONTENTS):
        other = CONTENTS[(i + 1) % len(CONTENTS)]
        yield [turn("user", content)]
        yield [turn("system", other), turn("user", content)]
        yield [turn("user", content), turn("assistant", other), turn("user", content)]
        yield [turn("system", content), turn("user", other), turn("assistant", content), turn("user", other)]
    yield [turn("user", "a"), turn("assistant", "<think>\nwhy\n</think>\n\nb"), turn("user", "c")]
    yield [turn("user", "a"), turn("user", "b")]
    yield [turn("assistant", "a"), turn("user", "b")]
    yield [turn("user", "a"), turn("assistant", "b")]
    yield [turn("user", "a"), turn("system", "b"), turn("user", "c")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--official", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "rendered.json.gz")
    args = parser.parse_args()
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def refuse(message):
        raise jinja2.TemplateError(message)

    templates = dict(OWN)
    if args.official:
        templates |= {path.stem: path.read_text() for path in sorted(args.official.glob("*.jinja"))}
    found = []
    for name, template in templates.items():
        cases = []
        for messages in conversations():
            try:
                text = environment.from_string(template).render(
                    messages=messages, bos_token="<s>", eos_token="</s>", add_generation_prompt=True, raise_exception=refuse)
            except jinja2.TemplateError:
                text = None  # the template refuses it
            cases.append({"messages": messages, "text": text})
        found.append({"name": name, "template": template, "cases": cases})
    data = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    args.out.write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    main()
