"""Configurations for common needs."""

from evalengine.authoring import EvalPresets

__all__ = ["EvalPresets"]
