"""The Python API from scripts, closures, running loops."""

SCRIPT_HEAD = """
import asyncio, evalengine
from agentflow.qa.evaluation import EvalSetBuilder, EvalConfig, CriteriaConfig, CriterionConfig

def cases(n=4):
    builder = EvalSetBuilder(name="api")
    for i in range(n):
        builder.add_case(query=f"q{i}", expected=f"Q{i}", case_id=f"c{i}")
    return builder.build()

config = EvalConfig(criteria=CriteriaConfig(exact_match=CriterionConfig.exact_match()))
"""


def run(project, text):
    project.write({"script.py": SCRIPT_HEAD + text})
    done = project.python("script.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_lambda_that_closes_over_a_local_runs_without_a_main_guard(project):
    lines = run(
        project,
        """
def make():
    table = {f"q{i}": f"Q{i}" for i in range(4)}
    return lambda messages: table[messages[-1]["content"]]

print("top level runs once")
report = evalengine.evaluate(make(), cases(), config=config, workers=2, max_concurrency=4)
print(report.summary.passed_cases, report.summary.planned, report.passed)
print([result.eval_id for result in report.results])
""",
    )

    assert lines == ["top level runs once", "4 4 True", "['c0', 'c1', 'c2', 'c3']"]


def test_results_come_as_a_stream_by_for_and_by_async_for(project):
    lines = run(
        project,
        """
async def agent(messages):
    return messages[-1]["content"].upper()

print(sorted(result.eval_id for result in evalengine.evaluate_stream(agent, cases(), config=config)))

async def main():
    seen = []
    stream = evalengine.evaluate_stream(agent, cases(), config=config)
    async for result in stream:
        seen.append(result.status.value)
    print(seen, stream.report().passed)

asyncio.run(main())
""",
    )

    assert lines == ["['c0', 'c1', 'c2', 'c3']", "['passed', 'passed', 'passed', 'passed'] True"]


def test_it_works_inside_a_running_loop_as_in_a_notebook(project):
    lines = run(
        project,
        """
def agent(messages):
    return messages[-1]["content"].upper()

async def cell():
    blocking = evalengine.evaluate(agent, cases(), config=config)
    awaited = await evalengine.evaluate_async(agent, cases(), config=config)
    print(blocking.passed, awaited.passed)

asyncio.run(cell())
""",
    )

    assert lines == ["True True"]


def test_custom_criteria_of_the_caller_judge(project):
    lines = run(
        project,
        """
from evalengine import criterion
limit = 2

@criterion(threshold=1.0)
def short_enough(execution, case):
    return len(execution.actual_response) <= limit

config = EvalConfig(criteria=CriteriaConfig(custom=[short_enough]))
report = evalengine.evaluate(lambda messages: messages[-1]["content"] * 1, cases(1), config=config)
longer = evalengine.evaluate(lambda messages: "long answer", cases(1), config=config)
print(report.passed, longer.passed, longer.results[0].criterion_results[0].criterion)
""",
    )

    assert lines == ["True False short_enough"]


def test_what_cannot_be_sent_is_an_error_that_says_what(project):
    lines = run(
        project,
        """
import threading
from evalengine.errors import UsageError
lock = threading.Lock()
try:
    evalengine.evaluate(lambda messages: lock, cases())
except UsageError as error:
    print("the agent cannot be sent" in str(error))
""",
    )

    assert lines == ["True"]


def test_reports_are_written_where_the_caller_says(project):
    lines = run(
        project,
        """
from pathlib import Path
evalengine.evaluate(lambda messages: "x", cases(1), config=config, output_dir="out")
print(sorted(path.suffix for path in Path("out").iterdir()), Path(".evalengine").exists())
""",
    )

    assert lines == ["['.html', '.json'] False"]


def test_an_evaluation_inside_a_case_is_an_error_of_that_case(project):
    lines = run(
        project,
        """
def agent(messages):
    import evalengine
    evalengine.evaluate(lambda m: "x", "nothing.json")

report = evalengine.evaluate(agent, cases(1), config=config)
print(report.results[0].status.value, "nested" in report.results[0].error)
""",
    )

    assert lines == ["error True"]


def test_an_eval_set_that_is_not_there_is_an_error_that_names_it(project):
    lines = run(
        project,
        """
from evalengine.errors import UsageError
try:
    evalengine.evaluate(lambda messages: "x", "nowhere.json")
except UsageError as error:
    print("'nowhere.json' cannot be read" in str(error))
""",
    )

    assert lines == ["True"]
