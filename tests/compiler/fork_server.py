"""New processes without the second that the libraries take to import: forks of one that has them.

A child has numpy, SciPy and networkx, nothing of graphsys and not numba. `run` takes its code and
its environment, as `subprocess.run` would.
"""

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from typing import NamedTuple

#: Reads requests from stdin, a line each, and writes a line with what is left of each process.
SERVER = """
import json, os, sys, traceback
from concurrent.futures import ThreadPoolExecutor
import networkx, scipy.sparse, scipy.sparse.csgraph
from numpy import ctypeslib, random, testing

def child(code, environment, folder):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[1:1] = environment.get("PYTHONPATH", "").split(os.pathsep)
    try:
        exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

def fork(request):
    pipes = [os.pipe(), os.pipe()]
    pid = os.fork()
    if not pid:
        for stream, (_, end) in enumerate(pipes, 1):
            os.dup2(end, stream)
        code = child(**request)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    for _, end in pipes:
        os.close(end)
    with ThreadPoolExecutor() as readers:
        texts = readers.map(lambda pipe: open(pipe[0]).read(), pipes)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), *texts

for line in sys.stdin:
    print(json.dumps(fork(json.loads(line))), flush=True)
"""


class Done(NamedTuple):
    """What a process that has ended left."""

    returncode: int
    stdout: str
    stderr: str


@cache
def server():
    """The process that forks, one for all tests; it ends with this one."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)  # closes its stdin, and waits
    return process


def run(code, folder, environment):
    """Run Python code in a new process and wait for it.

    Parameters
    ----------
    code : str
    folder : Path
        Where it runs.
    environment : dict of str to str
        All of its environment.

    Returns
    -------
    Done
    """
    if not hasattr(os, "fork"):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)
    request = {"code": code, "environment": environment, "folder": str(folder)}
    print(json.dumps(request), file=server().stdin, flush=True)
    return Done(*json.loads(server().stdout.readline()))
