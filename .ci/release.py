"""What ``make dist`` does after the build: check that the wheel holds every file of the packages, and write a bill of materials.

    python .ci/release.py FOLDER

FOLDER holds one wheel and one sdist. The bill (CycloneDX 1.6, JSON) goes beside them. It lists the files in the wheel that are no
code (models, samples, the page) with their sha256, and every pinned package of constraints.txt: those that a plain installation
needs are ``required``, those of the extras and of development ``optional``. Two runs over one wheel write the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tarfile
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.message import Message
from email.parser import Parser
from importlib import metadata
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FOLDERS = ("graph", "loaders", "reasoning", "api", "cypher")
CODE = (".py", ".cypher", "py.typed")


def missing(wheel: Path, tracked: Iterable[str]) -> list[str]:
    """Return which of the ``tracked`` files of the packages the wheel lacks."""
    held = set(zipfile.ZipFile(wheel).namelist())
    return [path for path in tracked if f"tacit/{path.removeprefix('api/front/')}" not in held]


def pins(constraints: str) -> dict[str, tuple[str, str]]:
    """Return the name and version of each pinned package by its canonical name."""
    lines = [line.split("==") for line in constraints.splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(name): (name, version) for name, version in lines}


def bill(wheel: Path, constraints: str) -> str:
    """Return the bill of materials of ``wheel`` as JSON."""
    archive = zipfile.ZipFile(wheel)
    folder = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
    about = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
    digest = HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(wheel.read_bytes()).hexdigest())
    root = Component(
        name=about["Name"], version=about["Version"], type=ComponentType.APPLICATION, description=about["Summary"],
        licenses=_licence(about), purl=PackageURL("pypi", None, about["Name"], about["Version"]), hashes=[digest],
        components=list(_files(archive.read(f"{folder}/RECORD").decode())), bom_ref=about["Name"],
    )  # fmt: skip
    known = pins(constraints)
    needs = {name: _needs(name) & known.keys() for name in known}
    direct = {need for need in _reached(about.get_all("Requires-Dist") or []) if need in known}
    required, fresh = set(direct), set(direct)
    while fresh:
        fresh = {need for name in fresh for need in needs[name]} - required
        required |= fresh
    libraries = {
        name: Component(
            name=shown, version=version, purl=PackageURL("pypi", None, name, version), bom_ref=name,
            licenses=_licence(_about(name)),
            scope=ComponentScope.REQUIRED if name in required else ComponentScope.OPTIONAL,
        )
        for name, (shown, version) in known.items()
    }  # fmt: skip
    bom = Bom(components=libraries.values(), serial_number=uuid.uuid5(uuid.NAMESPACE_URL, digest.content))
    bom.metadata.component = root
    bom.metadata.timestamp = max(datetime(*info.date_time, tzinfo=UTC) for info in archive.infolist())
    bom.register_dependency(root, [libraries[name] for name in direct])
    for name, library in libraries.items():
        bom.register_dependency(library, [libraries[need] for need in needs[name]])
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2) + "\n"


def _files(record: str) -> Iterator[Component]:
    """Return the files of the wheel that are no code, from its RECORD, which holds their sha256."""
    for line in record.splitlines():
        name, told, _ = line.rsplit(",", 2)
        if ".dist-info/" in name or name.endswith(CODE):
            continue
        digest = base64.urlsafe_b64decode(told.removeprefix("sha256=") + "=").hex()
        yield Component(
            name=name, type=ComponentType.FILE, hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)], bom_ref=name
        )


def _about(name: str) -> Message | None:
    try:
        return metadata.distribution(name).metadata
    except metadata.PackageNotFoundError:
        return None  # an extra that is not installed here: its name and version are known, no more


def _needs(name: str) -> set[str]:
    """Return what the package ``name`` needs, as it is installed here."""
    about = _about(name)
    return _reached([] if about is None else about.get_all("Requires-Dist") or [])


def _reached(requirements: Iterable[str]) -> set[str]:
    """Return the names in ``requirements`` that hold here without any extra."""
    wanted = map(Requirement, requirements)
    return {canonicalize_name(one.name) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})}


def _licence(about: Message | None) -> list[License]:
    told = "" if about is None else about["License-Expression"] or about["License"] or ""
    return [LicenseFactory().make_from_string(told)] if told and len(told) < 60 and "\n" not in told else []


def main(folder: Path) -> None:
    """Check the wheel and the sdist in ``folder``, and write the bill of materials beside them."""
    [wheel], [source] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    command = ["git", "-C", str(ROOT), "ls-files", *FOLDERS]
    tracked = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    absent = missing(wheel, tracked)
    if absent:
        sys.exit(f"{wheel.name} lacks {len(absent)} files, e.g. {absent[:5]}; see packages and package-data in pyproject.toml")
    with tarfile.open(source) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    if not set(tracked) <= held:
        sys.exit(f"{source.name} lacks {sorted(set(tracked) - held)[:5]}; see MANIFEST.in")
    path = folder / f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json"
    path.write_text(bill(wheel, (ROOT / "constraints.txt").read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{wheel.name}: all {len(tracked)} files of the packages; {source.name}; {path.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
