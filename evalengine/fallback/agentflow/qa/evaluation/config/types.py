"""What configurations are made of."""

from evalengine.config import FRAMEWORK_DEFAULT_MODEL as DEFAULT_JUDGE_MODEL
from evalengine.config import MatchType

__all__ = ["DEFAULT_JUDGE_MODEL", "MatchType"]
