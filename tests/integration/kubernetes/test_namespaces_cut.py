# SPDX-License-Identifier: MIT
"""A pass that ends at any of its requests: another process goes on, and the end is that of an undisturbed run.

From that request on the server is gone, as a client sends a request again where only a kept connection was closed. `-s`
shows a table: which request it was, whether the server had got it, how that pass ended, and how many more it took.
"""

import functools
import re
from dataclasses import dataclass

import pytest
from support.drivers import Drivers, outcome
from support.kubernetes_proxy import CUT, CUT_AFTERWARDS
from support.kubernetes_spaces import adopting, gateway_space, managed, older_space, state
from support.kubernetes_tenant import data_space
from support.waiting import poll

ANY = r"/.*"
WAYS = {"before": CUT, "after": CUT_AFTERWARDS}


@dataclass
class Case:
    """One Namespace whose pass is cut at its nth request."""

    tenant: dict
    nth: int
    way: str
    request: str = ""
    first: object = None
    passes: int = 0
    end: object = None


@pytest.fixture
def startup(kubernetes, kubernetes_proxy, folder):
    return kubernetes.startup(folder / "proxied.yaml", kubernetes_proxy.kubeconfig())


def one_pass(startup, operation, tenant):
    """In a process of its own, as after a crash."""
    drivers = Drivers(startup, "production")
    try:
        return outcome(drivers.compute(operation, namespace=tenant, timeoutMs=20000))
    finally:
        drivers.close()


def short(request, tenant):
    names = {gateway_space(tenant): "GATEWAYS", data_space(tenant): "DATA", older_space(tenant): "OLDER"}
    path = re.sub("|".join(names), lambda found: names[found[0]], request.path)
    return f"{request.method} {path}"


def prepared(kubernetes, kind):
    return managed(kubernetes) if kind == "managed" else adopting(kubernetes)


def cut_once(proxy, startup, operation, case):
    asked = []

    def cut(request):
        asked.append(request)
        if len(asked) < case.nth:
            return None
        return WAYS[case.way] if len(asked) == case.nth else CUT

    rule = proxy.on(None, ANY, cut)
    case.first = one_pass(startup, operation, case.tenant)
    proxy.off(rule)
    assert len(asked) >= case.nth
    case.request = short(asked[case.nth - 1], case.tenant)
    assert case.first == ("pending", "KUBERNETES_API_UNAVAILABLE"), case


def finish(kubernetes, drivers, operation, cases):
    """Repeats what is not ready yet in a process that was not there before, round by round: the cluster's own deletions go
    on at the same time."""

    def round_of_passes():
        for case in [case for case in cases if case.end is None]:
            case.passes += 1
            told = outcome(drivers.compute(operation, namespace=case.tenant))
            assert told == "ready" or told[0] == "pending", (case, told)
            if told == "ready":
                case.end = state(kubernetes, case.tenant)
        return all(case.end is not None for case in cases)

    poll(round_of_passes, 120, interval=0.5, what=f"{operation} after a cut")


def show(operation, kind, cases):
    print(f"\n{operation}, {kind}: {len(cases)} cuts")
    for case in cases:
        print(f"  {case.nth:3} {case.way:6} {case.request:90.90} {' '.join(case.first)}, then {case.passes}")


def count(proxy, startup, operation, tenant):
    begun = len(proxy.requests)
    told = one_pass(startup, operation, tenant)
    return told, len(proxy.requests) - begun


def check_all(kubernetes, proxy, startup, opened, operation, kind, meant, total, made):
    cases = []
    for nth in range(1, total + 1):
        for way in WAYS:
            case = Case(made(), nth, way)
            cut_once(proxy, startup, operation, case)
            cases.append(case)
    finish(kubernetes, opened(), operation, cases)
    show(operation, kind, cases)
    for case in cases:
        assert case.end == meant, (case.nth, case.way, case.request)


@pytest.mark.parametrize("kind", ["managed", "adopted"])
def test_making_goes_on_wherever_it_was_cut(kubernetes, kubernetes_proxy, startup, opened, kind):
    undisturbed = prepared(kubernetes, kind)
    told, total = count(kubernetes_proxy, startup, "ensure_namespace", undisturbed)
    assert told == "ready" and total > 20
    meant = state(kubernetes, undisturbed)
    made = functools.partial(prepared, kubernetes, kind)
    check_all(kubernetes, kubernetes_proxy, startup, opened, "ensure_namespace", kind, meant, total, made)


@pytest.mark.parametrize("kind", ["managed", "adopted"])
def test_removal_goes_on_wherever_it_was_cut(kubernetes, kubernetes_proxy, startup, opened, kind):
    drivers = opened()

    def made():
        tenant = prepared(kubernetes, kind)
        assert outcome(drivers.compute("ensure_namespace", namespace=tenant)) == "ready"
        return tenant

    undisturbed = made()
    told, total = count(kubernetes_proxy, startup, "delete_namespace", undisturbed)
    assert told == "ready" or told[0] == "pending"
    assert total >= 8
    drivers.until_ready("delete_namespace", namespace=undisturbed)
    meant = state(kubernetes, undisturbed)
    assert (meant["data"] is None) == (kind == "managed")
    assert [name for name, there in meant.items() if there] == ([] if kind == "managed" else ["data"])
    check_all(kubernetes, kubernetes_proxy, startup, opened, "delete_namespace", kind, meant, total, made)
