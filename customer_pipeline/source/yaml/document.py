"""A YAML file as plain data, with the line of everything in it.

What belongs here: syntax, duplicate keys, and where a key or value stands. What does not: which
keys a source may have (`feed.py`) and what to say of mistakes (`source_file.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from customer_pipeline.errors import ConfigError

Place = tuple[str | int, ...]
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, order=True)
class Mistake:
    """Something wrong in the file: on which line, under which key, and what to do about it."""

    line: int
    key: str
    what: str
    todo: str = ""


@dataclass
class Document:
    """A parsed file. `data` has plain values (keys are always texts), `lines` the line of each
    place, `written` each scalar as it stands in the file."""

    data: dict[str, Any] = field(default_factory=dict)
    lines: dict[Place, int] = field(default_factory=dict)
    written: dict[Place, str] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def mistake(self, place: Place, what: str, todo: str = "") -> None:
        """Notes a mistake at `place`; a key that is absent is placed where its parent begins."""
        known = (place[:n] for n in range(len(place), -1, -1) if place[:n] in self.lines)
        line = self.lines[next(known)]
        self.mistakes.append(Mistake(line, shown(place), what, todo))


def shown(place: Place) -> str:
    """`place` as people write it: `feeds.orders.missing.dates[3]`."""
    texts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(texts).removeprefix(".")


def read_document(path: Path) -> Document:
    """Reads the YAML file `path`, whose top level is a mapping.

    Raises:
        ConfigError: when there is no such file, it cannot be read, or it is not YAML. What is wrong
            with a well-formed file's content is noted in the document's `mistakes`.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(
            "there is no such file",
            where=str(path),
            todo="set CUSTOMER_PIPELINE_SOURCE to the path of the source YAML",
        ) from error
    except OSError as error:
        raise ConfigError(f"the file cannot be read: {error.strerror}", where=str(path)) from error
    try:
        root = yaml.compose(content, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        what = " ".join(text for text in (error.context, error.problem) if text)
        raise ConfigError(
            f"this is not YAML: {what}",
            where=f"{path}{line}",
            todo="check the indentation, and quote any text that begins with { or * or contains ': '",
        ) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"this is not YAML: {error}".split("\n")[0], where=str(path)) from error
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(
            "the file is empty" if root is None else "the top level is not a mapping",
            where=str(path),
            todo="begin with 'name:', 'start:', 'timezone:' and 'feeds:'",
        )
    document = Document()
    document.data = _Walk(document).value(root, ())
    return document


@dataclass
class _Walk:
    document: Document
    inside: list[yaml.Node] = field(default_factory=list)

    def value(self, node: yaml.Node, place: Place) -> Any:
        self.document.lines.setdefault(place, _line(node))
        if any(node is outer for outer in self.inside):
            self.document.mistake(place, "refers to itself")
            return None
        self.inside.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, place)
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, (*place, n)) for n, item in enumerate(node.value)]
            return self._scalar(node, place)
        finally:
            self.inside.pop()

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in self._pairs(node, place).values():
            key = (*place, key_node.value)
            self.document.lines[key] = _line(key_node)
            found[key_node.value] = self.value(value_node, key)
        return found

    def _pairs(
        self, node: yaml.MappingNode, place: Place
    ) -> dict[str, tuple[yaml.ScalarNode, yaml.Node]]:
        """The pairs by the key's text: `no`, `on` and `2026` are names like others."""
        own: dict[str, tuple[yaml.ScalarNode, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.ScalarNode, yaml.Node]] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.document.mistake(place, "has a key that is not text")
            elif key_node.tag == _MERGE:
                for other in _merged(value_node):
                    if isinstance(other, yaml.MappingNode) and other is not node:
                        merged = self._pairs(other, place) | merged
                    else:
                        self.document.mistake(place, "<< takes a mapping, or a list of them")
            elif key_node.value in own:
                first = _line(own[key_node.value][0])
                self.document.lines[*place, key_node.value] = _line(key_node)
                what = f"the key is given twice, first on line {first}"
                self.document.mistake((*place, key_node.value), what)
            else:
                own[key_node.value] = (key_node, value_node)
        return merged | own

    def _scalar(self, node: yaml.Node, place: Place) -> Any:
        self.document.written[place] = node.value
        try:
            return SafeConstructor().construct_object(node)
        except yaml.MarkedYAMLError as error:
            self.document.mistake(place, error.problem or "is not a plain value")
        except ValueError:
            # It looks like a date and is none, such as 2026-02-30: whoever wants a day says so.
            pass
        return node.value


def _merged(node: yaml.Node) -> Iterator[yaml.Node]:
    yield from node.value if isinstance(node, yaml.SequenceNode) else [node]


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1
