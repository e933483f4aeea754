"""Model cards: the templates in ``cards/``, filled with the facts of a training run."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .recipe import (
    ChoiceProbeRecipe,
    CoherenceRecipe,
    CommonsenseRecipe,
    GradeNetworkRecipe,
    GradeRecipe,
    JudgementRecipe,
    RetrieverRecipe,
)

if TYPE_CHECKING:
    from ..inference.head import Heads
    from ..metrics.accent.scorers.compact import Compact
    from ..metrics.commonsense.regressor import Regressor
    from ..metrics.grade.checkpoint import Checkpoint
    from ..models.linear_probe import Probe
    from .pipeline import Evaluation

_KINDS = ("pearson", "spearman")
_TEMPLATES = Path(__file__).parent / "cards"

_LABELS = {
    "token": "tokens", "tag": "treebank tags (XPOS)", "pos": "parts of speech (UPOS)", "morph": "features", "lemma": "lemmas",
    "lemma_uncased": "lemmas, case ignored",
    "uas": "unlabelled attachment", "las": "labelled attachment", "sentence": "sentence boundaries (F)",
}  # fmt: skip

_UTTERANCE = {"frozen": "frozen encoder, each turn separately", "tuned": "fine-tuned encoder (in `encoder/`)"}
_NEGATIVES = {
    "hard": "one similar to the true one in words (BM25), one similar in meaning (embeddings)",
    "random": "two at random",
}
_RETRIEVER_FACTS = ("triples", "heads", "tails", "data", "held_out", "graph")
_PROBE_FACTS = ("layers", "tuples", "heads", "plausible", "data", "penalty", "auc", "best", "seed", "variants")
_JUDGEMENT_FACTS = (
    "layers", "pairs", "histories", "corpora", "data", "penalty", "ordered", "interval", "yes_alone", "yes_error", "seed",
    "variants", "kinds", "weighed_on",
)  # fmt: skip
_CHOICE_HEAD_FACTS = ("judges", "instances", "dialogues", "clusters", "terms", "limits", "measured")
_CHOICE_PROBE_FACTS = (
    "layers", "pairs", "instances", "dialogues", "penalty", "ordered", "interval", "yes_alone", "variants",
)  # fmt: skip
_WORDS = {
    "one_hop": "one-hop {count} between history and response, `log1p`",
    "two_hop": "two-hop {count} between history and response, `log1p`",
    "length": "words of the response, `log1p`",
    "response_loss": "loss of the response alone, nats per token",
    "dialogue_loss": "loss of history and response, nats per token",
}


_RATED = """\
A regressor for the metric `commonsense`: it was fitted to ratings of dialogue responses and predicts the rating of a response."""

_CONTRASTED = """\
A regressor for the metric `commonsense`. It was fitted to dialogues without ratings: each history once with its own response (1),
and once with a response from another conversation (0). A score predicts which of the two a response is, from its length and the
triples between the two texts. No ratings were used."""

_PUBLISHED = {
    "commonsense-dialogues": "CC BY-NC 4.0", "dailydialog": "CC BY-NC-SA 4.0", "empatheticdialogues": "CC BY-NC 4.0",
    "en_ewt": "CC BY-SA 4.0", "en_ewt-ud": "CC BY-SA 4.0", "topical-chat": "CDLA-Sharing-1.0",
}  # fmt: skip
"""Licences of corpora, as their publishers state them."""

_IN_RECIPES = (
    "--recipe",
    "--seed",
    "--epochs",
    "--steps",
    "--dtype",
    "--for",
    "--licence",
    "--count",
    "--contrast",
    "--histories",
)
"""Options, present and former ones, whose values are in the recipe of a card."""


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Cards are Markdown, not HTML, so nothing is escaped.
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    made.filters["fmt"] = format
    made.filters["named"] = lambda versions: ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    return made


def render(name: str, /, **values: Any) -> str:
    """Return the template ``cards/NAME.md`` filled with ``values``."""
    text: str = _environment().get_template(f"{name}.md").render(values)
    return text


def _versions(*packages: str) -> dict[str, str]:
    return {name: version(name) for name in packages}


def again(command: str) -> str:
    """Return a training command with ``--recipe FILE`` in place of the options whose values are in the recipe."""
    kept: list[str] = []
    words = iter(shlex.split(command))
    for word in words:
        option, mark, _ = word.partition("=")
        if option not in _IN_RECIPES:
            kept.append(word)
        elif not mark and option != "--contrast":
            next(words, None)
    return shlex.join([*kept, "--recipe", "FILE"])


def licences_of(corpora: Iterable[str]) -> dict[str, str]:
    """Return the licences of the corpora whose publishers' are known."""
    return {name: _PUBLISHED[name] for name in corpora if name in _PUBLISHED}


