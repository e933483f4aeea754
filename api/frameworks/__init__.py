"""Adapters of evaluation frameworks: a module for each of inspect_ai, DeepEval, MLflow, promptfoo and OpenTelemetry.

A module imports its framework, which the optional dependency of that name installs; nothing else in tacit imports these modules.
What they share is in :mod:`.response_scorer`.
"""
