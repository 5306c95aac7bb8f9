"""The documentation: its links lead somewhere, its site is built offline, its code runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from haystack.components.agents import Agent
from haystack.components.generators import chat
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
# Links out of `docs/`, and all of the README's, are whole addresses, for the site and for PyPI.
OWN = re.compile(
    r"https://(github\.com/lexarbor/lexarbor/blob|raw\.githubusercontent\.com/lexarbor/lexarbor)/main/"
)
CODE = re.compile(r"```.*?```", re.DOTALL)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}


def test_links_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        text = CODE.sub("", page.read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = OWN.sub("", link).partition("#")
            base = ROOT if OWN.match(link) else page.parent
            target = base / file if file else page
            if "://" in file:
                continue
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []
    assert len(PAGES) > 10


@pytest.mark.slow
def test_the_site_is_built_without_a_network_and_loads_nothing_from_another_host(tmp_path) -> None:
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    env = {**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = {each.parent.name: each.read_text("utf-8") for each in tmp_path.rglob("index.html")}
    assert {"haystack", "researchers", "reference"} <= set(pages)
    assert "CitationAuditor" in pages["reference"] and "top_k" in pages["reference"]
    for name, page in pages.items():
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?://[^"]+)', page)
        assert loaded == [], name


def reply(messages: list[ChatMessage]) -> str | ChatMessage:
    """What a model would do with a tool `law`: ask it, and answer."""
    if (result := messages[-1].tool_call_result) is not None:
        return f"I read: {result.result}"
    return ChatMessage.from_assistant(tool_calls=[ToolCall("law", {"query": "Hens?"})])


@pytest.mark.parametrize("page", ["haystack.md", "integration.md"])
def test_the_pages_for_haystack_users_run(page, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chat, "OpenAIChatGenerator", lambda: MockChatGenerator(response_fn=reply))
    article = {"id": "g6", "law": "Allotment Gardens Act", "number": "6", "headings": []}
    article |= {"text": "Up to six hens may be kept on a plot.", "language": "en"}
    Path("articles.jsonl").write_text(json.dumps(article), encoding="utf-8")
    text = (ROOT / "docs" / page).read_text("utf-8")
    for file in re.findall(r"```yaml\n(.*?)```", text, re.S):
        Path("pipeline.yaml").write_text(file, encoding="utf-8")
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(code, names)
    assert [each.id for each in names["found"]] == ["g6"]
    for tool in (names[name] for name in ("law", "articles") if name in names):
        call = ChatMessage.from_assistant(tool_calls=[ToolCall(tool.name, {"query": "hens"})])
        agent = Agent(chat_generator=MockChatGenerator([call, "Six."]), tools=[tool])
        messages = agent.run([ChatMessage.from_user("How many hens?")])["messages"]
        (given,) = (each.tool_call_result.result for each in messages if each.tool_call_result)
        assert json.dumps(article["text"]) in given
        assert '"id": "g6"' in given and f'"law": "{article["law"]}", "number": "6"' in given
    if page == "integration.md":
        assert {"bm25", "dense"} <= names["found"][0].meta["ranks"].keys()
        asked = {"retriever": {"query": "May I keep hens?"}}
        assert names["pipeline"].run(asked)["retriever"]["documents"] == names["found"]
        assert names["answer"].startswith("I read: ") and "six hens" in names["answer"]
