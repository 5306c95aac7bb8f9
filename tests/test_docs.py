"""Every link in the documentation leads to a file and a heading that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
# The README's links are whole addresses, since PyPI shows it too.
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
            target = page.parent / file if file else page
            if "://" in file:
                continue
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []
    assert len(PAGES) > 10