def licence_text(name: str) -> str:
    """Return the licence file for a model."""
    return (_TEMPLATES / f"{name}.LICENSE").read_text(encoding="utf-8")


def write_card(folder: Path, result: Evaluation, *, seed: int, max_steps: int, files: Sequence[Path]) -> None:
    """Write ``README.md``, ``LICENSE`` and ``scores.json`` into the pipeline's ``folder``."""
    from .pipeline import Scores

    rows = []
    for name in (field.name for field in fields(Scores)):
        written, dialogue = 100 * getattr(result.written, name), 100 * getattr(result.dialogue, name)
        rows.append(f"| {_LABELS[name]} | {written:.1f} | {dialogue:.1f} |")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    sums = [f"- `{path.name}`, sha256 `{hashlib.sha256(path.read_bytes()).hexdigest()}`" for path in files]
    card = render(
        "pipeline", seed=seed, max_steps=max_steps, versions=_versions("spacy", "thinc", "numpy"), size=size,
        sentences=result.sentences, words=result.words,
        rows="\n".join(rows), files="\n".join(sums),
    )  # fmt: skip
    (folder / "README.md").write_text(card, encoding="utf-8")
    (folder / "LICENSE").write_text(licence_text("pipeline"), encoding="utf-8")
    (folder / "scores.json").write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")


def commonsense_card(model: Regressor, *, path: str, extra: str = "") -> str:
    """Return the card of a trained regressor as Markdown; ``path``: its file or folder in the card, empty for the one that
    ships."""
    from ..evaluation import Correlation
    from ..evaluation.correlation import spelt

    facts = model.facts
    count, contrast = facts.get("count") or "", facts.get("contrast")
    hidden = [weights.shape[2] for weights in model.weights[:-1]]
    language_model = facts.get("language_model")
    return render(
        "commonsense", title=model.variant,
        what=_CONTRASTED if contrast else _RATED,
        features="; ".join(f"`{name}`: {_WORDS[name].format(count=count)}" for name in model.features),
        members=len(model.weights[0]),
        hidden=f"{' and '.join(str(width) for width in hidden)} hidden neurons" if hidden else "no hidden neurons",
        activation=model.activation, lowest=model.lowest, highest=model.highest,
        judgements=facts["judgements"], kind="responses, half of them with their own history," if contrast else "ratings",
        conversations=facts["conversations"], licence=facts.get("licence") or "not stated", graph=facts.get("graph") or "none",
        pipeline=facts.get("pipeline") or "none", language_model=f"`{language_model['signature']}`" if language_model else "none",
        command=again(facts.get("command", "tacit train commonsense")), recipe=_commonsense_recipe(facts).to_toml(),
        versions=facts["versions"], digest=model.digest,
        path=f', model="{path}"' if path else "",
        more=', language_model="…"' if language_model and not language_model["id"] else "", background=len(model.background),
        plan=plan_in_words(facts["plan"]), resamples=facts["resamples"], extra=extra, data=facts.get("data", []),
        scores=[row | {kind: spelt(Correlation(**row[kind])) or "–" for kind in _KINDS} for row in facts["scores"]],
        remarks=facts.get("remarks"),
    )  # fmt: skip


