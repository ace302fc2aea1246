#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A storm: everything that can fail around occ-worker fails at random, and at the end nothing may be lost.

    /usr/bin/python3 tests/faults/storm.py --seconds 60 --seed 7 --workers 2

Several workers serve one database through a proxy, and Namespaces are created and deleted all the while. Processes are
killed and stopped, workers drained and reloaded, the path to the database is cut and silenced, its server restarted, and
the Engine answers late, wrongly or not at all. With --engine scripted it is Agents that are created, deployed, stopped and
deleted, and the scripted Driver that answers, crashes and hangs. Then all is quiet again, and `check` reads the database, the Engine, the
processes and the logs. The seed decides what is done when; what the machine makes of it differs from run to run.

Exit status 0 when all is well, else 1 with what is not; --keep leaves the logs in a folder.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parent)]

from support.postgres import Cluster  # noqa: E402
from storm_agents import AgentStorm  # noqa: E402
from storm_check import check  # noqa: E402
from storm_trouble import Storm  # noqa: E402


def storm(cluster, folder, seconds, seed, workers, out=None, keep=None, without=(), pooled=False, engine="fake"):
    """Everything; gives what is wrong and what was done."""
    kind = AgentStorm if engine == "scripted" else Storm
    made = kind(cluster, folder, seed, workers, out=out, without=without, pooled=pooled, engine=engine)
    try:
        made.blow(seconds)
        try:
            made.settle()
            problems = check(made)
        except AssertionError as problem:
            problems = [str(problem), *made.odd]
            problems += [str(dict(row)) for row in made.database.work() if row["completed_at"] is None][:5]
            problems += [line for service in made.services for line in service.worker.text[-8:]]
        if keep:
            made.keep(keep)
        return problems, made
    finally:
        made.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--without", default="", help="actions that are left out: stop_child,mood")
    parser.add_argument("--engine", default="fake", choices=("fake", "docker", "podman", "scripted"))
    parser.add_argument("--pooled", action="store_true", help="through PgBouncer")
    parser.add_argument("--keep", help="a folder for the logs")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="occ-storm-", dir="/tmp"))
    folder.chmod(0o755)
    cluster = Cluster()
    try:
        cluster.create().start().create_roles()
        out = None if options.quiet else sys.stdout
        without = options.without.split(",")
        problems, made = storm(
            cluster, folder, options.seconds, options.seed, options.workers, out, options.keep, without, options.pooled,
            options.engine,
        )
    finally:
        cluster.remove()
        shutil.rmtree(folder, ignore_errors=True)
    if not options.quiet:
        for name, count in sorted(made.codes().items()):
            print(f"{count:6} {name}")
    print(f"seed {options.seed}, {options.seconds:.0f} s:", dict(made.done), "exits", [s.statuses for s in made.services])
    for problem in problems:
        print("WRONG:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    os.environ.setdefault("OCC_TEST_PATIENCE", "1")
    sys.exit(main())
