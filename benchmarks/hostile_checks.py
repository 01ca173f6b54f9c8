"""Whether a run of hostile cases was recorded as it must be: each problem in one line."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.hostile_kinds import BY_NAME, GOOD

LINE = re.compile(r"^\[ *\d+/\d+\] (\S+::\S+) +([A-Z_]+)(?!.*runs again$)", re.MULTILINE)
ENDED_BADLY = {"error", "timeout", "crashed"}


class Records:
    """What a run left: console, report, journal, and the starts that the agents noted themselves."""

    def __init__(self, root: Path, exit_code: int) -> None:
        self.exit_code = exit_code
        self.console = (root / "stdout").read_text(errors="replace")
        self.stderr = (root / "stderr").read_text(errors="replace")
        reports = list((root / "eval_reports").glob("*.json"))
        journals = list((root / ".evalengine" / "runs").glob("*/journal.jsonl"))
        self.temporary = sorted(path.name for path in (root / "tmp").iterdir())
        self.is_complete = len(reports) == len(journals) == 1
        if self.is_complete:
            self.report: dict[str, Any] = json.loads(reports[0].read_bytes())
            self.events = [json.loads(line) for line in journals[0].read_bytes().splitlines()]
            log = root / "starts.log"
            lines = log.read_text().splitlines() if log.exists() else []
            self.starts = Counter(int(line.removeprefix("start ")) for line in lines)


def problems(kinds: dict[int, str], retries: int, records: Records) -> list[str]:
    """Return what is wrong; ``kinds`` has the kind of each case by its number."""
    if not records.is_complete:
        return [f"no report or no journal; exit code {records.exit_code}; {records.stderr[-2000:]}"]
    results = {int(result["eval_id"].partition("_")[0]): result for result in records.report["results"]}
    found = [f"{each['file']} could not be loaded: {each['error']}" for each in records.report["file_errors"]]
    found += [f"case {number} has no result" for number in kinds.keys() - results.keys()]
    for number, result in results.items():
        wrong = _verdict(number, kinds[number], retries, result) or _starts(result, records.starts[number])
        if wrong:
            found.append(f"{result['label']}: {wrong}")
    return found + _conservation(kinds, records) + _outside(records)


def _verdict(number: int, name: str, retries: int, result: dict[str, Any]) -> str:
    kind = BY_NAME[name]
    status, error = result["status"], result["error"] or ""
    said = f"{status} ({error}) {result['actual_response'][:40]!r}, attempts {result['attempts']}"
    if status != kind.status or kind.error not in error:
        return f"must be {kind.status} ({kind.error}), is {said}"
    charged = retries if status in ENDED_BADLY else 0
    if len(result["earlier_attempts"]) != charged or result["flaky"]:
        return f"charged with {result['earlier_attempts']}, flaky {result['flaky']}; {said}"
    if any(each["status"] != status for each in result["earlier_attempts"]):
        return f"earlier attempts ended otherwise: {result['earlier_attempts']}; {said}"
    if status == "passed" and result["actual_response"] != f"answer {number}":
        return f"another's result: {said}"
    return _own_traces(number, result) if kind is GOOD else ""


def _own_traces(number: int, result: dict[str, Any]) -> str:
    calls = [(call["name"], call["args"]) for call in result["actual_tool_calls"]]
    if calls != [(f"tool_{number}", {"of": str(number)})]:
        return f"not its own tool calls: {calls}"
    return "" if result["output"] == f"said {number}\n" else f"not its own output: {result['output'][:200]!r}"


def _starts(result: dict[str, Any], starts: int) -> str:
    return f"began {starts} times in {result['attempts']} attempts" if starts > result["attempts"] else ""


def _conservation(kinds: dict[int, str], records: Records) -> list[str]:
    """Every case has one verdict, the same in console, report and journal, and the counts are theirs."""
    report = records.report
    verdicts = Counter((result["label"], result["status"]) for result in report["results"])
    finished = (event for event in records.events if event.get("type") == "CaseFinished")
    journal = Counter((event["label"], event["status"]) for event in finished)
    console = Counter((label, status.lower()) for label, status in LINE.findall(records.console))
    counts = {status: count for status, count in report["summary"]["status_counts"].items() if count}
    told = Counter(status for _, status in verdicts.elements())
    found = []
    if len(verdicts) != len(kinds) or verdicts.total() != len(kinds):
        found.append(f"{len(kinds)} cases, {verdicts.total()} results, {len(verdicts)} different")
    if not report["summary"]["planned"] == len(kinds) == sum(counts.values()):
        found.append(f"planned {report['summary']['planned']}, counted {counts}, {len(kinds)} cases")
    if counts != told:
        found.append(f"counted {counts}, the results say {dict(told)}")
    for name, others in (("journal", journal), ("console", console)):
        if others != verdicts:
            found.append(f"{name} and report differ: {dict((others - verdicts) + (verdicts - others))}")
    return found


def _outside(records: Records) -> list[str]:
    found = []
    is_passed = all(result["status"] == "passed" for result in records.report["results"])
    if records.exit_code != (0 if is_passed else 1):
        found.append(f"exit code {records.exit_code}")
    if records.temporary:
        found.append(f"temporary files are left: {records.temporary}")
    if "Traceback" in records.stderr:
        found.append(f"a traceback of the coordinator: {records.stderr[-2000:]}")
    return found
