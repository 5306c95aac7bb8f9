"""What a person says about a law where its file does not: flags, and law.yaml next to the files.

```yaml
language: en                      # of every file in the folder
jurisdiction: us/or
ORS090.txt.gz:                    # of one file
  law: Oregon Revised Statutes Chapter 90
  source_url: https://...
aliases:                          # further names of laws
  Landlord and Tenant Act: Oregon Revised Statutes Chapter 90
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from components.statutes.article import Article
from components.statutes.jurisdiction import checked_place
from components.statutes.sources.reading import Place, refused

FIELDS = ("law", "language", "source_url", "jurisdiction")
LAW_NOTES = "law.yaml"
_ALIASES = "aliases"


class LawNotes(NamedTuple):
    """A law.yaml.

    Attributes:
        all_files: Fields of every file in the folder.
        of_file: Fields by name of file.
        aliases: Laws by further names.
    """

    all_files: Mapping[str, str]
    of_file: Mapping[str, Mapping[str, str]]
    aliases: Mapping[str, str]


def law_notes(folder: Path) -> LawNotes:
    """The law.yaml of a folder; empty where there is none.

    Raises:
        CorpusError: It cannot be read, names an unknown field or a file that does not exist, or its
            name ends in .yml.
    """
    path = folder / LAW_NOTES
    notes = LawNotes({}, {}, {})
    if not path.is_file():
        if (other := path.with_suffix(".yml")).is_file():
            raise refused(other, "is not read under this name", f"Rename it {LAW_NOTES}.")
        return notes
    try:
        root = yaml.compose(path.read_text("utf-8-sig"), Loader=yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        message = f"cannot be read ({' '.join(str(error).split())})"
        raise refused(path, message, "Write it as 'field: value' lines.") from error
    all_files, of_file, aliases = {}, {}, {}
    for key, line, node in _pairs(path, root):
        if key == _ALIASES:
            aliases = _texts(path, node)
        elif key in FIELDS:
            all_files[key] = _text(path, key, line, node)
        elif key == Path(key).name and (folder / key).is_file():
            of_file[key] = _texts(path, node, FIELDS)
        else:
            message = "is neither a field nor a file of the folder"
            repair = f"Name a file, or one of {', '.join((*FIELDS, _ALIASES))}."
            raise refused(path, message, repair, line=line, field=key)
    return LawNotes(all_files, of_file, aliases)


def _pairs(path: Path, node: yaml.Node | None) -> Iterator[tuple[str, int, yaml.Node]]:
    """Keys, lines and values of a mapping."""
    if not isinstance(node, yaml.MappingNode):
        line = 1 if node is None else node.start_mark.line + 1
        raise refused(path, "is not a mapping", "Write 'field: value' lines.", line=line)
    seen = set()
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.value in seen:
            raise refused(path, "is given twice", "Keep one.", line=line, field=str(key.value))
        seen.add(key.value)
        yield str(key.value), line, value


def _text(path: Path, field: str, line: int, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        raise refused(path, "is not a text", f"Write '{field}: value'.", line=line, field=field)
    text = str(node.value).strip()
    if field == "jurisdiction":
        try:
            checked_place(text)
        except ValueError as error:
            raise refused(path, str(error), "Correct it.", line=line, field=field) from error
    return text


def _texts(path: Path, node: yaml.Node, known: Iterable[str] = ()) -> dict[str, str]:
    texts = {}
    for key, line, value in _pairs(path, node):
        if known and key not in known:
            repair = f"The fields are {', '.join(known)}."
            raise refused(path, "is not a field", repair, line=line, field=key)
        texts[key] = _text(path, key, line, value)
    return texts


def stated_of(file: str, stated: Mapping[str, str]) -> dict[str, str]:
    """The fields that a person states of a file; `stated`, from the command line, takes precedence.

    Raises:
        CorpusError: The law.yaml of its folder is faulty.
    """
    path = Path(file)
    if not path.is_file():  # a stream, which is in no folder
        return dict(stated)
    notes = law_notes(path.parent)
    return {**notes.all_files, **notes.of_file.get(path.name, {}), **stated}


def with_stated(
    placed: Iterable[tuple[Place, Article]], stated: Mapping[str, str]
) -> Iterator[tuple[Place, Article]]:
    """The articles with what is stated of their files; an article keeps a `source_url` of its own.

    Raises:
        CorpusError: A law.yaml is faulty, or a file to which one name is given holds several laws.
    """
    file, law, fields = "", "", dict[str, str]()
    for place, article in placed:
        if place.file != file:
            file, law, fields = place.file, article.law, stated_of(place.file, stated)
        if "law" in fields and article.law != law:
            message = f"holds several laws ({law!r}, {article.law!r}), and one name is stated"
            raise refused(file, message, "Leave out --law, or 'law' in law.yaml.", field="law")
        changes: dict[str, Any] = dict(fields)
        if article.source_url:
            changes.pop("source_url", None)
        yield place, replace(article, **changes) if changes else article
