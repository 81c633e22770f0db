"""Whatever the OpenAPI schema allows, and much that it does not: never a 5xx, and every answer is
what the schema says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from support.coordinator_app import Site
from support.serving import serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.http.close()
    made.store.close()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_never_a_5xx(site: Site, mode: GenerationMode) -> None:
    headers = {"Authorization": f"Bearer {site.tokens[0]}", "Incfed-Protocol": "1"}
    asked: set[str] = set()
    with serving(site.app) as address:
        schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
        for found in schema.get_all_operations():
            assert isinstance(found, Ok)
            operation = found.ok()

            @settings(max_examples=25, suppress_health_check=list(HealthCheck))
            @given(operation.as_strategy(generation_mode=mode))
            def try_it(case: Any) -> None:
                asked.add(case.operation.label)
                site.clock.now += 1.0  # rounds come and go meanwhile
                if case.query and "wait" in case.query:
                    case.query["wait"] = 0  # nobody has half a minute
                case.call_and_validate(headers=headers, checks=CHECKS)

            try:
                try_it()
            except Unsatisfiable:  # nothing about it can be wrong
                assert mode is GenerationMode.NEGATIVE
    assert "PUT /v1/rounds/{number}/upload" in asked
    assert len(asked) >= (9 if mode is GenerationMode.POSITIVE else 6)
