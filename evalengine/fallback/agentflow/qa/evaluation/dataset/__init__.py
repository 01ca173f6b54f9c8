"""Eval sets, and their builder."""

from evalengine.authoring import EvalSetBuilder
from evalengine.cases import (
    EvalCase,
    EvalSet,
    Invocation,
    MessageContent,
    SessionInput,
    StepType,
    ToolCall,
    TrajectoryStep,
)

__all__ = [
    "EvalCase",
    "EvalSet",
    "EvalSetBuilder",
    "Invocation",
    "MessageContent",
    "SessionInput",
    "StepType",
    "ToolCall",
    "TrajectoryStep",
]
