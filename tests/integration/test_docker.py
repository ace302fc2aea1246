# SPDX-License-Identifier: MIT
"""The Docker Compute Driver on real engines: Docker's Engine and Podman's service, in the same tests (K111)."""

import os
import pwd
import types

import pytest

from support.compute import Compute, labels, network_name, new_namespace, outcome
from support.engine import Engine, EngineError

OTHER = "ns_00000000-0000-4000-8000-000000000000"


@pytest.fixture
def compute():
    """compute(engine) opens a Driver; compute(engine, user=…) in another user's process."""
    made = []

    def start(engine, **more):
        made.append(Compute(engine.socket, **more))
        assert getattr(made[-1].opening, "opened", False), made[-1].opening
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def tenant(any_engine, compute):
    """A new Namespace on an engine: its id, its network's name, the engine and an open Driver."""
    namespace = new_namespace()
    return types.SimpleNamespace(
        id=namespace, name=network_name(namespace), engine=any_engine, driver=compute(any_engine)
    )


def named(engine, name):
    return [entry for entry in engine.networks(None) if entry["Name"] == name]


def test_preflight_is_content(any_engine, compute):
    seen = compute(any_engine).preflight()
    assert seen.ok, seen
    assert seen.warnings == []


def test_ensure_makes_one_labelled_bridge_network_and_repeats_without_a_change(tenant):
    seen = tenant.driver.ensure(tenant.id)
    assert seen.ok, seen
    assert seen.namespaceId == tenant.id
    [network] = named(tenant.engine, tenant.name)
    assert network["Driver"] == "bridge"
    assert network["Labels"] == labels(tenant.id)
    assert tenant.driver.ensure(tenant.id).ok
    assert [entry["Id"] for entry in named(tenant.engine, tenant.name)] == [network["Id"]]


def test_two_namespaces_have_two_networks(tenant):
    other = new_namespace()
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.driver.ensure(other).ok
    assert tenant.driver.delete(tenant.id).ok
    assert named(tenant.engine, network_name(other))
    assert not named(tenant.engine, tenant.name)


@pytest.mark.parametrize("installation", ["ins_probe", None], ids=["ours", "older"])
def test_a_network_that_a_crash_left_behind_is_adopted(tenant, installation):
    """K110; older versions wrote no label for the Installation."""
    identity = tenant.engine.create_network(tenant.name, labels(tenant.id, installation))
    assert tenant.driver.ensure(tenant.id).ok
    [network] = named(tenant.engine, tenant.name)
    assert (network["Id"], network["Labels"]) == (identity, labels(tenant.id, installation))
    assert tenant.driver.delete(tenant.id).ok
    assert not named(tenant.engine, tenant.name)


