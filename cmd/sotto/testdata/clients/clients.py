"""Asks a gateway as its users do, with unmodified clients from PyPI.

Needs SOTTO_URL, SOTTO_KEY, and the routes "tickets" (examples before every question), "plain" and
"ask" (private answers, two of which the budget allows) of one embedded model.
"""

import os

import dspy
import openai
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

URL, KEY = os.environ["SOTTO_URL"] + "/v1", os.environ["SOTTO_KEY"]
QUESTION = "I was charged twice."


def official():
    client = openai.OpenAI(base_url=URL, api_key=KEY)
    assert {m.id for m in client.models.list()} == {"tickets", "plain", "ask"}
    assert client.models.retrieve("tickets").owned_by == "sotto"
    turns = [{"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model="tickets", messages=turns, max_tokens=8, temperature=0, seed=1)
    assert whole.choices[0].message.content and whole.usage.total_tokens > whole.usage.completion_tokens
    about = whole.model_extra["sotto"]
    assert about["route"] == "tickets" and about["private"] and about["epsilon_spent"] == 0, about
    text, usage = "", None
    with client.chat.completions.create(
        model="tickets", messages=turns, max_tokens=8, temperature=0, seed=1, stream=True, stream_options={"include_usage": True}
    ) as stream:
        for event in stream:
            usage = event.usage or usage
            text += "".join(c.delta.content or "" for c in event.choices)
    assert text == whole.choices[0].message.content and usage.total_tokens == whole.usage.total_tokens, (text, whole)
    plain = client.completions.create(model="plain", prompt="One, two,", max_tokens=4, temperature=0)
    assert plain.choices[0].text
    vectors = client.embeddings.create(model="plain", input=["a", "b"])
    assert len(vectors.data) == 2 and abs(sum(x * x for x in vectors.data[0].embedding) - 1) < 1e-3
    for wrong, kind in [
        (dict(model="nowhere", messages=turns), openai.NotFoundError),
        (dict(model="tickets", messages=[]), openai.BadRequestError),
        (dict(model="plain", messages=turns, n=2), openai.BadRequestError),
    ]:
        try:
            client.chat.completions.create(**wrong)
            raise AssertionError(f"{wrong} was answered")
        except kind as e:
            assert e.body["message"], e
    try:
        openai.OpenAI(base_url=URL, api_key="sk-wrong").models.list()
        raise AssertionError("a wrong key was let in")
    except openai.AuthenticationError:
        pass


def private():
    client = openai.OpenAI(base_url=URL, api_key=KEY)
    turns = [{"role": "user", "content": QUESTION}]
    answers = []
    for name in ("one", "one", "two"):  # the same name is the same request
        raw = client.chat.completions.with_raw_response.create(model="ask", messages=turns, extra_headers={"Idempotency-Key": name})
        answer = raw.parse()
        assert answer.choices[0].message.content in ("billing", "login"), answer
        assert float(raw.headers["Sotto-Epsilon-Spent"]) > 0 and "Sotto-Epsilon-Left" in raw.headers
        answers.append(answer)
    charges = [a.model_extra["sotto"]["charge"] for a in answers]
    assert charges[0] == charges[1], charges
    try:
        client.chat.completions.create(model="ask", messages=turns)
        raise AssertionError("more was answered than the budget allows")
    except openai.APIStatusError as e:
        assert e.status_code == 402 and e.code == "privacy_budget_exhausted", e


def langchain():
    model = ChatOpenAI(base_url=URL, api_key=KEY, model="tickets", max_tokens=8, temperature=0)
    turns = [SystemMessage("Answer in one word."), HumanMessage(QUESTION)]
    whole = model.invoke(turns)
    assert whole.content and whole.usage_metadata["total_tokens"] > 0, whole
    pieces = list(model.stream(turns))
    assert len(pieces) > 1 and "".join(p.content for p in pieces) == whole.content, pieces
    assert len(model.batch([turns, turns])) == 2
    vectors = OpenAIEmbeddings(base_url=URL, api_key=KEY, model="plain", check_embedding_ctx_length=False)
    assert len(vectors.embed_documents(["a", "b"])) == 2


def dspy_():
    lm = dspy.LM("openai/tickets", api_base=URL, api_key=KEY, max_tokens=16, temperature=0, cache=False)
    assert lm(QUESTION)[0]
    assert lm(messages=[{"role": "system", "content": "Be short."}, {"role": "user", "content": QUESTION}])[0]


for use in (official, private, langchain, dspy_):
    use()
    print(use.__name__.strip("_"), "works")
