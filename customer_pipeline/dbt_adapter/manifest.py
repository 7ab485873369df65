"""dbt's parsed project: where its files are, and what it says about models and tests.

Parsing takes seconds, so the result is kept in a cache folder under the hash of everything it was
made from: it is never stale, works beside a read-only project folder, and is parsed once even when
several processes start at the same moment on a fresh clone (the first to finish wins).

What belongs here: the manifest as data. What does not: running dbt (`parsing.py`,
`invocation.py`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from customer_pipeline.dbt_adapter.parsing import parse
from customer_pipeline.errors import StageError

MANIFEST = "manifest.json"
# dbt's own serialization of the same, from which a run gets the parsed project in milliseconds.
PARTIAL_PARSE = "partial_parse.msgpack"

_PARSED_SUFFIXES = {".sql", ".yml", ".yaml", ".csv", ".py", ".md"}
_NOT_PARSED = {"target", "logs", "dbt_packages"}


@dataclass(frozen=True)
class Test:
    """A dbt data test, as it shows in Dagster: a check on the model that it is about."""

    unique_id: str
    name: str
    model: str
    description: str
    # The relation that holds the failing rows, inside the candidate file.
    failures: str
    warn_only: bool


@dataclass(frozen=True)
class DbtProject:
    """The dbt project in `folder`, with its parsed form kept below `cache`."""

    folder: Path
    cache: Path

    @property
    def is_parsed(self) -> bool:
        """Whether the project has been parsed as its files are now."""
        return (self.cache / self._fingerprint() / MANIFEST).exists()

    @cached_property
    def parsed(self) -> Path:
        """The folder with the parsed project's files; parses when there is none for these files.

        Raises:
            StageError: the project does not parse.
        """
        folder = self.cache / self._fingerprint()
        if not (folder / MANIFEST).exists():
            self._parse_into(folder)
        return folder

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        return json.loads((self.parsed / MANIFEST).read_text())

    def models_of(self, pipeline: str) -> dict[str, Mapping[str, Any]]:
        """The models in the folder `models/<pipeline>` that become tables, by name."""
        return {
            node["name"]: node
            for node in self.manifest["nodes"].values()
            if node["resource_type"] == "model"
            and pipeline in node["fqn"][1:-1]
            and node["config"]["materialized"] == "table"
        }

    def raw_tables_of(self, pipeline: str) -> dict[str, dict[str, str]]:
        """The raw tables that the pipeline's models read: their columns, name to type."""
        return {
            node["name"]: {
                column["name"]: column["data_type"] for column in node["columns"].values()
            }
            for node in self.manifest["sources"].values()
            if node["schema"] == "raw" and pipeline in node["fqn"]
        }

    def tables_read(self) -> dict[str, dict[str, dict[str, str]]]:
        """All tables that any model reads, by schema (`raw`, `marts`): their columns, name to type. Of
        a mart they are those that its own model states; one that states none is left out."""
        found: dict[str, dict[str, dict[str, str]]] = {"raw": {}, "marts": {}}
        models = {
            node["name"]: node
            for node in self.manifest["nodes"].values()
            if node["resource_type"] == "model"
        }
        for node in self.manifest["sources"].values():
            stated = models.get(node["name"]) if node["schema"] == "marts" else node
            columns = stated["columns"].values() if stated else ()
            types = {column["name"]: column["data_type"] for column in columns}
            if node["schema"] in found and types and all(types.values()):
                found[node["schema"]][node["name"]] = types
        return found

    def tests_of(self, pipeline: str) -> list[Test]:
        """The data tests on the pipeline's models, in a stable order."""
        return sorted(self._tests(pipeline), key=lambda test: (test.model, test.name))

    def _tests(self, pipeline: str) -> Iterator[Test]:
        models = self.models_of(pipeline)
        for unique_id, node in self.manifest["nodes"].items():
            if node["resource_type"] == "test" and self._is_selected(node, pipeline):
                yield Test(
                    unique_id=unique_id,
                    name=node["name"],
                    model=self._shown_on(node, models),
                    description=node["config"].get("meta", {}).get("description")
                    or node.get("description")
                    or f"dbt test {node['name']}",
                    failures=f"{node['schema']}.{node['alias']}",
                    warn_only=node["config"]["severity"].lower() == "warn",
                )

    def _is_selected(self, test: Mapping[str, Any], pipeline: str) -> bool:
        """Whether dbt runs the test with the pipeline: it lies in the pipeline's folder, or, like a
        singular test in `tests/`, reads something that does."""
        nodes = [self.manifest["nodes"], self.manifest["sources"]]
        read = [
            kind[name] for name in test["depends_on"]["nodes"] for kind in nodes if name in kind
        ]
        return any(pipeline in node["fqn"] for node in [test, *read])

    def _shown_on(self, test: Mapping[str, Any], models: Mapping[str, Any]) -> str:
        """The model a test is about, or, where that is no table, the first table made from it."""
        about = test.get("attached_node") or test["depends_on"]["nodes"][0]
        waiting = [about]
        while waiting:
            unique_id = waiting.pop(0)
            name = unique_id.rsplit(".", 1)[-1]
            if name in models:
                return name
            children = self.manifest["child_map"].get(unique_id, [])
            waiting += sorted(child for child in children if child.startswith("model."))
        raise StageError(
            f"the test {test['name']} is about {about}, from which no table is made",
            where=test["original_file_path"],
            todo="test a model that becomes a table, or one that such a model reads",
        )

    def _fingerprint(self) -> str:
        whole = sha256(f"{version('dbt-core')} {version('dbt-duckdb')}".encode())
        for path in sorted(self.folder.rglob("*")):
            inside = path.relative_to(self.folder)
            if path.suffix in _PARSED_SUFFIXES and inside.parts[0] not in _NOT_PARSED:
                whole.update(str(inside).encode() + b"\0" + path.read_bytes() + b"\0")
        return whole.hexdigest()[:16]

    def _parse_into(self, folder: Path) -> None:
        beside = self.cache / f".{uuid4().hex}"
        beside.mkdir(parents=True)
        try:
            parse(self.folder, target=beside)
            try:
                beside.rename(folder)
            except OSError:
                if not (folder / MANIFEST).exists():
                    raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
