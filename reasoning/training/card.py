"""Model cards: the templates in ``cards/``, filled with the facts of a training run.

A card begins with the metadata that the Hugging Face Hub reads, so that a model can be published with it as it is.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...graph.storage import file_sha256
from .recipe import (
    ChoiceHeadRecipe,
    ChoiceProbeRecipe,
    CoherenceRecipe,
    CommonsenseRecipe,
    GradeRecipe,
    JudgementRecipe,
    Recipe,
    RetrieverRecipe,
)

if TYPE_CHECKING:
    from ..inference.head import Heads
    from ..metrics.accent.scorers.retrieval_model import RetrievalModel
    from ..metrics.commonsense.regressor import Regressor
    from ..metrics.grade.checkpoint import Checkpoint
    from ..models.linear_probe import Probe
    from .pipeline import Evaluation

_TEMPLATES = Path(__file__).parent / "cards"

_PUBLISHED = {
    "commonsense-dialogues": "CC BY-NC 4.0", "dailydialog": "CC BY-NC-SA 4.0", "empatheticdialogues": "CC BY-NC 4.0",
    "en_ewt": "CC BY-SA 4.0", "en_ewt-ud": "CC BY-SA 4.0", "topical-chat": "CDLA-Sharing-1.0",
}  # fmt: skip
"""Licences of corpora, as their publishers state them."""

_FIXED = {"pipeline": "CC BY-SA 4.0", "retriever": "CC BY 4.0"}
"""Licences of models whose data is always of one publisher."""

_HUB_LICENCES = ("apache-2.0", "mit", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cdla-sharing-1.0")
"""Names that the hub has for licences."""

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")

_IN_RECIPES = (
    "--recipe", "--seed", "--epochs", "--steps", "--dtype", "--for", "--licence", "--count", "--contrast", "--histories",
)  # fmt: skip
"""Options, present and former ones, whose values are in the recipe of a card."""


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Cards are Markdown, not HTML, so nothing is escaped.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    environment.filters["fmt"] = format
    environment.filters["named"] = lambda versions: ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    return environment


def render(name: str, /, **values: Any) -> str:
    """Return the template ``cards/NAME.md`` filled with ``values``, after the metadata; a missing value is a
    ``jinja2.UndefinedError``."""
    base = str(values.get("base") or values.get("model") or "")
    metadata = {
        "kind": name.replace("_", "-"),
        "license": _hub_licence(str(values.get("licence") or _FIXED.get(name, ""))),
        "base_model": base if _HUB_ID.fullmatch(base) else None,
    }
    parts = [
        _environment().get_template(f"{part}.md").render(filled) for part, filled in (("metadata", metadata), (name, values))
    ]
    return "\n".join(parts)


def _hub_licence(text: str) -> str:
    """Return the hub's name of the only licence that a text names; ``other`` when it is none or several."""
    patterns = {licence: licence.replace("-", r"[\s-]") for licence in _HUB_LICENCES}
    named = {licence for licence, pattern in patterns.items() if re.search(rf"(?<![\w-]){pattern}(?![\w-])", text, re.IGNORECASE)}
    return named.pop() if len(named) == 1 else "other"


def again(command: str, *former: str) -> str:
    """Return a training command with ``--recipe FILE`` in place of the options whose values are in the recipe; ``former`` are
    further options of the training whose values are there."""
    words_left: list[str] = []
    words = iter(shlex.split(command))
    for word in words:
        option, mark, _ = word.partition("=")
        if option not in (*_IN_RECIPES, *former):
            words_left.append(word)
        elif not mark and option != "--contrast":
            next(words, None)
    return shlex.join([*words_left, "--recipe", "FILE"])


def licences_of(corpora: Iterable[str]) -> dict[str, str]:
    """Return the licences of those corpora that are in the table of published licences."""
    return {name: _PUBLISHED[name] for name in corpora if name in _PUBLISHED}


def licence_text(name: str) -> str:
    """Return the licence file for a model."""
    return (_TEMPLATES / f"{name}.LICENSE").read_text(encoding="utf-8")


