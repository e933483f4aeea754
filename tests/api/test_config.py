"""Settings in tacit.toml and pyproject.toml: which file applies, what may stand in it, whose file is used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tacit.api.config import Config, find_config
from tacit.graph.errors import InputError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a folder below it, which is the working directory."""
    below = tmp_path / "project" / "below"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    monkeypatch.delenv("TACIT_CONFIG", raising=False)
    return below.parent


def required_config() -> Config:
    settings = find_config()
    assert settings is not None
    return settings


def test_without_a_file_there_are_no_settings(project: Path) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "other"\n[tool.ruff]\nline-length = 100\n')
    assert find_config() is None


def test_the_nearest_file_applies_alone(project: Path) -> None:
    (project / "tacit.toml").write_text('graph = "full/graph"\nmetrics = ["length"]\n')
    assert required_config().path == project / "tacit.toml"
    assert required_config().graph == str(project / "full" / "graph"), "a path is relative to the file"
    (project / "below" / "pyproject.toml").write_text('[tool.tacit]\nmetrics = ["association"]\n')
    assert (required_config().metrics, required_config().graph) == (("association",), None)
    (project / "below" / "tacit.toml").write_text("")
    assert (required_config().path, required_config().metrics) == (project / "below" / "tacit.toml", ())


def test_values(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        '[tool.tacit]\ngraph = "bolt://localhost:7687"\n'
        '[tool.tacit.options.grounding]\nmax_hops = 3\nvectors = "./v.bin"\n[tool.tacit.options.accent]\nprofile = "paper"\n'
    )
    settings = required_config()
    assert settings.graph == "bolt://localhost:7687"
    assert settings.options == {
        "grounding": {"max_hops": 3, "vectors": str(project / "v.bin")}, "accent": {"profile": "paper"},
    }  # fmt: skip


def test_a_home_directory_is_expanded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project / "home"))
    (project / "tacit.toml").write_text('graph = "~/graphs/full"\n')
    assert required_config().graph == str(project / "home" / "graphs" / "full")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("grap = 1", "../tacit.toml: grap is not a key there; did you mean graph?"),
        ("[tool]\nx = 1", "../tacit.toml: tool is not a key there; the keys are graph, metrics, options"),
        ("graph = 3", "../tacit.toml: graph is 3; it must be a text"),
        ('graph = ""', "../tacit.toml: graph: the text is not a path or a URL"),
        ('metrics = "length"', '../tacit.toml: metrics is "length"; it must be a list'),
        ("metrics = [1]", "../tacit.toml: metrics[0] is 1; it must be a text"),
        ("metrics = []", "../tacit.toml: metrics: the list is empty; name a metric, or leave the key out"),
        ("options = 2020-01-01", '../tacit.toml: options is "2020-01-01"; it must be a table'),
        ("[options]\ngrounding = true", "../tacit.toml: options.grounding is true; it must be a table"),
        ("graph =", "../tacit.toml is not TOML: Invalid value"),
    ],
)
def test_a_wrong_file_is_one_sentence_with_file_and_key(text: str, sentence: str, project: Path) -> None:
    (project / "tacit.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        find_config()
    assert str(caught.value).startswith(sentence)


def test_keys_of_pyproject_are_named_in_full(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.tacit]\ngraph = 3\n")
    with pytest.raises(InputError, match=r"^\.\./pyproject\.toml: tool\.tacit\.graph is 3; it must be a text"):
        find_config()
    (project / "pyproject.toml").write_text("[tool]\ntacit = 3\n")
    with pytest.raises(InputError, match=r"tool\.tacit is not a table; write"):
        find_config()


def test_a_broken_pyproject_of_others_is_passed_over(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.ruff\ntacit")
    assert find_config() is None
    (project / "pyproject.toml").write_text("[tool.tacit\n")
    with pytest.raises(InputError, match="is not TOML"):
        find_config()


def test_a_file_that_is_not_utf_8_or_too_large(project: Path) -> None:
    (project / "tacit.toml").write_bytes(b'graph = "\xff"')
    with pytest.raises(InputError, match="is not TOML: it is not UTF-8"):
        find_config()
    (project / "tacit.toml").write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(InputError, match="more than 1 MiB"):
        find_config()


def test_a_named_file_applies_instead(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "tacit.toml").write_text('metrics = ["length"]\n')
    other = project / "other.toml"
    other.write_text('metrics = ["association"]\n')
    monkeypatch.setenv("TACIT_CONFIG", str(other))
    assert required_config().metrics == ("association",)
    monkeypatch.setenv("TACIT_CONFIG", os.devnull)
    assert required_config().metrics == ()
    monkeypatch.setenv("TACIT_CONFIG", str(project / "none.toml"))
    with pytest.raises(InputError, match=r"none\.toml cannot be read: No such file"):
        find_config()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_file_of_another_user_is_not_used(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "tacit.toml"
    path.write_text('graph = "bolt://elsewhere.example:7687"\n')
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    messages: list[str] = []
    if owner != 0:  # the files of root may be used by all
        assert find_config(messages.append) is None
        assert messages == [f"../tacit.toml belongs to another user and is not used; to use it, set TACIT_CONFIG={path}"]
    os.chown(path, 12_345, -1) if os.getuid() == 0 else None
    if os.getuid() == 0:
        assert find_config(messages.append) is None
        assert "belongs to another user" in messages[-1]
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert find_config(messages.append) is None
        monkeypatch.setenv("SUDO_UID", "12345")
        assert find_config() is not None
    monkeypatch.setenv("TACIT_CONFIG", str(path))
    assert find_config() is not None
