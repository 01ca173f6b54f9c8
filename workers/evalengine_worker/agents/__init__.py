"""Agents: one adapter a module; any way to write an agent, driven turn by turn."""
