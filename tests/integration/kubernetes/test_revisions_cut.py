# SPDX-License-Identifier: MIT
"""A whole life of an Agent in which every write is cut once before the server sees it, and once after: what comes of it is
the same as without. The node is played; the table is shown with -s."""

import pytest
from support.kubernetes_proxy import CUT, CUT_AFTERWARDS
from support.revisions import KINDS, digest

WRITES = ("POST", "PATCH", "DELETE")


# So many writes of one kind before the next one is cut.
PERIOD = 5


class Cuts:
    """Of each kind of write the nth is not passed on; it comes again as the next one, whose answer is lost; and so on, each
    PERIOD writes. With every n from 1 to PERIOD, every write is cut in both ways."""

    def __init__(self):
        self.made = 0
        self.begin(None)

    def begin(self, number):
        self.number = number
        self.counts = dict.fromkeys(WRITES, 0)

    def __call__(self, request):
        if self.number is None or request.method not in WRITES:
            return None
        self.counts[request.method] += 1
        beyond = self.counts[request.method] - self.number
        # The one that is cut takes two.
        cut = {0: CUT, 1: CUT_AFTERWARDS}.get(beyond % (PERIOD + 1)) if beyond >= 0 else None
        self.made += cut is not None
        return cut


@pytest.fixture
def proxy(kubernetes_proxy):
    kubernetes_proxy.cuts = Cuts()
    kubernetes_proxy.on(None, ".*", kubernetes_proxy.cuts)
    return kubernetes_proxy


@pytest.fixture
def stage(proxied_stage):
    return proxied_stage


def life(agent, proxy, mode, cut):
    """Two revisions, one after the other, and the end: what there is after each step, without names that are its own, and
    how many writes were cut."""
    one, two = agent.revision(mode), agent.revision(mode)
    steps = [("prepare", one), ("activate", one)]
    steps += [("stop", one)] if mode == "dedicated" else []
    steps += [("prepare", two), ("activate", two), ("retire", one), ("deactivate", two), ("stop", two), ("retire", two)]
    seen, before = [], proxy.cuts.made
    for operation, revision in [*steps, ("delete", None)]:
        proxy.cuts.begin(cut)
        codes = agent.until(operation, revision)
        proxy.cuts.begin(None)
        assert not set(codes) - {"KUBERNETES_API_UNAVAILABLE", "REVISION_INCOMPLETE", "REVISION_ENDPOINT_NOT_READY",
                                 "REVISION_STOPPING", "AGENT_INCOMPLETE", "REVISION_UNSCHEDULABLE"}, (operation, codes)  # fmt: skip
        routed = {None: "nothing", "none": "nothing", one["id"]: "one", two["id"]: "two"}[next(iter(agent.routed().values()), None)]
        names = agent.names(*[kind for kind in KINDS if kind != "pods"])
        plain = sorted(
            (kind, name.replace(agent.h, "H").replace(digest(one["id"]), "1").replace(digest(two["id"]), "2")) for kind, name in names
        )
        seen.append((operation, routed, len(agent.pods()), plain))
    return seen, proxy.cuts.made - before


@pytest.mark.parametrize("mode", ["embedded", "dedicated"])
def test_every_write_may_be_cut(stage, proxy, mode):
    wanted, _ = life(stage.agent(), proxy, mode, None)
    print()
    for number in range(1, PERIOD + 1):
        seen, cuts = life(stage.agent(), proxy, mode, number)
        print(f"{mode}: from write {number} on each {PERIOD}th cut before and after: {cuts:2} cuts, {len(seen)} steps as without")
        assert seen == wanted
        assert cuts