FOREIGN = {
    "no labels": (lambda namespace: {}, "managed"),
    "not managed": (lambda namespace: {**labels(namespace), "org.openclaw.enterprise.managed": "false"}, "managed"),
    "other driver": (
        lambda namespace: {**labels(namespace), "org.openclaw.enterprise.compute-driver": "kubernetes"},
        "compute-driver",
    ),
    "other namespace": (lambda namespace: labels(OTHER), "namespace-id"),
    "other installation": (lambda namespace: labels(namespace, "ins_other"), "installation-id"),
    "one label missing": (
        lambda namespace: {key: value for key, value in labels(namespace).items() if not key.endswith("namespace-id")},
        "namespace-id",
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_network_is_neither_adopted_nor_deleted(tenant, kind):
    """K107"""
    make, label = FOREIGN[kind]
    before = tenant.engine.create_network(tenant.name, make(tenant.id))
    tenant.engine.create_volume("kept", labels(tenant.id))
    for call in ("ensure", "delete", "observe_ensure", "observe_delete"):
        seen = getattr(tenant.driver, call)(tenant.id)
        assert outcome(seen) == ("permanent", "OWNERSHIP_CONFLICT")
        assert tenant.name in seen.message and str(tenant.engine.socket) in seen.message
        assert f"org.openclaw.enterprise.{label} " in seen.message
    [network] = named(tenant.engine, tenant.name)
    assert (network["Id"], network["Labels"]) == (before, make(tenant.id))
    # The check comes before anything is removed.
    assert [volume["Name"] for volume in tenant.engine.volumes()] == ["kept"]


def test_a_network_whose_name_only_contains_ours_is_somebody_elses(tenant):
    for name in (f"x{tenant.name}", f"{tenant.name}x"):
        tenant.engine.create_network(name)
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.driver.delete(tenant.id).ok
    assert {f"x{tenant.name}", f"{tenant.name}x"} <= {entry["Name"] for entry in tenant.engine.networks(None)}


def test_a_network_that_somebody_removed_is_made_again(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    tenant.engine.remove_network(tenant.name)
    assert outcome(tenant.driver.observe_ensure(tenant.id)) == ("pending", "DOCKER_NETWORK_MISSING")
    assert tenant.driver.ensure(tenant.id).ok
    assert len(named(tenant.engine, tenant.name)) == 1


def test_observing_changes_nothing(tenant):
    assert outcome(tenant.driver.observe_ensure(tenant.id)) == ("pending", "DOCKER_NETWORK_MISSING")
    assert not named(tenant.engine, tenant.name)
    assert tenant.driver.observe_delete(tenant.id).ok
    assert tenant.driver.ensure(tenant.id).ok
    assert tenant.driver.observe_ensure(tenant.id).ok
    seen = tenant.driver.observe_delete(tenant.id)
    assert outcome(seen) == ("pending", "DOCKER_NAMESPACE_PRESENT")
    assert "1 networks" in seen.message
    assert named(tenant.engine, tenant.name)
    tenant.engine.remove_network(tenant.name)
    tenant.engine.create_volume("left", labels(tenant.id))
    assert "1 volumes" in tenant.driver.observe_delete(tenant.id).message
    assert tenant.engine.volumes()


def test_delete_repeats(tenant):
    """K109"""
    assert tenant.driver.ensure(tenant.id).ok
    for _ in range(3):
        seen = tenant.driver.delete(tenant.id)
        assert seen.ok, seen
        assert seen.namespaceId == tenant.id
    assert not named(tenant.engine, tenant.name)


def create(engine, name, network=None, with_labels=None, volumes=()):
    """A container that was never started."""
    host = {"Binds": list(volumes)}
    if network:
        host["NetworkMode"] = network
    body = {"Image": "occ-test/busybox:latest", "Cmd": ["true"], "Labels": with_labels or {}, "HostConfig": host}
    return engine.call("POST", f"/containers/create?name={name}", body)["Id"]


def start(engine, name, network, with_labels=None):
    """A running container; the test image's default limits may be higher than this machine allows."""
    limits = [{"Name": "nofile", "Soft": 64, "Hard": 64}, {"Name": "nproc", "Soft": 64, "Hard": 64}]
    body = {
        "Image": "occ-test/busybox:latest",
        "Cmd": ["sleep", "1000000"],
        "Labels": with_labels or {},
        "HostConfig": {"NetworkMode": network, "Ulimits": limits},
    }
    created = engine.call("POST", f"/containers/create?name={name}", body)["Id"]
    engine.call("POST", f"/containers/{created}/start")
    return created


@pytest.mark.parametrize("network", ["there", "removed by hand"])
def test_delete_takes_containers_and_volumes_of_the_namespace(tenant, network):
    """K106: that the network is gone proves nothing."""
    if network == "there":
        assert tenant.driver.ensure(tenant.id).ok
    attached = tenant.name if network == "there" else None
    older = labels(tenant.id, None)
    create(tenant.engine, "ours-1", attached, labels(tenant.id), ["data:/data"])
    create(tenant.engine, "ours-2", None, older)
    tenant.engine.create_volume("ours.volume_1", older)
    foreign = {
        "other-namespace": labels(OTHER),
        "other-installation": labels(tenant.id, "ins_other"),
        "plain": {},
    }
    for name, marks in foreign.items():
        create(tenant.engine, name, None, marks)
        tenant.engine.create_volume(name, marks)
    seen = tenant.driver.delete(tenant.id)
    assert seen.ok, seen
    assert not named(tenant.engine, tenant.name)
    assert {entry["Names"][0].lstrip("/") for entry in tenant.engine.containers()} == set(foreign)
    # A volume without labels is not ours, whoever used it.
    assert {entry["Name"] for entry in tenant.engine.volumes()} == {*foreign, "data"}


def test_delete_removes_running_containers(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    start(tenant.engine, "running", tenant.name, labels(tenant.id))
    seen = tenant.driver.delete(tenant.id)
    assert seen.ok, seen
    assert not tenant.engine.containers() and not named(tenant.engine, tenant.name)


def test_delete_waits_for_a_foreign_container_and_names_it(tenant):
    """K70"""
    assert tenant.driver.ensure(tenant.id).ok
    start(tenant.engine, "somebodys", tenant.name)
    create(tenant.engine, "ours", tenant.name, labels(tenant.id))
    for _ in range(2):
        seen = tenant.driver.delete(tenant.id)
        assert outcome(seen) == ("pending", "DOCKER_NETWORK_IN_USE")
        assert tenant.name in seen.message and "somebodys" in seen.message
    assert named(tenant.engine, tenant.name)
    assert [entry["Names"] for entry in tenant.engine.containers()] == [["/somebodys"]]
    tenant.engine.call("DELETE", "/containers/somebodys?force=true")
    assert tenant.driver.delete(tenant.id).ok
    assert not named(tenant.engine, tenant.name)


def test_delete_waits_for_a_volume_that_a_foreign_container_uses(tenant):
    assert tenant.driver.ensure(tenant.id).ok
    tenant.engine.create_volume("shared", labels(tenant.id))
    create(tenant.engine, "somebodys", None, None, ["shared:/data"])
    seen = tenant.driver.delete(tenant.id)
    assert outcome(seen) == ("pending", "DOCKER_VOLUME_IN_USE")
    assert "shared" in seen.message
    tenant.engine.call("DELETE", "/containers/somebodys?force=true")
    assert tenant.driver.delete(tenant.id).ok
    assert not tenant.engine.volumes()


def test_processes_that_ensure_at_once_make_one_network(any_engine, compute):
    """K71, K78"""
    drivers = [compute(any_engine) for _ in range(4)]
    for _ in range(5):
        namespace = new_namespace()
        for driver in drivers:
            driver.say(f"ensure {namespace}")
        seen = [driver.answer() for driver in drivers]
        assert all(each.ok for each in seen), seen
        assert len(named(any_engine, network_name(namespace))) == 1


def test_processes_that_delete_at_once_all_succeed(any_engine, compute):
    """K109"""
    drivers = [compute(any_engine) for _ in range(4)]
    for _ in range(5):
        namespace = new_namespace()
        assert drivers[0].ensure(namespace).ok
        create(any_engine, "ours", network_name(namespace), labels(namespace))
        any_engine.create_volume("ours", labels(namespace))
        for driver in drivers:
            driver.say(f"delete {namespace}")
        seen = [driver.answer() for driver in drivers]
        # Whoever meets a removal that another one began looks again.
        assert all(each.ok or each.kind in ("pending", "retryable") for each in seen), seen
        assert drivers[0].delete(namespace).ok
        assert not named(any_engine, network_name(namespace))
        assert not any_engine.containers() and not any_engine.volumes()


def test_ensure_and_delete_at_once_end_in_one_or_none(any_engine, compute):
    drivers = [compute(any_engine) for _ in range(4)]
    for _ in range(5):
        namespace = new_namespace()
        for index, driver in enumerate(drivers):
            driver.say(f"{'delete' if index % 2 else 'ensure'} {namespace}")
        seen = [driver.answer() for driver in drivers]
        assert all(each.ok or each.kind in ("pending", "retryable") for each in seen), seen
        assert len(named(any_engine, network_name(namespace))) <= 1
        assert drivers[0].ensure(namespace).ok
        assert drivers[0].delete(namespace).ok


def twins(engine, namespace):
    """Two networks of one name, which Docker before API 1.44 makes when it is not asked to check. Oldest first."""
    made = []
    for _ in range(2):
        made.append(engine.create_network(network_name(namespace), labels(namespace), CheckDuplicate=False))
    assert len(named(engine, network_name(namespace))) == 2
    return made


@pytest.fixture
def twin_tenant(docker_engine, compute):
    if tuple(map(int, docker_engine.call("GET", "/version")["ApiVersion"].split("."))) >= (1, 44):
        pytest.skip("this Engine refuses a second network of the same name")
    namespace = new_namespace()
    return types.SimpleNamespace(
        id=namespace,
        name=network_name(namespace),
        engine=docker_engine,
        driver=compute(docker_engine),
        twins=twins(docker_engine, namespace),
    )


def test_of_two_networks_with_one_name_the_older_stays(twin_tenant):
    """K71"""
    assert outcome(twin_tenant.driver.observe_ensure(twin_tenant.id)) == ("pending", "DOCKER_NETWORK_DUPLICATED")
    assert twin_tenant.driver.ensure(twin_tenant.id).ok
    assert [entry["Id"] for entry in named(twin_tenant.engine, twin_tenant.name)] == [twin_tenant.twins[0]]


def attach(engine, name, network, with_labels):
    """A running container on a network that shares its name: Docker starts none there, but attaches one."""
    if not named(engine, "elsewhere"):
        engine.create_network("elsewhere")
    container = start(engine, name, "elsewhere", with_labels)
    engine.call("POST", f"/networks/{network}/connect", {"Container": container})
    return container


def test_of_two_networks_with_one_name_the_used_one_stays(twin_tenant):
    container = attach(twin_tenant.engine, "ours", twin_tenant.twins[1], labels(twin_tenant.id))
    assert twin_tenant.driver.ensure(twin_tenant.id).ok
    assert [entry["Id"] for entry in named(twin_tenant.engine, twin_tenant.name)] == [twin_tenant.twins[1]]
    assert [entry["Id"] for entry in twin_tenant.engine.containers()] == [container]


def test_two_used_networks_with_one_name_both_stay(twin_tenant):
    for index, identity in enumerate(twin_tenant.twins):
        attach(twin_tenant.engine, f"ours-{index}", identity, labels(twin_tenant.id))
    seen = twin_tenant.driver.ensure(twin_tenant.id)
    assert outcome(seen) == ("pending", "DOCKER_NETWORK_DUPLICATED")
    assert all(identity[:12] in seen.message for identity in twin_tenant.twins)
    assert len(named(twin_tenant.engine, twin_tenant.name)) == 2
    assert twin_tenant.driver.delete(twin_tenant.id).ok
    assert not named(twin_tenant.engine, twin_tenant.name)


def test_delete_removes_all_networks_of_the_name(twin_tenant):
    assert twin_tenant.driver.delete(twin_tenant.id).ok
    assert not named(twin_tenant.engine, twin_tenant.name)


@pytest.mark.parametrize("kind", ["docker", "podman"])
def test_an_exhausted_address_pool_is_retryable_and_named(kind, compute, folder):
    """K69"""
    settings = folder / "containers.conf"
    settings.write_text('[network]\ndefault_subnet_pools = [{"base" = "10.89.0.0/23", "size" = 24}]\n')
    engine = Engine(kind, {**os.environ, "OCC_ENGINE_POOL_SIZE": "16", "CONTAINERS_CONF": str(settings)})
    try:
        engine.start()
        driver = compute(engine)
        made = [new_namespace() for _ in range(8)]
        for namespace in made:
            seen = driver.ensure(namespace)
            if not seen.ok:
                break
        assert outcome(seen) == ("retryable", "DOCKER_ADDRESS_POOL_EXHAUSTED")
        assert network_name(namespace) in seen.message and str(engine.socket) in seen.message
        assert not named(engine, network_name(namespace))
        # Room again.
        assert namespace != made[0] and driver.delete(made[0]).ok
        assert driver.ensure(namespace).ok
    finally:
        engine.remove()


def test_an_existing_namespace_is_refused_without_asking_the_engine(fake_engine, compute):
    driver = compute(fake_engine)
    driver.say("existing theirs")
    seen = driver.ensure(OTHER)
    assert outcome(seen) == ("permanent", "EXISTING_NAMESPACE_UNSUPPORTED")
    assert "theirs" in seen.message
    assert fake_engine.requests == []
    # What was refused can be deleted.
    assert driver.delete(OTHER).ok


def test_a_user_who_may_not_connect_learns_which_group_may(any_engine, folder):
    """K73"""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    nobody = pwd.getpwnam("nobody").pw_uid
    any_engine.folder.chmod(0o755)
    mode = any_engine.socket.stat().st_mode
    any_engine.socket.chmod(0o660)
    driver = Compute(any_engine.socket, user=nobody)
    try:
        seen = driver.preflight()
        assert outcome(seen) == ("configuration", "DOCKER_ENGINE_UNAVAILABLE")
        assert seen.exit == 78
        assert "permission denied" in seen.message and " group " in seen.message
        assert str(any_engine.socket) in seen.message
        seen = driver.ensure(OTHER)
        assert outcome(seen) == ("retryable", "DOCKER_ENGINE_UNAVAILABLE")
        assert network_name(OTHER) in seen.message and str(any_engine.socket) in seen.message
    finally:
        driver.close()
        any_engine.socket.chmod(mode)
        any_engine.folder.chmod(0o700)


def test_the_driver_goes_on_after_the_engine_was_restarted(compute):
    engine = Engine("podman")
    namespace = new_namespace()
    try:
        engine.start()
        driver = compute(engine)
        assert driver.ensure(namespace).ok
        engine.stop()
        seen = driver.ensure(namespace)
        assert outcome(seen) == ("retryable", "DOCKER_ENGINE_UNAVAILABLE")
        engine.start()
        assert driver.ensure(namespace).ok
        assert driver.delete(namespace).ok
    finally:
        engine.remove()


def test_selecting_what_is_not_built_in(folder):
    socket = folder / "none.sock"
    for arguments, code in (
        ({"driver": "compute-elsewhere"}, "COMPUTE_DRIVER_UNAVAILABLE"),
        ({"mode": "production"}, "COMPUTE_DRIVER_REFUSED"),
    ):
        driver = Compute(socket, **arguments)
        assert outcome(driver.opening) == ("configuration", code)
        assert "compute-docker-development" in driver.opening.message
        driver.close()
    # With no folder for them, or none of this name in it.
    driver = Compute(socket, package="acme-compute")
    assert outcome(driver.opening) in (
        ("configuration", "DRIVER_FOLDER_MISSING"), ("configuration", "DRIVER_PACKAGE_MISSING"),
    )  # fmt: skip
    driver.close()
    driver = Compute("relative.sock")
    assert outcome(driver.opening) == ("configuration", "DOCKER_HOST_INVALID")
    driver.close()


def test_the_engine_keeps_what_it_refuses(docker_engine):
    """The fixture's own client: a refusal is an error, so that the tests above are about something."""
    with pytest.raises(EngineError, match="404"):
        docker_engine.remove_network("nothing-of-this-name")
