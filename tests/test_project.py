"""The promises that the project's own files make: commands, packages, pins, links, sizes."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tacit.api.main import run

ROOT = Path(__file__).parents[1]
FOLDERS = ("graph", "loaders", "reasoning", "api", "cypher")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAXIMUM_LINES = 800


def tracked(*patterns: str) -> list[Path]:
    """Return the files under version control that match ``patterns``, as they are on disk now."""
    if not (ROOT / ".git").exists():
        pytest.skip("the checkout has no .git folder, so nobody knows which files belong to it")
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *patterns]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")[:-1]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def console_lines(document: str) -> list[str]:
    """Return the commands (lines after ``$``) in the ``console`` blocks of a Markdown file, continued lines joined."""
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line[2:] for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.startswith("$ ")]


def tacit_commands(document: str) -> list[list[str]]:
    """Return the words of every ``tacit …`` command in a Markdown file."""
    words = [shlex.split(line.split(" | ")[0], comments=True) for line in console_lines(document)]
    return [line[1:] for line in words if line[:1] == ["tacit"]]


@pytest.mark.parametrize("command", tacit_commands("README.md"), ids=" ".join)
def test_readme_commands_exist(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    group = (
        [command[0], command[1]] if command[0] in ("load", "fetch", "train") and not command[1].startswith("-") else command[:1]
    )
    for name in (group, command[:1]):
        if run([*name, "--help"]) == 0:
            break
    else:
        pytest.fail(f"tacit {command[0]} --help does not answer")
    known = capsys.readouterr().out
    missing = [word for word in command if word.startswith("--") and word.split("=")[0] not in known]
    assert not missing, f"tacit {' '.join(name)} has no {missing}"


def test_readme_shows_commands() -> None:
    shown = {command[0] for command in tacit_commands("README.md")}
    assert {"load", "score", "cypher"} <= shown
    assert {"make demo", "make test"} <= set(console_lines("README.md"))


def test_make_targets_that_the_documents_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    documents = tracked("*.md", ".ci/run")
    named = {
        name for path in documents for name in re.findall(r"(?:^|`|\$ )make ([a-z]+)", path.read_text(encoding="utf-8"), re.M)
    }
    assert {"demo", "test", "lint", "bench"} <= named | targets
    assert named <= targets, f"no target for {sorted(named - targets)}"


def test_packages_are_the_folders_that_hold_code() -> None:
    declared = set(PROJECT["tool"]["setuptools"]["packages"])
    folders = {path.parent.relative_to(ROOT) for path in tracked(*(f"{folder}/*.py" for folder in FOLDERS))}
    front = Path("api/front")
    places = {".".join(("tacit", *(() if folder == front else folder.parts))): folder for folder in folders}
    assert set(places) == declared
    assert {name: Path(folder) for name, folder in PROJECT["tool"]["setuptools"]["package-dir"].items()} == places
    for package in (*FOLDERS, front):
        assert (ROOT / package / "py.typed").is_file(), f"{package} does not say that it is typed"


def pinned(file: str) -> dict[str, str]:
    """Return the versions in a file of constraints, by name of package."""
    lines = [line for line in (ROOT / file).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


FRAMEWORKS = ("inspect", "deepeval", "mlflow", "otel")


def test_constraints_pin_every_direct_dependency() -> None:
    extras = dict(PROJECT["project"]["optional-dependencies"])
    own = [extras.pop(name) for name in FRAMEWORKS[:-1]]
    groups = {"constraints.txt": [PROJECT["project"]["dependencies"], *extras.values()]}
    groups["constraints-frameworks.txt"] = [PROJECT["project"]["dependencies"], extras["otel"], *own]
    for file, wanted in groups.items():
        pins = pinned(file)
        direct = [requirement for group in wanted for requirement in map(Requirement, group) if requirement.name != "tacit-kg"]
        missing = [str(dependency) for dependency in direct if pins.get(canonicalize_name(dependency.name)) is None]
        assert not missing, f"{file} does not pin {missing}"
        outside = [
            str(dependency)
            for dependency in direct
            if not dependency.specifier.contains(pins[canonicalize_name(dependency.name)])
        ]
        assert not outside, f"{file} pins versions outside {outside}"


def test_frameworks_that_cannot_be_installed_beside_the_rest_are_in_no_other_extra() -> None:
    named = {name: " ".join(wanted) for name, wanted in PROJECT["project"]["optional-dependencies"].items()}
    lists = re.findall(r"tacit-kg\[([^]]*)\]", " ".join(named.values()))
    included = {name for extras in lists for name in extras.split(",")}
    assert not included & set(FRAMEWORKS[:-1])
    assert "otel" in included


def test_the_torch_that_the_quickstart_names_is_the_pinned_one() -> None:
    from tacit.graph.errors import CPU_TORCH

    [pinned] = re.findall(r"^torch(==\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert CPU_TORCH.replace("torch", f"torch{pinned}", 1) in (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")


def test_no_file_contains_a_local_path() -> None:
    personal = re.compile(r"(?<![\w.~$}>)])/(?:home|Users|root|work|opt)/[A-Za-z]")
    here = str(ROOT)
    lines = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a binary file
        lines += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
            for number, line in enumerate(text.splitlines(), 1)
            if here in line or personal.search(line)
        ]
    assert not lines, "\n".join(lines)


def test_modules_are_small_and_say_what_they_are_for() -> None:
    long, silent = [], []
    for path in tracked("*.py"):
        text = path.read_text(encoding="utf-8")
        if len(text.splitlines()) > MAXIMUM_LINES:
            long.append(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines")
        if text.strip() and ast.get_docstring(ast.parse(text)) is None:
            silent.append(str(path.relative_to(ROOT)))
    assert not long, f"at most {MAXIMUM_LINES} lines a module: {long}"
    assert not silent, f"modules without a docstring: {silent}"


def test_links_between_documents_resolve() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in tracked("*.md")
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
        if "://" not in target and not target.startswith("mailto:") and not (path.parent / target).exists()
    ]
    assert not broken, broken


def paths_in(text: str) -> list[str]:
    """Return the words in backticks that look like paths, except in lines about the data and servers of tests."""
    lines = [line for line in text.splitlines() if "`TACIT_" not in line]
    return re.findall(r"`(?!build/)((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|py|toml|txt|yml))`", "\n".join(lines))


def test_contributing_names_paths_that_exist() -> None:
    assert paths_in("`graph/gone.py` `api/` `a/b c` `tacit.graph` `gone.md`\n`TACIT_X` `data/x.py`") == [
        "graph/gone.py",
        "api/",
        "gone.md",
    ]
    named = paths_in((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(named) > 50
    assert not [name for name in named if not (ROOT / name).exists()]


def test_contributing_names_functions_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)` (?:of|in) `([\w./]+\.py)`", text)
    assert len(named) > 4
    assert not [(name, path) for name, path in named if not re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8"))]


def test_the_changelog_has_the_version() -> None:
    assert f"## [{PROJECT['project']['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
