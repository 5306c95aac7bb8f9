"""A Haystack agent that reads the law through MCP: `python examples/agent.py [law.db]`.

The generator is a script, so that the example runs offline. In its place put your own, such as
OpenAIChatGenerator(model="..."): it decides by itself which tool to call.
"""

import os
import sys
import tempfile
from pathlib import Path

from haystack.components.agents import Agent
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall
from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo

from pipelines.indexing import index_corpus

QUESTION = "My landlord keeps my deposit. By when must he return it?"
FIRST = "Within 30 days (Article 14 of the Housing Code)."
DRAFT = f"{FIRST} Else he owes triple (Article 77 of the Housing Code)."


def script(messages: list[ChatMessage]) -> str | ChatMessage:
    """What a model would do: search, read the best article, check its answer, give it."""
    results = [message.tool_call_result.result for message in messages if message.tool_call_result]
    calls = [
        ToolCall("find_articles", {"question": QUESTION, "law": "Housing Code", "top_k": 3}),
        ToolCall("read_article", {"law": "Housing Code", "number": "14"}),
        ToolCall("check_citations", {"text": DRAFT}),
    ]
    if len(results) < len(calls):
        return ChatMessage.from_assistant(tool_calls=[calls[len(results)]])
    return FIRST if "does not exist" in str(results[-1]) else DRAFT


with tempfile.TemporaryDirectory() as folder:
    if len(sys.argv) > 1:
        store = Path(sys.argv[1])
    else:
        store = Path(folder, "law.db")
        index_corpus("aldermere", store, model="none")  # words alone; leave it out for meaning too

    server = StdioServerInfo(
        command=sys.executable,
        args=["-m", "pipelines.mcp", "--store", str(store)],
        env=dict(os.environ),
    )
    # All tools over one connection; MCPTool("find_articles", server) is a single one.
    tools = MCPToolset(server, connection_timeout=120)
    agent = Agent(
        chat_generator=MockChatGenerator(response_fn=script),
        tools=tools,
        system_prompt="Answer from the law alone, and check your citations before you answer.",
    )
    result = agent.run(messages=[ChatMessage.from_user(QUESTION)])
    for message in result["messages"]:
        for call in message.tool_calls:
            print(f"-> {call.tool_name} {call.arguments}")
        for given in message.tool_call_results:
            print(f"<- {str(given.result)[:300]}")
    print(f"\n{result['last_message'].text}")
    tools.close()
