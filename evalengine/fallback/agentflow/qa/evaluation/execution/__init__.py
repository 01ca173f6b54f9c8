"""The record of what an agent did."""

from evalengine.results import ExecutionResult, NodeResponseData

__all__ = ["ExecutionResult", "NodeResponseData"]
