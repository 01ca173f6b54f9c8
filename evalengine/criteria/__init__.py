"""Criteria: pure scoring of an execution against what a case expects."""
