"""``python -m evalengine`` is the command line."""

import sys

from evalengine.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
