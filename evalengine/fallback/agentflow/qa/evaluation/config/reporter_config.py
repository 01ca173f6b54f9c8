"""Configurations of reporters and of the simulated user."""

from evalengine.config import ReporterConfig, UserSimulatorConfig

__all__ = ["ReporterConfig", "UserSimulatorConfig"]