def _commonsense_recipe(facts: Mapping[str, Any]) -> CommonsenseRecipe:
    """The recipe of a regressor; older ones recorded its parts."""
    found = facts["recipe"]
    if "networks" not in found:
        plan = {name: value for name, value in facts["plan"].items() if name in ("folds", "shares", "rounds")}
        names = ("variant", "count", "contrast", "resamples", "seed", "licence")
        found = {"folds": 0, **plan, **{name: facts[name] for name in names if facts.get(name) is not None}, "networks": found}
    return CommonsenseRecipe.recorded(found)


def plan_in_words(plan: Mapping[str, Any]) -> str:
    """Return a description of an evaluation plan, e.g. ``10-fold cross-validation, conversations kept together``."""
    if "folds" in plan:
        how = f"{plan['folds']}-fold cross-validation"
    else:
        shares = "/".join(f"{share:g}" for share in plan["shares"])
        how = f"{plan['rounds']} random splits into {shares}, predictions of a response averaged"
    return f"{how}, conversations kept together"


def coherence_card(header: Mapping[str, Any], digest: str, *, path: str | None) -> str:
    """Return the card of a coherence checkpoint with this header as Markdown; ``path``: its folder, None for the one that
    ships."""
    from ..metrics.coherence.checkpoint import parts_of

    facts = header["facts"]
    parts = parts_of(header)
    weights = header["weights"]["+".join(parts)]
    recipe = CoherenceRecipe.recorded({**facts["settings"], "seed": facts["seed"]})
    stated = licences_of(facts["corpora"])
    licences = [f"{name}: {licence}" for name, licence in stated.items()]
    if len(stated) < len(facts["corpora"]):
        licences.append(facts.get("licence") or "not stated")
    left = [f"{number:,} {reason}" for reason, number in facts.get("left out", {}).items() if number]
    return render(
        "coherence", path=path, digest=digest, encoder=header["encoder"]["id"] or "all-MiniLM-L6-v2",
        signature=header["encoder"]["signature"], model=header.get("language_model"), left=", ".join(left) or "none",
        edges=facts["edges"], terms=facts["terms"], command=again(facts.get("command", "tacit train coherence")),
        recipe=recipe.to_toml(), licence="; ".join(licences), licences=_PUBLISHED,
        contrasts=facts["contrasts"], parts=parts, weights=weights,
        areas=facts["areas"], elsewhere=facts["areas of parts trained without the corpus"], files=facts.get("data", ()),
        corpora=facts["corpora"],
    )  # fmt: skip


def grade_card(checkpoint: Checkpoint, *, path: str) -> str:
    """Return the card of a GRADE checkpoint as Markdown, with a placeholder ``{digest}``; ``path``: its folder, or empty."""
    facts, config = checkpoint.facts, checkpoint.model.config
    settings = facts["recipe"]
    if "network" not in settings:  # older checkpoints recorded the false responses and the network beside the recipe
        network = {one.name: getattr(config, one.name) for one in fields(GradeNetworkRecipe)}
        settings = {**settings, "negatives": facts["negatives"], "network": network}
    recipe = GradeRecipe.recorded({"licence": facts.get("licence"), **settings})
    limits = ", ".join(str(limit) for limit in config.limits)
    around = f"{limits} neighbours by weight" if config.limits else "no neighbours"
    attention = "hop attention" if config.hop_attention else "plain attention"
    branch = (
        f"{config.layers} layers, {config.heads} heads, {attention}, width {config.hidden}; {around}; edges: {config.profile}"
    )
    return render(
        "grade", pairs=facts["pairs"], dialogues=facts["dialogues"], dev_pairs=facts["dev_pairs"],
        negatives=_NEGATIVES[recipe.negatives],
        licence=facts.get("licence") or "not stated", branch=branch if config.graph else "none",
        utterance=_UTTERANCE[config.utterance],
        graph=facts["graph"], encoder=", ".join(f"`{name}`" for name in (checkpoint.encoder_id, checkpoint.encoder) if name),
        vectors=checkpoint.vectors, pipeline=facts["pipeline"],
        keywords=facts["keywords"],
        recipe=recipe.to_toml(),
        best_step=facts["best_step"], command=again(facts.get("command", "tacit train grade")),
        versions=facts["versions"], path=path, dev=facts["dev"], blind=facts["blind"], data=facts.get("data", []),
    )  # fmt: skip


