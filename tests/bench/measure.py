# SPDX-License-Identifier: MIT
"""Measures the figures that the design answers to, and prints them as a table; exit status 1 if one is missed.

    latency     commit of an admission -> claimed, by an idle worker; with LISTEN, and without (behind a pooler)
    pass        passes a second whose Compute does nothing, against pgbench that sends the plain five statements
    revisions   deployments a second whose Compute does nothing, and what each sends to the database
    size        time of the claim at 1 000 000 finished and 100 000 queued rows, against 1 000
    open        passes a second while another transaction is open, against without
    idle        statements that an idle worker sends in a poll interval
    memory      PSS of supervisor, dispatcher and four reconcilers
    start       start to READY=1 on a verified database
    kill        SIGKILL of a reconciler -> its item is queued again -> it is finished

Each is the median of several rounds on one database; what is compared is measured in turn, in the same rounds.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from bench import rows  # noqa: E402
from bench.stage import Stage  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small tables and two rounds: whether it works, not how fast")
    parser.add_argument("--only", action="append", choices=list(rows.ALL), metavar="ROW")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(rows.ALL))
        return 0
    if arguments.quick:
        arguments.rounds = 2
    missed = 0
    with Stage(rounds=arguments.rounds, quick=arguments.quick) as stage:
        print(f"{'what':<58} {'measured':>28}  {'figure':<24} ")
        for name in arguments.only or rows.ALL:
            for row in rows.ALL[name](stage):
                print(f"{row.what:<58} {row.measured:>28}  {row.figure:<24} {row.verdict}", flush=True)
                missed += row.missed
    return 1 if missed and not arguments.quick else 0


if __name__ == "__main__":
    sys.exit(main())
