# SPDX-License-Identifier: MIT
"""Answers that a real Engine will not give on demand, and sockets with no Engine behind them."""

import json
import socket
import threading
import types

import pytest

from support.compute import Compute, labels, network_name, new_namespace, outcome
from support.fake_engine import Answer, FakeEngine

INVALID = ("retryable", "DOCKER_ANSWER_INVALID")
UNAVAILABLE = ("retryable", "DOCKER_ENGINE_UNAVAILABLE")
FAILED = ("retryable", "DOCKER_ENGINE_FAILED")
MISSING_CONTAINER = "0123456789abcdef" * 4


def refusal(status, message, **more):
    return Answer(status, {"message": message}, **more)


@pytest.fixture
def driver(fake_engine):
    made = Compute(fake_engine.socket)
    yield made
    made.close()


@pytest.fixture
def tenant(fake_engine, driver):
    namespace = new_namespace()
    return types.SimpleNamespace(id=namespace, name=network_name(namespace), engine=fake_engine, driver=driver)


# What listens at the socket.


def silent(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(8)
    return listener


def babbling(path, text):
    """Answers whatever comes with the same bytes."""
    listener = silent(path)

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(text)

    threading.Thread(target=serve, daemon=True).start()
    return listener


@pytest.mark.parametrize(
    "kind, preflight, reason",
    [
        ("missing", ("unavailable", "DOCKER_ENGINE_UNAVAILABLE"), "there is no such socket"),
        ("refused", ("unavailable", "DOCKER_ENGINE_UNAVAILABLE"), "connection refused"),
        ("file", ("configuration", "DOCKER_ENGINE_UNAVAILABLE"), "a plain file, not a socket"),
        ("folder", ("configuration", "DOCKER_ENGINE_UNAVAILABLE"), "a folder, not a socket"),
        ("closing", ("unavailable", "DOCKER_ENGINE_UNAVAILABLE"), "closed the connection"),
        ("nonsense", ("configuration", "DOCKER_ANSWER_INVALID"), "not as a Docker Engine does"),
        ("other server", ("configuration", "DOCKER_ANSWER_INVALID"), "not as a Docker Engine does"),
        ("teapot", ("configuration", "DOCKER_ANSWER_INVALID"), "not as a Docker Engine does"),
    ],
)
def test_what_is_wrong_at_the_socket_is_told(folder, kind, preflight, reason):
    path = folder / "engine.sock"
    listener = None
    if kind == "refused":
        silent(path).close()
    elif kind == "file":
        path.write_text("")
    elif kind == "folder":
        path.mkdir()
    elif kind == "closing":
        listener = babbling(path, b"")
    elif kind == "nonsense":
        listener = babbling(path, b"220 mail.example.test ESMTP\r\n")
    elif kind == "other server":
        listener = babbling(path, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 7\r\n\r\n<html>\n")
    elif kind == "teapot":
        listener = babbling(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    driver = Compute(path)
    try:
        seen = driver.preflight()
        assert outcome(seen) == preflight
        assert seen.exit == (78 if preflight[0] == "configuration" else 69)
        assert reason in seen.message and str(path) in seen.message
        namespace = new_namespace()
        for call in (driver.ensure, driver.delete):
            seen = call(namespace)
            assert outcome(seen) == ("retryable", preflight[1])
            assert reason in seen.message and str(path) in seen.message
            assert network_name(namespace) in seen.message
    finally:
        driver.close()
        if listener:
            listener.close()


def test_an_engine_that_comes_later_is_found(folder):
    path = folder / "engine.sock"
    driver = Compute(path)
    namespace = new_namespace()
    assert outcome(driver.ensure(namespace)) == UNAVAILABLE
    engine = FakeEngine(path)
    assert driver.ensure(namespace).ok
    engine.stop()
    assert outcome(driver.ensure(namespace)) == UNAVAILABLE
    engine.start()
    assert driver.ensure(namespace).ok
    driver.close()
    engine.close()


# Versions (K72).


@pytest.mark.parametrize(
    "newest, oldest, spoken",
    [("1.41", "1.12", "v1.41"), ("1.24", "1.12", "v1.24"), ("1.52", "1.44", "v1.52"), ("1.99", "1.44", "v1.52")],
)
def test_the_highest_common_version_is_spoken(folder, newest, oldest, spoken):
    engine = FakeEngine(folder / "engine.sock", api_version=newest, minimum=oldest)
    driver = Compute(engine.socket)
    assert driver.preflight().ok
    assert driver.ensure(new_namespace()).ok
    assert {request.version for request in engine.requests} == {"", spoken}
    # Negotiated once in a process.
    assert engine.count("GET", "/_ping") == 1
    driver.close()
    engine.close()


def test_without_the_header_the_version_is_asked_for(tenant):
    tenant.engine.on("GET", "/_ping", Answer(200, b"OK"))
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.engine.asked("POST", "/networks/create")[0].version == "v1.41"


@pytest.mark.parametrize("newest, oldest", [("1.23", "1.12"), ("1.99", "1.60"), ("2.3", "2.0")])
def test_an_engine_without_a_common_version_is_refused_at_the_start(folder, newest, oldest):
    engine = FakeEngine(folder / "engine.sock", api_version=newest, minimum=oldest)
    driver = Compute(engine.socket)
    seen = driver.preflight()
    assert outcome(seen) == ("configuration", "DOCKER_API_UNSUPPORTED")
    assert "1.24 to 1.52" in seen.message
    driver.close()
    engine.close()


def test_an_engine_that_was_upgraded_is_asked_again(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    too_old = refusal(400, "client version 1.41 is too old. Minimum supported API version is 1.44, please upgrade")
    tenant.engine.api_version = "1.45"
    tenant.engine.on(None, "/(networks|volumes|containers).*", lambda request: too_old if request.version == "v1.41" else None)
    assert tenant.driver.delete(tenant.id).ok
    assert tenant.engine.asked("DELETE")[-1].version == "v1.45"
    # One that refuses whatever it is asked in does not become a loop.
    before = len(tenant.engine.requests)
    tenant.engine.on(None, "/(networks|volumes|containers).*", too_old)
    assert outcome(tenant.driver.ensure(tenant.id)) == ("retryable", "DOCKER_API_UNSUPPORTED")
    assert len(tenant.engine.requests) - before <= 4


@pytest.mark.parametrize(
    "version",
    [{}, {"ApiVersion": 1.41}, {"ApiVersion": ""}, {"ApiVersion": "latest"}, [], None, {"ApiVersion": "1.41", "MinAPIVersion": "x"}],
)
def test_a_version_that_is_none_is_refused(tenant, version):
    tenant.engine.on("GET", "/version", Answer(200, version))
    assert outcome(tenant.driver.preflight()) == ("configuration", "DOCKER_ANSWER_INVALID")


def test_an_engine_of_another_system_is_refused(tenant):
    tenant.engine.on("GET", "/version", Answer(200, {"ApiVersion": "1.41", "MinAPIVersion": "1.24", "Os": "windows"}))
    assert outcome(tenant.driver.preflight()) == ("configuration", "DOCKER_ENGINE_UNSUPPORTED")


@pytest.mark.parametrize(
    "answer, expected",
    [
        (refusal(500, "starting"), ("unavailable", "DOCKER_ENGINE_FAILED")),
        (Answer(503, b""), ("unavailable", "DOCKER_ENGINE_UNAVAILABLE")),
        (refusal(403, "authorization denied by plugin opa"), ("configuration", "DOCKER_ACCESS_DENIED")),
    ],
)
def test_what_may_pass_and_what_may_not_differ_at_the_start(tenant, answer, expected):
    for path in ("/version", "/networks"):
        tenant.engine.on("GET", path, answer)
        assert outcome(tenant.driver.preflight()) == expected
        tenant.engine.off()


# Refusals, by meaning (K108).

POOL = ("retryable", "DOCKER_ADDRESS_POOL_EXHAUSTED")
CREATE_REFUSALS = [
    (404, "could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network", POOL),
    (400, "all predefined address pools have been fully subnetted", POOL),
    (403, "Pool overlaps with other one on this address space", POOL),
    (500, "could not find free subnet from subnet pools", POOL),
    (404, 'plugin "bridge" not found', FAILED),
    (404, "page not found", FAILED),
    (403, "authorization denied by plugin opa: no", ("retryable", "DOCKER_ACCESS_DENIED")),
    (401, "who are you", ("retryable", "DOCKER_ACCESS_DENIED")),
    (400, "invalid something", ("permanent", "DOCKER_REQUEST_REJECTED")),
    (422, "invalid something", ("permanent", "DOCKER_REQUEST_REJECTED")),
    (429, "slow down", UNAVAILABLE),
    (503, "shutting down", UNAVAILABLE),
    (500, "Failed to Setup IP tables: iptables failed", FAILED),
    (409, "network with name oce already exists", ("pending", "DOCKER_NETWORK_CONTENDED")),
    (409, "a conflict of another kind", ("pending", "DOCKER_NETWORK_CONTENDED")),
    (500, "network name oce already used: network already exists", ("pending", "DOCKER_NETWORK_CONTENDED")),
]


@pytest.mark.parametrize("status, message, expected", CREATE_REFUSALS)
def test_a_refused_create_is_classed_by_its_meaning(tenant, status, message, expected):
    tenant.engine.on("POST", "/networks/create", refusal(status, message, headers={"Retry-After": "3"}))
    seen = tenant.driver.ensure(tenant.id)
    assert outcome(seen) == expected
    assert tenant.name in seen.message and tenant.engine.socket in seen.message
    # The Engine's own words may hold anything: they are not passed on.
    assert message not in seen.message
    assert seen.retryAfterMs == (3000 if status in (429, 503) else 0)
    assert tenant.engine.count("POST", "/networks/create") <= 5
    tenant.engine.off()
    assert tenant.driver.ensure(tenant.id).ok


def test_a_lost_race_is_read_again(tenant):
    """K71, K78: somebody created the network between our look and our create."""

    def race(_request):
        if not tenant.engine.networks:
            tenant.engine.add_network(tenant.name, labels(tenant.id))
        return None

    tenant.engine.on("POST", "/networks/create", race)
    assert tenant.driver.ensure(tenant.id).ok
    assert len(tenant.engine.networks) == 1


def test_a_race_lost_to_a_foreign_network_is_a_conflict(tenant):
    def race(_request):
        tenant.engine.add_network(tenant.name, {})
        return None

    tenant.engine.on("POST", "/networks/create", race)
    assert outcome(tenant.driver.ensure(tenant.id)) == ("permanent", "OWNERSHIP_CONFLICT")
    assert len(tenant.engine.networks) == 1


def test_a_network_that_vanishes_after_its_creation_is_made_again(tenant):
    vanish = [True, False]

    def listed(_request):
        if tenant.engine.networks and vanish and vanish.pop(0):
            tenant.engine.networks.clear()
        return None

    tenant.engine.on("GET", "/networks", listed)
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.engine.count("POST", "/networks/create") == 2


@pytest.mark.parametrize("cut", [0, 20, 150])
def test_an_answer_lost_after_the_create_is_healed_by_the_next_pass(tenant, cut):
    """K110"""
    tenant.engine.on("POST", "/networks/create", Answer(201, {"Id": "x" * 200}, effect=True, cut_after=cut))
    first = tenant.driver.ensure(tenant.id)
    assert first.ok or outcome(first) == UNAVAILABLE
    tenant.engine.off()
    [network] = tenant.engine.networks.values()
    assert tenant.driver.ensure(tenant.id).ok
    assert list(tenant.engine.networks) == [network["Id"]]


def test_what_a_create_asks_for(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    [request] = tenant.engine.asked("POST", "/networks/create")
    body = {"Name": tenant.name, "Driver": "bridge", "CheckDuplicate": True, "Labels": labels(tenant.id)}
    assert request.json == body
    assert request.headers["content-type"] == "application/json"


def test_the_answer_to_a_create_is_not_believed(tenant):
    """Only the list shows what is there."""
    tenant.engine.on("POST", "/networks/create", [Answer(201, {"Id": 7, "Warning": None}), Answer(200, b"")])
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.engine.count("POST", "/networks/create") == 3


def test_two_networks_of_which_one_is_foreign_are_a_conflict(tenant):
    tenant.engine.add_network(tenant.name, labels(tenant.id))
    tenant.engine.add_network(tenant.name, {})
    for call in (tenant.driver.ensure, tenant.driver.delete):
        assert outcome(call(tenant.id)) == ("permanent", "OWNERSHIP_CONFLICT")
    assert len(tenant.engine.networks) == 2


def test_a_network_of_another_driver_is_unsuitable(tenant):
    tenant.engine.add_network(tenant.name, labels(tenant.id), Driver="macvlan")
    seen = tenant.driver.ensure(tenant.id)
    assert outcome(seen) == ("permanent", "DOCKER_NETWORK_UNSUITABLE")
    assert "macvlan" in seen.message
    assert tenant.driver.delete(tenant.id).ok


def test_twins_converge_although_somebody_else_does_the_same(tenant):
    older = tenant.engine.add_network(tenant.name, labels(tenant.id), Created="2024-01-01T00:00:00.9Z")
    younger = tenant.engine.add_network(tenant.name, labels(tenant.id), Created="2024-01-01T00:00:00.95Z")
    tenant.engine.on("DELETE", "/networks/.*", Answer(404, {"message": "network not found"}, effect=True))
    assert tenant.driver.ensure(tenant.id).ok
    assert list(tenant.engine.networks) == [older["Id"]]
    assert younger["Id"] != older["Id"]


# Deletion.

DELETE_REFUSALS = [
    (404, "network oce not found", "ready"),
    (404, "No such network: oce", "ready"),
    (403, "network oce has active endpoints", ("pending", "DOCKER_NETWORK_IN_USE")),
    (500, "network is being used", ("pending", "DOCKER_NETWORK_IN_USE")),
    (404, "page not found", FAILED),
    (500, "anything", FAILED),
    (500, "error while removing network: interface br-1a not found", FAILED),
    (403, "authorization denied by plugin opa", ("retryable", "DOCKER_ACCESS_DENIED")),
]


@pytest.mark.parametrize("answer", [Answer(204), Answer(200, b""), refusal(404, "network oce not found")])
@pytest.mark.parametrize("path", ["/networks/.*", "/containers/.*", "/volumes/.*"])
def test_that_something_is_gone_is_seen_not_believed(tenant, path, answer):
    assert tenant.driver.ensure(tenant.id).ok
    tenant.engine.add_container("ours", labels(tenant.id))
    tenant.engine.add_volume("ours", labels(tenant.id))
    tenant.engine.on("DELETE", path, answer)
    assert outcome(tenant.driver.delete(tenant.id)) == ("pending", "DOCKER_NAMESPACE_PRESENT")
    tenant.engine.off()
    assert tenant.driver.delete(tenant.id).ok


@pytest.mark.parametrize("status, message, expected", DELETE_REFUSALS)
def test_a_refused_removal_is_classed_by_its_meaning(tenant, status, message, expected):
    """K70, K109"""
    assert tenant.driver.ensure(tenant.id).ok
    tenant.engine.on("DELETE", "/networks/.*", refusal(status, message, effect=expected == "ready"))
    seen = tenant.driver.delete(tenant.id)
    assert outcome(seen) == expected
    if not seen.ok:
        assert tenant.name in seen.message and tenant.engine.socket in seen.message


def test_a_stale_endpoint_is_taken_off_by_its_name(tenant):
    """K70: Docker shows an endpoint whose container is gone, and finds it by the container's name only."""
    assert tenant.driver.ensure(tenant.id).ok
    [network] = tenant.engine.networks.values()
    network["Containers"]["ep-" + "a" * 64] = {"Name": "long-gone", "EndpointID": "a" * 64}
    network["Containers"][MISSING_CONTAINER] = {"Name": "gone-too", "EndpointID": "b" * 64}
    assert tenant.driver.delete(tenant.id).ok
    assert not tenant.engine.networks
    asked = [request.json for request in tenant.engine.asked("POST", "/networks/.*/disconnect")]
    assert asked == [{"Container": "long-gone", "Force": True}, {"Container": "gone-too", "Force": True}]


def test_an_endpoint_that_is_only_just_being_made_is_not_stale(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    tenant.engine.add_container("starting")
    [network] = tenant.engine.networks.values()
    network["Containers"]["ep-" + "a" * 64] = {"Name": "starting", "EndpointID": "a" * 64}
    seen = tenant.driver.delete(tenant.id)
    assert outcome(seen) == ("pending", "DOCKER_NETWORK_IN_USE")
    assert "starting" in seen.message
    assert tenant.engine.count("POST", "/networks/.*/disconnect") == 0


def test_many_foreign_containers_are_counted(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    for index in range(5):
        tenant.engine.add_container(f"theirs-{index}", network=tenant.name)
    seen = tenant.driver.delete(tenant.id)
    assert outcome(seen) == ("pending", "DOCKER_NETWORK_IN_USE")
    assert "theirs-0, theirs-1, theirs-2 and 2 more" in seen.message


def test_a_container_of_ours_that_came_late_is_removed(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    tenant.engine.add_container("late", labels(tenant.id), network=tenant.name)
    tenant.engine.on("GET", "/containers/json", Answer(200, []))
    assert tenant.driver.delete(tenant.id).ok
    assert not tenant.engine.containers and not tenant.engine.networks


def test_a_network_that_changed_hands_before_its_removal_stays(tenant):
    """In Podman an ID is made from the name, so that a network made anew by somebody else has the same."""
    assert tenant.driver.ensure(tenant.id).ok
    [network] = tenant.engine.networks.values()

    def changed(_request):
        network["Labels"] = {}
        return None

    tenant.engine.on("GET", "/networks/[^/]+", changed)
    assert outcome(tenant.driver.delete(tenant.id)) == ("permanent", "OWNERSHIP_CONFLICT")
    assert tenant.engine.networks


def test_a_removal_that_is_going_on_is_waited_for(tenant):
    tenant.engine.add_container("ours", labels(tenant.id))
    tenant.engine.on("DELETE", "/containers/.*", [refusal(409, "removal of container ours is already in progress")])
    assert outcome(tenant.driver.delete(tenant.id)) == ("pending", "DOCKER_REMOVAL_IN_PROGRESS")
    assert tenant.driver.delete(tenant.id).ok
    assert not tenant.engine.containers


def test_filters_that_an_engine_ignores_do_no_harm(tenant):
    """What the Engine lists is checked again: nothing goes that is not ours."""
    foreign = {"plain": {}, "other": labels(new_namespace()), "installation": labels(tenant.id, "ins_other")}
    for name, marks in foreign.items():
        tenant.engine.add_container(name, marks)
        tenant.engine.add_volume(name, marks)
        tenant.engine.add_network(name, marks)
    tenant.engine.on("GET", "/containers/json", lambda _: Answer(200, list(tenant.engine.containers.values())))
    tenant.engine.on("GET", "/volumes", lambda _: Answer(200, {"Volumes": list(tenant.engine.volumes.values())}))
    tenant.engine.on("GET", "/networks", lambda _: Answer(200, list(tenant.engine.networks.values())))
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.driver.delete(tenant.id).ok
    assert tenant.engine.count("DELETE") == 1
    assert len(tenant.engine.containers) == len(tenant.engine.volumes) == len(tenant.engine.networks) == 3


def test_observing_sends_only_questions(tenant):
    tenant.engine.add_container("ours", labels(tenant.id))
    tenant.engine.add_network(tenant.name, labels(tenant.id))
    tenant.engine.add_network(tenant.name, labels(tenant.id))
    assert outcome(tenant.driver.observe_ensure(tenant.id)) == ("pending", "DOCKER_NETWORK_DUPLICATED")
    assert outcome(tenant.driver.observe_delete(tenant.id)) == ("pending", "DOCKER_NAMESPACE_PRESENT")
    assert {request.method for request in tenant.engine.requests} == {"GET"}


# Answers that are none.

ODDITIES = {
    "truncated JSON": (Answer(200, b'[{"Name": "oce'), INVALID),
    "HTML": (Answer(200, b"<html>It works!</html>", {"Content-Type": "text/html"}), INVALID),
    "empty": (Answer(200, b""), INVALID),
    "null": (Answer(200, b"null"), INVALID),
    "text": (Answer(200, b'"networks"'), INVALID),
    "an object": (Answer(200, b"{}"), INVALID),
    "numbers": (Answer(200, b"[1, 2]"), INVALID),
    "trailing bytes": (Answer(200, b"[] []"), INVALID),
    "deep": (Answer(200, b"[" * 100000 + b"]" * 100000), INVALID),
    "huge": (Answer(200, b"[" + b" " * (5 << 20) + b"]"), INVALID),
    "no content": (Answer(204), INVALID),
    "redirect": (Answer(301, b"", {"Location": "http://example.test/"}), INVALID),
    "500": (refusal(500, "boom"), FAILED),
    "500 without a body": (Answer(500, b""), FAILED),
    "400 in HTML": (Answer(400, b"<html>"), INVALID),
    "404 in words": (Answer(404, b"Not Found\n", {"Content-Type": "text/plain"}), INVALID),
    "cut in the head": (Answer(200, [], cut_after=12), UNAVAILABLE),
    "cut in the body": (Answer(200, b"[" + b" " * 4096 + b"]", cut_after=400), UNAVAILABLE),
    "closed": (Answer(200, [], cut_after=0), UNAVAILABLE),
    "not HTTP": (Answer(raw=b"SSH-2.0-OpenSSH_9.2p1\r\n"), INVALID),
}
QUESTIONS = {
    "networks": "/networks",
    "containers": "/containers/json",
    "volumes": "/volumes",
    "network": "/networks/[^/]+",
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("oddity", ODDITIES)
def test_an_answer_that_is_none_is_retryable_and_changes_nothing(tenant, oddity, question):
    answer, expected = ODDITIES[oddity]
    assert tenant.driver.ensure(tenant.id).ok
    tenant.engine.add_volume("ours", {})
    tenant.engine.on("GET", QUESTIONS[question], answer)
    if question == "networks":
        assert outcome(tenant.driver.ensure(tenant.id)) == expected
    seen = tenant.driver.delete(tenant.id)
    assert outcome(seen) == expected
    assert tenant.engine.socket in seen.message
    assert "\n" not in seen.message and "<html" not in seen.message and "boom" not in seen.message
    assert len(tenant.engine.networks) == 1 and tenant.engine.count("DELETE") == 0
    tenant.engine.off()
    assert tenant.driver.delete(tenant.id).ok


def wrong_networks(name, namespace):
    good = {"Name": name, "Id": "a" * 64, "Driver": "bridge", "Labels": labels(namespace), "Created": "2024-01-01T00:00:00Z"}
    return {
        "without a name": {key: value for key, value in good.items() if key != "Name"},
        "a name that is none": {**good, "Name": 7},
        "without an ID": {key: value for key, value in good.items() if key != "Id"},
        "an empty ID": {**good, "Id": ""},
        "an ID of control characters": {**good, "Id": "a\n"},
        "an ID that is a number": {**good, "Id": 12},
        "without a driver": {key: value for key, value in good.items() if key != "Driver"},
        "labels that are a list": {**good, "Labels": ["org.openclaw.enterprise.managed=true"]},
        "labels that are a text": {**good, "Labels": "org.openclaw.enterprise.managed=true"},
        "a label that is a truth value": {**good, "Labels": {**labels(namespace), "other": True}},
    }


@pytest.mark.parametrize("kind", wrong_networks("", ""))
def test_a_network_of_a_wrong_shape_is_no_network(tenant, kind):
    tenant.engine.on("GET", "/networks", Answer(200, [wrong_networks(tenant.name, tenant.id)[kind]]))
    assert outcome(tenant.driver.ensure(tenant.id)) == INVALID
    assert outcome(tenant.driver.delete(tenant.id)) == INVALID
    assert {request.method for request in tenant.engine.requests} == {"GET"}


@pytest.mark.parametrize("marks", [None, {}])
def test_a_network_whose_labels_are_null_is_foreign(tenant, marks):
    entry = tenant.engine.add_network(tenant.name)
    tenant.engine.on("GET", "/networks", Answer(200, [{**entry, "Labels": marks}]))
    assert outcome(tenant.driver.ensure(tenant.id)) == ("permanent", "OWNERSHIP_CONFLICT")


def test_a_duplicate_member_cannot_smuggle_labels_in(tenant):
    text = json.dumps([{"Name": tenant.name, "Id": "a" * 64, "Driver": "bridge", "Labels": {}}])
    text = text.replace('"Labels": {}', f'"Labels": {{}}, "Labels": {json.dumps(labels(tenant.id))}')
    tenant.engine.on("GET", "/networks", Answer(200, text))
    assert outcome(tenant.driver.ensure(tenant.id)) == INVALID


def test_odd_networks_of_others_do_not_matter(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    [ours] = tenant.engine.networks.values()
    odd = {"Name": "odd", "Id": None, "Labels": "x", "Driver": 7, "Unknown": {"a": [1, None, {"b": 2.5}]}}
    tenant.engine.on("GET", "/networks", lambda _: Answer(200, [odd, {**ours, "Unknown": [odd]}]))
    assert tenant.driver.ensure(tenant.id).ok


@pytest.mark.parametrize("change", [{"Id": "b" * 64}, {"Name": "other"}, {"Containers": []}, {"Containers": "none"}])
def test_an_answer_about_another_network_is_not_acted_on(tenant, change):
    assert tenant.driver.ensure(tenant.id).ok
    [ours] = tenant.engine.networks.values()
    tenant.engine.on("GET", "/networks/[^/]+", lambda _: Answer(200, {**ours, **change}))
    assert outcome(tenant.driver.delete(tenant.id)) == INVALID
    assert tenant.engine.count("DELETE") == 0


@pytest.mark.parametrize("containers", [None, {}])
def test_a_network_without_endpoints_may_say_so_in_two_ways(tenant, containers):
    assert tenant.driver.ensure(tenant.id).ok
    [ours] = tenant.engine.networks.values()
    tenant.engine.on("GET", "/networks/[^/]+", lambda _: Answer(200, {**ours, "Containers": containers}))
    assert tenant.driver.delete(tenant.id).ok


def test_names_are_escaped_in_paths(tenant):
    name = "a/../../networks?x=1#y %"
    tenant.engine.add_volume(name, labels(tenant.id))
    assert tenant.driver.delete(tenant.id).ok
    assert not tenant.engine.volumes


# Time (K74).


@pytest.mark.parametrize("question", QUESTIONS.values())
def test_a_stall_ends_at_the_calls_deadline_and_names_the_stage(tenant, question):
    assert tenant.driver.ensure(tenant.id).ok
    tenant.driver.say("timeout 300")
    tenant.engine.on("GET", question, Answer(200, [], stall=threading.Event()))
    seen = tenant.driver.delete(tenant.id)
    assert outcome(seen) == UNAVAILABLE
    assert (seen.dependency, seen.cause) == ("docker", "timeout")
    assert 250 <= seen.elapsedMs < 2000
    assert any(word in seen.message for word in ("looking for", "reading network"))
    assert "(stage answer)" in seen.message
    assert tenant.engine.socket in seen.message


def test_an_answer_that_trickles_ends_at_the_deadline_too(tenant):
    tenant.driver.say("timeout 300")
    tenant.engine.on("GET", "/networks", Answer(200, b"[" + b" " * 1000 + b"]", pieces=0.05))
    seen = tenant.driver.ensure(tenant.id)
    assert outcome(seen) == UNAVAILABLE
    assert seen.cause == "timeout" and seen.elapsedMs < 2000


def test_a_slow_engine_is_given_its_time(tenant):
    tenant.engine.on("POST", "/networks/create", Answer(201, {"Id": "x"}, delay=1.0, effect=True))
    seen = tenant.driver.ensure(tenant.id)
    assert seen.ok and seen.elapsedMs >= 1000


def test_without_time_the_engine_is_not_asked(tenant):
    tenant.driver.say("timeout 0")
    seen = tenant.driver.ensure(tenant.id)
    assert outcome(seen) == UNAVAILABLE and seen.cause == "timeout"
    assert tenant.engine.requests == []


def test_a_listener_that_accepts_nothing_ends_at_the_deadline(folder):
    listener = silent(folder / "engine.sock")
    driver = Compute(folder / "engine.sock")
    driver.say("timeout 300")
    seen = driver.preflight()
    assert outcome(seen) == ("unavailable", "DOCKER_ENGINE_UNAVAILABLE")
    assert seen.cause == "timeout" and seen.elapsedMs < 2000
    driver.close()
    listener.close()


@pytest.mark.parametrize("path", ["/_ping", *QUESTIONS.values()])
def test_the_watch_has_its_turns_and_may_end_every_wait(tenant, path):
    if path != "/_ping":
        assert tenant.driver.ensure(tenant.id).ok
    tenant.driver.say("watch 300")
    tenant.engine.on("GET", path, Answer(200, [], stall=threading.Event()))
    seen = tenant.driver.delete(tenant.id)
    assert outcome(seen) == ("cancelled", "PROBE_CANCELLED")
    assert seen.turns >= 3 and seen.elapsedMs < 2000
    # The next operation begins afresh.
    tenant.engine.off()
    tenant.driver.say("watch 0")
    assert tenant.driver.delete(tenant.id).ok


def test_the_connection_is_kept(tenant):
    """One connection for a process's requests, made anew where the Engine closed it."""
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.engine.connected == 1
    tenant.engine.stop()
    tenant.engine.start()
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.engine.connected == 1
