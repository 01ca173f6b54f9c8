"""The settings of a run: what they are, where they come from, and which values can be meant.

A flag of the command line wins over the ``evaluation`` section of agentflow.json, which wins over the default;
what eval files and confeval.py set comes after that, in the workers.
"""

from evalengine.settings.continued import as_recorded, chooses_anew, continued
from evalengine.settings.resolution import color_of, project_root, resolve
from evalengine.settings.run_settings import CommandLine, RunSettings

__all__ = [
    "CommandLine",
    "RunSettings",
    "as_recorded",
    "chooses_anew",
    "color_of",
    "continued",
    "project_root",
    "resolve",
]
