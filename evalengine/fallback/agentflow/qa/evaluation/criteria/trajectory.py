"""Criteria that compare what an agent did."""

from evalengine.criteria.objects import NodeOrderMatchCriterion, ToolNameMatchCriterion, TrajectoryMatchCriterion

__all__ = ["NodeOrderMatchCriterion", "ToolNameMatchCriterion", "TrajectoryMatchCriterion"]
