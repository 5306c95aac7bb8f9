"""python -m pipelines.audit: check the citations of a document against the law of a store.

FILE is plain text, Markdown or Word (.docx, its notes included); - reads text from standard input.
Without --store it is checked against the invented Statutes of Aldermere. Each citation in words
("section 12 of the Housing Code") gets a verdict:

  verified          the article exists and was in force, as far as its dates tell
  does not exist    the law has no such article or paragraph
  not in force      it was repealed, or was not yet in force, on the day
  subject differs   the sentence has the words of another article
  unknown law       the store does not hold this law
  not checked       it is in doubt which article is meant

Verified does not mean that the article supports the sentence. A citation that does not exist, is
not in force or is on another subject makes the exit status 1.

  python -m pipelines.audit brief.docx --store law.db
  python -m pipelines.audit examples/brief.md
  python -m pipelines.audit - --store law.db --as-of 2019-05-01 --json < mail.txt
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from components.statutes.extras import needs_extra
from pipelines import command_line
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, FAILED, say, show

if TYPE_CHECKING:
    from lxml.etree import _Element

    from components.builders.citation_auditor import CitationAuditor
    from components.statutes.replies.auditing import AuditedCitation

LARGEST_FILE = 20_000_000
"""The largest file that is read, in bytes; of a .docx also unpacked."""
LONGEST_TEXT = 2_000_000
"""The longest text that is audited, in characters."""

_WIDTH = 100
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NOTES = ("footnotes", "endnotes")
_NOTES_OF = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser("audit", "Check the citations of a document.", __doc__)
    parser.add_argument("file", metavar="FILE", help="the document, or - for standard input")
    parser.add_argument(
        "--store", type=command_line.named, metavar="FILE", help="default: the demo store"
    )
    parser.add_argument(
        "--as-of",
        type=command_line.as_of,
        default="today",
        metavar="DAY|any|today",
        help="the day on which the law should be in force (default: today)",
    )
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    options = parser.parse_args(arguments)
    return command_line.run(lambda: _audit(options))


def _audit(options: argparse.Namespace) -> int:
    document = read_document(options.file)
    from components.builders.citation_auditor import CitationAuditor
    from pipelines.home import given_or_demo
    from pipelines.loading import store_with_articles

    with store_with_articles(given_or_demo(options.store, say)) as store:
        result = audit(document.text, CitationAuditor(store), options.as_of)
    found = result["citations"]
    for each in found:
        each["place"] = document.place(each["start"])
    if options.json:
        show({"file": options.file, **result})
    else:
        written = [_entry(each, result["articles"]) for each in found]
        show("\n\n".join([*written, _summary(result["counts"])]))
    return FAILED if any(each["false"] for each in found) else DONE


def audit(text: str, auditor: CitationAuditor, as_of: str = "today") -> dict[str, Any]:
    """Check the citations of a text, as plain values.

    Args:
        text: plain text or Markdown.
        auditor: over the law that it is checked against; keep it, and its indexes stay.
        as_of: the day on which the law should be in force: "today", a day as YYYY-MM-DD, or "any".

    Returns:
        `citations`: in order, each with `start`, `end`, `text`, `verdict`, `false` (whether the
        verdict speaks against it), `ids`, and where known `law` and `why`.
        `counts`: how many have each verdict, always with "not checked".
        `articles`: the articles cited, by id: `law`, `number`, `headings`, `text`, and where known
        `valid_from`, `valid_to` and `source_url`.

    Raises:
        ValueError: `as_of` is neither of the two words nor a day.
        StoreError: the store cannot be read.
    """
    from components.converters.articles import article_of

    audited = auditor.run(text, as_of=as_of)
    articles = {each.id: article_of(each).to_json() for each in audited["documents"]}
    for article in articles.values():
        del article["id"]
    return {
        "citations": [_plain(each) for each in audited["citations"]],
        "counts": audited["counts"],
        "articles": articles,
    }


def _plain(citation: AuditedCitation) -> dict[str, Any]:
    from components.statutes.replies.auditing import FALSE

    fields = asdict(citation) | {"false": citation.verdict in FALSE, "ids": list(citation.ids)}
    return {key: value for key, value in fields.items() if value or key not in ("law", "why")}


class ReadDocument(NamedTuple):
    """A document's text, and how its places are called.

    Attributes:
        text: Lines, or the paragraphs of a .docx with an empty line between them.
        name: As given.
        unit: "line", or "paragraph" of a .docx.
    """

    text: str
    name: str
    unit: str

    def place(self, start: int) -> str:
        """Where a character stands: "brief.md, line 12"."""
        separator = "\n" if self.unit == "line" else "\n\n"
        return f"{self.name}, {self.unit} {self.text.count(separator, 0, start) + 1}"


def read_document(name: str) -> ReadDocument:
    """The text of a file, by its ending; "-" is standard input.

    Raises:
        LoadingError: it cannot be read; says why and what to do.
    """
    path = Path(name)
    is_word = path.suffix.lower() == ".docx"
    try:
        with sys.stdin.buffer if name == "-" else path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise ValueError(f"it has over {LARGEST_FILE:,} bytes: split it")
        text = _docx_text(name) if is_word else _decoded(data)
        if len(text) > LONGEST_TEXT:
            raise ValueError(f"it has over {LONGEST_TEXT:,} characters: split it")
    except FileNotFoundError as error:
        raise LoadingError(f"There is no file {name}. Check the path.") from error
    except (OSError, ValueError) as error:
        raise LoadingError(
            f"{name} cannot be read ({error}). It may be .docx, .md or .txt in UTF-8."
        ) from error
    shown = "standard input" if name == "-" else path.name
    return ReadDocument(text, shown, "paragraph" if is_word else "line")


def _decoded(data: bytes) -> str:
    if data.startswith((b"%PDF", b"PK\x03\x04", b"\xd0\xcf")):
        raise ValueError("it is a PDF or a packed file")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return data.decode(encoding).replace("\r\n", "\n")


def _docx_text(name: str) -> str:
    """The paragraphs of a Word file: body, tables, text boxes and notes, without deleted text."""
    with needs_extra("A Word file", "files"):
        from docx import Document
        from docx.opc.exceptions import OpcError
        from docx.oxml import parse_xml
        from lxml.etree import XMLSyntaxError

    try:
        with ZipFile(name) as packed:
            if sum(part.file_size for part in packed.infolist()) > 10 * LARGEST_FILE:
                raise ValueError("it unpacks to more than a document has")
        part = Document(name).part
        roots = [part.element]
        for kind in _NOTES:
            notes = (each for each in part.rels.values() if each.reltype == _NOTES_OF + kind)
            roots += [parse_xml(each.target_part.blob) for each in notes]
    except (OpcError, BadZipFile, XMLSyntaxError, KeyError) as error:
        raise ValueError(f"it is not a Word file: {error}") from error
    paragraphs = (
        re.sub(r"\n+", "\n", "".join(_pieces(each)))
        for root in roots
        for each in root.iter(f"{_WORD}p")
        # Word writes a text box twice: for itself, and for older programs.
        if next(each.iterancestors(_FALLBACK), None) is None
    )
    return "\n\n".join(each for each in paragraphs if each.strip())


def _pieces(element: _Element) -> Iterator[str]:
    """The text of a paragraph in order, without that of paragraphs within it."""
    for child in element:
        if child.tag == f"{_WORD}p":
            continue
        name = str(child.tag).removeprefix(_WORD)
        if name == "t":
            yield child.text or ""
        else:
            yield _CHARACTERS.get(name, "")
            yield from _pieces(child)


def _entry(citation: dict[str, Any], articles: dict[str, dict[str, Any]]) -> str:
    """A citation with its verdict, what speaks against it, and the article that it names."""
    lines = [f"{citation['place']}: {citation['text']}: {citation['verdict'].upper()}"]
    if "why" in citation:
        lines += textwrap.wrap(citation["why"], _WIDTH - 3)
    for id_ in citation["ids"][:1]:
        article = articles[id_]
        lines.append(f"{article['law']}, {article['number']} [{id_}]")
        if citation["false"]:
            lines += textwrap.wrap(" ".join(article["text"].split()), _WIDTH - 3)[:3]
    return textwrap.indent("\n".join(lines), "   ").lstrip()


def _summary(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{total} {'citation' if total == 1 else 'citations'}: {listed}."


if __name__ == "__main__":
    sys.exit(main())
