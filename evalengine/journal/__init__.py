"""The journals of runs: a folder for each run, with every event as a line of JSON, in the order they happened.

``write`` appends, ``read`` reads lines, ``past`` folds them into what a run has come to, ``replay`` tells a run
again, ``lock`` says whether one is in progress, and ``runs`` finds, lists and removes the runs of a project. A run
that is continued goes on in the same file, as a further part of it; nothing of a file is changed but a torn end.
"""

from evalengine.journal.past import Identity, Past, Verdict
from evalengine.journal.read import read_events
from evalengine.journal.write import Journal

__all__ = ["Identity", "Journal", "Past", "Verdict", "read_events"]
