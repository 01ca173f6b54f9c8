"""The builder of eval sets."""

from evalengine.authoring import EvalSetBuilder

__all__ = ["EvalSetBuilder"]
