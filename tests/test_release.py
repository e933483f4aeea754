"""What ``make dist`` says of a wheel: which files it lacks, and what it and a plain installation are made of."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cyclonedx", reason="the bill of materials needs cyclonedx-python-lib, which make setup installs")

METADATA = """Metadata-Version: 2.4
Name: tacit-kg
Version: 9.9
Summary: A summary.
License-Expression: Apache-2.0
Requires-Dist: httpx>=0.28
Requires-Dist: torch>=2.6; extra == "neural"
"""
CONSTRAINTS = "# versions\nanyio==4.1\nHttpX==0.28.1\ntorch==2.13.0\n"
MODEL = b"weights"


@pytest.fixture(scope="module")
def release() -> Any:
    folder = Path(__file__).parents[1] / ".ci" / "release.py"
    if not folder.exists():
        pytest.skip("the folder .ci is not here")
    spec = importlib.util.spec_from_file_location("release", folder)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dist") / "tacit_kg-9.9-py3-none-any.whl"
    digest = base64.urlsafe_b64encode(hashlib.sha256(MODEL).digest()).decode().rstrip("=")
    record = f"tacit/__init__.py,sha256=x,0\ntacit/reasoning/model.bin,sha256={digest},7\ntacit_kg-9.9.dist-info/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (
            ("tacit/__init__.py", b""), ("tacit/graph/protocol.py", b""), ("tacit/reasoning/model.bin", MODEL),
            ("tacit_kg-9.9.dist-info/METADATA", METADATA), ("tacit_kg-9.9.dist-info/RECORD", record),
        ):  # fmt: skip
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6)), content)
    return path


def test_files_missing_from_the_wheel_are_named(release: Any, wheel: Path) -> None:
    tracked = ["api/front/__init__.py", "graph/protocol.py", "reasoning/model.bin"]
    assert release.missing(wheel, tracked) == []
    assert release.missing(wheel, [*tracked, "graph/new.py"]) == ["graph/new.py"]


def test_the_bill_of_materials_lists_wheel_data_files_and_pins(release: Any, wheel: Path) -> None:
    text = release.bill(wheel, CONSTRAINTS)
    assert text == release.bill(wheel, CONSTRAINTS)
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"], bill["metadata"]["timestamp"]) == (
        "CycloneDX",
        "1.6",
        "2026-01-02T03:04:06+00:00",
    )
    root = bill["metadata"]["component"]
    assert (root["purl"], root["licenses"]) == ("pkg:pypi/tacit-kg@9.9", [{"license": {"id": "Apache-2.0"}}])
    assert root["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    assert [(file["name"], file["hashes"][0]["content"]) for file in root["components"]] == [
        ("tacit/reasoning/model.bin", hashlib.sha256(MODEL).hexdigest())
    ]
    scopes = {part["purl"]: part["scope"] for part in bill["components"]}
    assert scopes == {  # httpx needs anyio; torch is asked for by an extra alone
        "pkg:pypi/anyio@4.1": "required", "pkg:pypi/httpx@0.28.1": "required", "pkg:pypi/torch@2.13.0": "optional",
    }  # fmt: skip
    needs = {part["ref"]: part.get("dependsOn", []) for part in bill["dependencies"]}
    assert needs["tacit-kg"] == ["httpx"]
    assert needs["httpx"] == ["anyio"]
