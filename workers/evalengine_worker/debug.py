"""``python -m evalengine_worker.debug eval --isolation none``: what ``agentflow eval --isolation none`` becomes.

Python puts the working directory first on the path for ``-m``; a project's own ``queue.py`` or ``msgspec.py`` must
not take the place of ours, so that it is taken off again before anything else is imported.
"""

import os
import sys

if __name__ == "__main__":
    _home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib comes later
    if not sys.flags.safe_path and sys.path[0] != _home:
        del sys.path[0]
    from evalengine_worker.debug_run import main

    sys.exit(main(sys.argv[1:]))