def retriever_card(model: Compact, size: int) -> str:
    """Return the card of a retriever whose file has ``size`` bytes, as Markdown."""
    facts = dict(model.facts)
    measured = facts["mean_reciprocal_rank"]
    settings = {field.name: facts[field.name] for field in fields(RetrieverRecipe) if field.name in facts}
    return render(
        "retriever", **{name: facts[name] for name in _RETRIEVER_FACTS},
        sources=", ".join(facts["sources"]), relations=", ".join(model.relations), parts=len(model.kept.books),
        texts=len(model.texts), kept=sum(map(len, model.triples)),
        encoder=model.encoder[0], signature=model.encoder[1], size=size / 1e6, digest=model.digest,
        recipe=RetrieverRecipe.recorded({"parts": len(model.kept.books), **settings}).to_toml(),
        rank_text="not measured, since there are too few" if measured is None else f"{measured:.3f}",
    )  # fmt: skip


def probe_card(probe: Probe, *, path: str | None, remarks: str = "") -> str:
    """Return the card of a probe as Markdown; ``path``: its folder in the card, None for the one that ships."""
    facts = probe.facts
    return render(
        "probe", **{name: facts[name] for name in _PROBE_FACTS},
        name=probe.model.rpartition("@")[0], model=probe.model, layer=probe.layer, width=probe.weights.size, digest=probe.digest,
        interval=facts["interval"], path=path, command=facts.get("command", "not stated"),
        left_out=facts["left_out"],
        licence=facts.get("licence") or "not stated", files=facts.get("files", ()),
        remarks=f"\n{remarks}\n" if remarks else "",
    )  # fmt: skip


def choice_probe_card(probe: Probe, *, path: str) -> str:
    """Return the card of a probe for choices as Markdown; ``path`` is the folder as users will write it."""
    facts = probe.facts
    return render(
        "choice_probe", **{name: facts[name] for name in _CHOICE_PROBE_FACTS},
        name=probe.model.rpartition("@")[0], model=probe.model, dtype=probe.dtype, layer=probe.layer, width=probe.weights.size,
        digest=probe.digest, path=path, command=again(facts.get("command", "tacit train choice-probe")),
        recipe=ChoiceProbeRecipe.recorded(facts.get("recipe", {})).to_toml(), licence=facts.get("licence") or "not stated",
        files=facts.get("files", ()),
    )  # fmt: skip


def choice_head_card(heads: Heads, *, path: str | None) -> str:
    """Return the card of the heads of ``tacit choose`` as Markdown; ``path``: their folder, None for those that ship."""
    facts = heads.facts
    return render(
        "choice_head", **{name: facts[name] for name in _CHOICE_HEAD_FACTS}, digest=heads.digest, path=path,
        command=facts.get("command", "tacit train choice-head"), licence=facts.get("licence") or "not stated",
        files=facts.get("files", ()), models=facts.get("models", ()), excluded=facts.get("excluded", ()),
    )  # fmt: skip


def judgement_card(probe: Probe, *, path: str | None, remarks: str = "") -> str:
    """Return the card of a probe for the metric ``judgement`` as Markdown; the arguments are those of :func:`probe_card`."""
    facts = probe.facts
    # the probe that ships recorded the settings one by one, and has a fitted weight of yes
    older = {"histories": facts["histories"], "licence": facts.get("licence"), "seed": facts["seed"]}
    return render(
        "judgement", **{name: facts[name] for name in _JUDGEMENT_FACTS},
        yes_share=facts.get("yes_share"), yes_gain=facts.get("yes_gain"),
        name=probe.model.rpartition("@")[0], model=probe.model, layer=probe.layer, yes=probe.yes, width=probe.weights.size,
        digest=probe.digest, path=path, command=again(facts.get("command", "tacit train judgement")),
        recipe=JudgementRecipe.recorded(facts.get("recipe", older)).to_toml(), licence=facts.get("licence") or "not stated",
        files=facts.get("files", ()), remarks=f"\n{remarks}\n" if remarks else "",
    )  # fmt: skip
