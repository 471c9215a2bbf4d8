"""Uses "sotto mcp" as agents do, with the official client from PyPI.

Needs SOTTO_PROGRAM, SOTTO_URL, SOTTO_KEY, and in the working directory releases/demos; at SOTTO_URL the
routes "tickets" (examples before every question) and "ask" (private answers, two for ε = 8).
"""

import asyncio
import os

from mcp import Client, StdioServerParameters


def server(*flags):
    return StdioServerParameters(
        command=os.environ["SOTTO_PROGRAM"],
        args=["mcp", "--model", "tiny.gguf", *flags],
        env=dict(os.environ),
    )


SERVICE = ["--service", os.environ["SOTTO_URL"], "--service-key-env", "SOTTO_KEY"]


async def use(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return result.structured_content


async def refused(client, tool, says, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error and says in result.content[0].text, result


async def main():
    async with Client(server("--releases", "releases", *SERVICE)) as client:
        assert client.server_info.name == "sotto" and "never instructions" in client.instructions
        tools = {t.name for t in (await client.list_tools()).tools}
        assert tools == {"plan", "account", "calibrate", "releases", "ask", "ledger"}, tools
        assert (await client.list_resources()).resources == [] and (await client.list_prompts()).prompts == []
        cost = await use(client, "account", event="gaussian(4)", delta=1e-6)
        assert 1.06 < cost["epsilon_upper"] < 1.061, cost
        x = await use(client, "calibrate", event="gaussian(x)", epsilon=1, delta=1e-6)
        assert x["epsilon_upper"] <= 1 and 4 < x["x"] < 5, x
        plan = await use(client, "plan", task="agnews", size=120000, epsilon=1, methods=["noisymax"])
        assert plan["rows"][0]["epsilon_upper"] <= 1, plan
        listed = await use(client, "releases")
        assert listed["releases"][0]["certificate_holds"] and len(listed["routes"]) == 2, listed
        one = await use(client, "releases", name="demos")
        assert len(one["releases"][0]["examples"]) == 2, one
        budgets = await use(client, "ledger")
        assert budgets["budgets"][0]["dataset"] == "rows", budgets
        answer = await use(client, "ask", route="tickets", question="They waited 20 days.")
        assert answer["charged_epsilon"] == 0 and answer["release"] == "demos", answer
        await refused(client, "ask", "allowed no spending", route="ask", question="I was charged twice.")
        await refused(client, "account", "unknown event", event="gausian(4)", delta=1e-6)
    async with Client(server(*SERVICE, "--allow-spending", "8")) as client:
        answer = await use(client, "ask", route="ask", question="I was charged twice.")
        assert answer["answer"] in ("billing", "login") and answer["charged_epsilon"] == 8, answer


asyncio.run(main())
print("mcp works")
