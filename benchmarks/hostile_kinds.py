"""What a case of the mixed run may do to its process, and the one verdict that it must have.

A body is the body of an async agent, its statements set apart by ``; ``; for a sync agent, the awaits are taken
out. It knows ``number``, its own; ``sleep``, which fits the kind of agent; and what ``HEAD`` defines. Nothing here
changes what cases in flight together share by design (the working directory, the environment, the loop): the table
of tests/faults has that, one by one.
"""

from typing import NamedTuple


class Kind(NamedTuple):
    """What a case does, its status, and what its error must say."""

    name: str
    body: str
    status: str
    error: str = ""
    in_sync: bool = True
    """Whether a sync agent may do it, too."""


GOOD = Kind(
    "good",
    "record_tool('tool_' + number, {'of': number}); print('said ' + number); await sleep(nap(number)); "
    "return own(number)",
    "passed",
)
DEATHS = [
    Kind("segfault", "ctypes.string_at(0)", "crashed", "killed by SIGSEGV"),
    Kind("kill", "await sleep(nap(number)); os.kill(os.getpid(), 9)", "crashed", "killed by SIGKILL"),
    Kind("abort", "os.abort()", "crashed", "killed by SIGABRT"),
    Kind("terminate", "os.kill(os.getpid(), 15); await sleep(1)", "crashed", "killed by SIGTERM"),
    Kind("exit_0", "await sleep(nap(number)); os._exit(0)", "crashed", "exited with 0"),
    Kind("exit_3", "os._exit(3)", "crashed", "exited with 3"),
    Kind("exec", "os.execvp('true', ['true'])", "crashed", "exited with 0"),
    Kind("kill_group", "os.killpg(0, 9)", "crashed", "killed by SIGKILL"),
    Kind("close_descriptors", "os.closerange(3, 4096); await sleep(1)", "crashed", "the worker process died"),
    Kind("fork_and_die", "os.fork() == 0 and time.sleep(4321); os._exit(7)", "crashed", "exited with 7"),
    Kind("thread_dies", "threading.Timer(0.05, os._exit, [9]).start(); await sleep(1)", "crashed", "exited with 9"),
    Kind("thread_crashes", "in_thread(ctypes.string_at, 0); await sleep(1)", "crashed", "killed by SIGSEGV"),
]
HANGS = [
    Kind("block", "time.sleep(3600)", "timeout"),
    Kind("wait", "await asyncio.Event().wait()", "timeout", in_sync=False),
    Kind("refuse", "await refuse_to_end()", "timeout", in_sync=False),
    Kind("stop", "os.kill(os.getpid(), signal.SIGSTOP); await sleep(9)", "timeout"),
    Kind("expression", "re.match('(a+)+$', 'a' * 64 + 'b')", "timeout"),
    Kind("count", "collections.deque(itertools.count(), maxlen=0)", "timeout"),
    Kind("hold_the_lock", "in_thread(collections.deque, itertools.count(), 0); await sleep(60)", "timeout"),
    Kind("dead_lock", "lock = threading.Lock(); lock.acquire(); lock.acquire()", "timeout"),
    Kind("wait_for_child", "subprocess.run(['sleep', '4321'])", "timeout"),
]
RAISED = [
    Kind("sys_exit", "sys.exit(0)", "error", "SystemExit: 0"),
    Kind("keyboard_interrupt", "raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
    Kind(
        "interrupt_itself", "os.kill(os.getpid(), 2); await sleep(9)", "error", "KeyboardInterrupt", in_sync=False
    ),
    Kind("cancelled", "raise asyncio.CancelledError", "error", "CancelledError", in_sync=False),
    Kind("value", "await sleep(nap(number)); raise ValueError(number)", "error", "ValueError: "),
    Kind("recursion", "f = lambda: f(); f()", "error", "RecursionError"),
    Kind("no_memory", "raise MemoryError", "error", "MemoryError"),
    Kind("mute", "raise type('Mute', (Exception,), {'__str__': None})", "error", "cannot be read"),
    Kind("nothing", "return None", "error", "nothing (None)"),
    Kind("lock", "return threading.Lock()", "error", "a value of type _thread.lock"),
    Kind("read", "return input()", "error", "EOFError"),
]
LEFT = [
    Kind("task", "asyncio.create_task(sleep(9e9)); return own(number)", "passed", in_sync=False),
    Kind("child", "subprocess.Popen(['sleep', '4321']); return own(number)", "passed"),
    Kind("daemon", "daemonise(); return own(number)", "passed"),
    Kind("fork", "os.fork(); await sleep(0.01); return own(number)", "passed"),
    Kind("thread", "threading.Thread(target=time.sleep, args=(99,)).start(); return own(number)", "passed"),
    Kind("exit_hook", "atexit.register(time.sleep, 99); return own(number)", "passed"),
    Kind("descriptors", "KEPT.extend(open('/dev/null') for _ in range(50)); return own(number)", "passed"),
    Kind("memory", "KEPT.append(bytes(20_000_000)); return own(number)", "passed"),
    Kind("late_exit", "threading.Timer(nap(number), os._exit, [5]).start(); return own(number)", "passed"),
    Kind("late_kill", "subprocess.Popen(['sh', '-c', 'sleep 0.1 && kill -9 $PPID']); return own(number)", "passed"),
    Kind("late_print", "threading.Timer(0.1, print, ['late']).start(); return own(number)", "passed"),
    Kind(
        "exit_in_task",
        "asyncio.create_task(exit_soon()); await sleep(0.05); return own(number)",
        "passed",
        "",
        False,
    ),
    Kind(
        "stop_the_loop",
        "asyncio.get_running_loop().stop(); await sleep(0.01); return own(number)",
        "passed",
        "",
        False,
    ),
]
PRINTED = [
    Kind("long_output", "print('x' * 2_000_000); return own(number)", "passed"),
    Kind("raw_output", "os.write(1, b'\\xff\\x00\\x1b[31m' * 1000); return own(number)", "passed"),
    Kind("child_output", "subprocess.run(['echo', 'from a child']); return own(number)", "passed"),
    Kind("many_lines", "[print(line) for line in range(5000)]; return own(number)", "passed"),
    Kind("odd_text", "print('\\ud800'); return own(number)", "passed"),
]
BLOCKING = [
    Kind("block_shortly", "time.sleep(0.3); return own(number)", "passed"),
    Kind("compute", "sum(x * x for x in range(2_000_000)); return own(number)", "passed"),
]
HOSTILE = [*DEATHS, *HANGS, *RAISED, *LEFT, *PRINTED, *BLOCKING]
BY_NAME = {kind.name: kind for kind in [GOOD, *HOSTILE]}

HEAD = """
import asyncio, atexit, collections, ctypes, itertools, os, random, re, signal, subprocess, sys, threading, time
from evalengine import record_tool

KEPT = []
def note(words):
    with open({log!r}, "a") as file:
        file.write(words + "\\n")

def own(number):
    return "answer " + number

def nap(number):
    return random.Random({seed} + int(number)).uniform(0, 0.2)

def in_thread(call, *args):
    threading.Thread(target=call, args=args, daemon=True).start()

async def exit_soon():
    sys.exit(0)

async def refuse_to_end():
    while True:
        try:
            await asyncio.sleep(9)
        except asyncio.CancelledError:
            pass

def daemonise():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "4321"])
        os._exit(0)
"""

EVAL_FILE = """
from agentflow.qa.evaluation import CriteriaConfig, CriterionConfig, EvalConfig, EvalSetBuilder

EVAL_CONFIG = EvalConfig(criteria=CriteriaConfig(exact_match=CriterionConfig.exact_match(threshold=1.0)))
CASES = {cases!r}

def get_eval_set():
    builder = EvalSetBuilder(name="{name}")
    for number, kind in CASES:
        query, case_id = f"{{kind}} {{number}}", f"{{number}}_{{kind}}"
        builder.add_case(query=query, expected=f"answer {{number}}", case_id=case_id)
    return builder.build()
"""
AGENTS = {
    "async": """
sleep = asyncio.sleep

async def app(query: str):
    kind, number = query.split()
    note("start " + number)
    return await globals()["do_" + kind](number)
""",
    "sync": """
sleep = time.sleep

def app(query: str):
    kind, number = query.split()
    note("start " + number)
    return globals()["do_" + kind](number)
""",
}


def eval_file(mode: str, cases: list[tuple[int, str]], log: str, seed: int) -> str:
    """Return the text of an eval file with its agent; ``mode`` is async or sync, a case its number and kind."""
    text = HEAD.format(log=log, seed=seed) + AGENTS[mode] + EVAL_FILE.format(cases=cases, name=mode)
    for kind in BY_NAME.values():
        lines = kind.body.split("; ")
        if mode == "sync":
            lines = [line.replace("await ", "") for line in lines]
        head = "async def" if mode == "async" else "def"
        if mode == "async" or kind.in_sync:
            text += f"\n{head} do_{kind.name}(number):\n" + "".join(f"    {line}\n" for line in lines)
    return text
