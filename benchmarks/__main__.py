"""``python -m benchmarks [NAME...] [--save]``: measure, and print one table. It gates nothing."""

import argparse
import datetime as dt
import importlib
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.project import COMMAND
from benchmarks.rows import Row, table

NAMES = ("startup", "cpu", "blocking", "throughput", "budget", "attribution", "deaths", "kills")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[*NAMES, []], metavar="NAME", help=f"of {', '.join(NAMES)}; all"
    )
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/<date>.json too")
    options = parser.parse_args()
    if not COMMAND.exists():
        print(f"{COMMAND} is not there: install the project into this environment", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in options.names or NAMES:
        print(f"{name} …", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"benchmarks.{name}").main()
    print(table(rows))
    if options.save:
        print(_save(rows))
    return 0


def _save(rows: list[Row]) -> Path:
    """Write the rows and what they were measured on; return the path."""
    now = dt.datetime.now(dt.UTC)
    path = Path(__file__).with_name("results") / f"{now:%Y-%m-%d_%H%M%S}.json"
    path.parent.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    document = {
        "measured": now.isoformat(),
        **machine,
        "rows": [{**asdict(row), "holds": row.holds} for row in rows],
    }
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