def write_card(folder: Path, result: Evaluation, *, seed: int, max_steps: int, files: Sequence[Path]) -> None:
    """Write ``README.md``, ``LICENSE`` and ``scores.json`` into the pipeline's ``folder``."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    sums = [(path.name, file_sha256(path)) for path in files]
    versions = {name: version(name) for name in ("spacy", "thinc", "numpy")}
    card = render("pipeline", **asdict(result), seed=seed, max_steps=max_steps, versions=versions, size=size, files=sums)
    (folder / "README.md").write_text(card, encoding="utf-8")
    (folder / "LICENSE").write_text(licence_text("pipeline"), encoding="utf-8")
    (folder / "scores.json").write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")


def _with_recipe(name: str, facts: Mapping[str, Any], recipe: Recipe, /, **values: Any) -> str:
    """Return a template filled with the facts of a model, the command that trained it and the recipe."""
    command = again(facts.get("command", f"tacit train {name.replace('_', '-')}"))
    return render(name, **{**facts, "command": command, "recipe": recipe.to_toml(), **values})


def commonsense_card(model: Regressor, *, path: str) -> str:
    """Return the card of a regressor as Markdown; ``path``: its file or folder in the card, empty for the one that ships."""
    from ..evaluation import Correlation
    from ..evaluation.correlation import formatted

    facts = model.facts
    kinds = ("pearson", "spearman")
    return _with_recipe(
        "commonsense", {"count": None, "contrast": False, **facts}, _commonsense_recipe(facts), model=model, path=path,
        hidden=[weights.shape[2] for weights in model.weights[:-1]], read=facts.get("language_model"),
        evaluation=plan_in_words(facts["plan"]),
        scores=[row | {kind: formatted(Correlation(**row[kind])) or "–" for kind in kinds} for row in facts["scores"]],
    )  # fmt: skip


def _commonsense_recipe(facts: Mapping[str, Any]) -> CommonsenseRecipe:
    """The recipe of a regressor; older ones recorded its parts."""
    recorded = facts["recipe"]
    if "networks" not in recorded:
        plan = {name: value for name, value in facts["plan"].items() if name in ("folds", "shares", "rounds")}
        names = ("variant", "count", "contrast", "resamples", "seed", "licence")
        recorded = {
            "folds": 0,
            **plan,
            **{name: facts[name] for name in names if facts.get(name) is not None},
            "networks": recorded,
        }
    return CommonsenseRecipe.recorded(recorded)


def plan_in_words(plan: Mapping[str, Any]) -> str:
    """Return a description of an evaluation plan, e.g. ``10-fold cross-validation, conversations kept together``."""
    if "folds" in plan:
        how = f"{plan['folds']}-fold cross-validation"
    else:
        shares = "/".join(f"{share:g}" for share in plan["shares"])
        how = f"{plan['rounds']} random splits into {shares}, predictions of a response averaged"
    return f"{how}, conversations kept together"


def coherence_card(header: Mapping[str, Any], digest: str, *, path: str | None) -> str:
    """Return the card of a coherence checkpoint by its header; ``path``: its folder, None for the one that ships."""
    from ..metrics.coherence.checkpoint import PARTS, weights_in

    facts = header["facts"]
    stated = licences_of(facts["corpora"])
    licences = [f"{name}: {licence}" for name, licence in stated.items()]
    if len(stated) < len(facts["corpora"]):
        licences.append(facts.get("licence") or "not stated")
    left_out = [f"{number:,} {reason}" for reason, number in facts.get("left out", {}).items() if number]
    return _with_recipe(
        "coherence", facts, CoherenceRecipe.recorded({**facts["settings"], "seed": facts["seed"]}), path=path, digest=digest,
        encoder=header["encoder"], left=", ".join(left_out) or "none",
        licence="; ".join(licences), licences=_PUBLISHED, parts=PARTS, weights=weights_in(header),
        elsewhere=facts["areas of parts trained without the corpus"],
    )  # fmt: skip


def grade_card(checkpoint: Checkpoint, *, path: str) -> str:
    """Return the card of a GRADE checkpoint as Markdown, with a placeholder ``{digest}``; ``path``: its folder, or empty."""
    facts, config = checkpoint.facts, checkpoint.model.config
    recipe = GradeRecipe.recorded(facts["recipe"])
    return _with_recipe(
        "grade", facts, recipe, checkpoint=checkpoint, config=config, negatives=recipe.negatives, path=path
    )  # fmt: skip


def retriever_card(model: RetrievalModel, size: int) -> str:
    """Return the card of a retriever whose file has ``size`` bytes, as Markdown."""
    facts = model.facts
    settings = {field.name: facts[field.name] for field in fields(RetrieverRecipe) if field.name in facts}
    parts = len(model.embeddings.books)
    return _with_recipe(
        "retriever", facts, RetrieverRecipe.recorded({"parts": parts, **settings}), relations=model.relations, parts=parts,
        texts=len(model.texts), kept=sum(map(len, model.triples)), encoder=model.encoder[0], signature=model.encoder[1],
        size=size / 1e6, digest=model.digest,
    )  # fmt: skip


def _of_probe(probe: Probe, path: str | None) -> dict[str, Any]:
    """What the cards of all probes say of one."""
    own = {name: getattr(probe, name) for name in ("model", "dtype", "layer", "yes", "digest")}
    return {**own, "name": probe.model.rpartition("@")[0], "width": probe.weights.size, "path": path}


def probe_card(probe: Probe, *, path: str | None) -> str:
    """Return the card of a probe as Markdown; ``path``: its folder in the card, None for the one that ships."""
    return render("probe", **{**probe.facts, **_of_probe(probe, path)})


def choice_probe_card(probe: Probe, *, path: str) -> str:
    """Return the card of a probe for choices as Markdown; ``path`` is the folder as users will write it."""
    recipe = ChoiceProbeRecipe.recorded(probe.facts.get("recipe", {}))
    return _with_recipe("choice_probe", probe.facts, recipe, **_of_probe(probe, path))


def judgement_card(probe: Probe, *, path: str | None) -> str:
    """Return the card of a probe for the metric ``judgement`` as Markdown, as :func:`probe_card` does."""
    recipe = JudgementRecipe.recorded(probe.facts["recipe"])
    return _with_recipe("judgement", probe.facts, recipe, **_of_probe(probe, path))


def choice_head_card(heads: Heads, *, path: str | None) -> str:
    """Return the card of the heads of ``tacit choose`` as Markdown; ``path``: their folder, None for those that ship."""
    facts = heads.facts
    recipe = ChoiceHeadRecipe.recorded(facts.get("recipe") or {name: facts.get(name) for name in ("judges", "licence", "seed")})
    command = again(facts.get("command", "tacit train choice-head"), "--judges", "--judge", "--encoder", "--model")
    return render(
        "choice_head", **{**facts, "command": command, "recipe": recipe.to_toml(), "digest": heads.digest, "path": path}
    )
