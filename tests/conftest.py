# SPDX-License-Identifier: MIT
"""Fixtures. What they hand out is in tests/support, one module a noun.

    cluster        session   a private PostgreSQL server with the platform's roles
    own_cluster    function  another one, for tests that stop, kill or configure the server
    database       function  a migrated database;  empty_database: one without a schema
    bootstrapped   function  a migrated database with an Installation; .key_file is the administrator's service key
    occctl         function  occctl("namespace", "list") on `bootstrapped` as its administrator -> Result
    configurations function  occctl configuration on a Namespace `acme` of `bootstrapped`, with a root of its own
    worker         function  worker("--poll-interval-ms=50", env={...}) starts occ-worker on `bootstrapped`
    docker_engine, podman_engine, any_engine     real engines of our own, emptied after each test
    kubernetes     function  the run's Kubernetes cluster, without what earlier tests left (session: kubernetes_session)
    kubernetes_proxy   function   in front of its API server: answers otherwise, cuts, stalls, records what was asked
    fake_engine    function  an Engine that says what the test tells it
    fake_kubernetes function fake_kubernetes() starts an API server of Kubernetes that does so too
    kubernetes_api function  kubernetes_api(kubeconfig) -> a client of lib/kubernetes/api in a process of its own
    scripted       function  an installed Driver that does what the test tells it to: worker(env=scripted.env)
    proxy          function  proxy(port) -> TcpProxy;   proxied: `bootstrapped` behind one
    pgbouncer      session   PgBouncer in transaction mode in front of `cluster`
    notify         function  the service manager's end of NOTIFY_SOCKET
    folder         function  a folder that every user may enter, with a short path

Everything here is private to the test process: its own ports, sockets and folders.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from support import tree  # noqa: E402
from support.certificates import Authority  # noqa: E402
from support.configurations import Configurations  # noqa: E402
from support.database import Database  # noqa: E402
from support.engine import Engine  # noqa: E402
from support.fake_engine import FakeEngine  # noqa: E402
from support.fake_kubernetes import FakeKubernetes  # noqa: E402
from support.kubernetes import Kubernetes  # noqa: E402
from support.kubernetes_api import KubernetesApi  # noqa: E402
from support.kubernetes_proxy import KubernetesProxy  # noqa: E402
from support.notify import NotifySocket  # noqa: E402
from support.pgbouncer import PgBouncer  # noqa: E402
from support.postgres import Cluster  # noqa: E402
from support.program import run  # noqa: E402
from support.scripted import Scripted  # noqa: E402
from support.tcp_proxy import TcpProxy  # noqa: E402
from support.worker import Worker  # noqa: E402

ADMINISTRATOR = "admin@example.test"


@pytest.fixture(scope="session")
def cluster():
    made = Cluster()
    try:
        made.create().start().create_roles()
        yield made
    finally:
        made.remove()


@pytest.fixture
def own_cluster():
    """A server for this test alone: it may be stopped, killed and restarted."""
    made = Cluster()
    try:
        made.create().start().create_roles()
        yield made
    finally:
        made.remove()


def _removed(database):
    try:
        yield database
    finally:
        database.drop()


@pytest.fixture
def empty_database(cluster):
    yield from _removed(Database.create(cluster))


@pytest.fixture(scope="session")
def migrated_template(cluster):
    made = Database.create(cluster, name="occ_template_migrated").migrate()
    made.close()
    return made


@pytest.fixture
def database(cluster, migrated_template):
    yield from _removed(Database.create(cluster, template=migrated_template.name))


def bootstrap(database, folder, **variables):
    """Runs occ-bootstrap on a migrated database; gives its Result. The files are folder/service-key.json, /password."""
    env = {
        "NODE_ENV": "development",
        "OCC_BOOTSTRAP_ADMIN_EMAIL": ADMINISTRATOR,
        "OCC_BOOTSTRAP_INSTALLATION_NAME": "Test Installation",
        "OCC_BOOTSTRAP_PASSWORD_FILE": folder / "password",
        "OCC_BOOTSTRAP_SERVICE_KEY_FILE": folder / "service-key.json",
        **database.environment(),
        **variables,
    }
    return run("occ-bootstrap", env=env)


@pytest.fixture(scope="session")
def bootstrapped_template(cluster, migrated_template):
    """One run of occ-bootstrap for all tests: (database, folder with the service key)."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="occ-bootstrap-", dir="/tmp"))
    made = Database.create(cluster, template=migrated_template.name, name="occ_template_bootstrapped")
    bootstrap(made, folder).ok()
    made.close()
    yield made, folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bootstrapped(cluster, bootstrapped_template, folder):
    template, outputs = bootstrapped_template
    made = Database.create(cluster, template=template.name)
    made.key_file = folder / "service-key.json"
    shutil.copy2(outputs / "service-key.json", made.key_file)
    yield from _removed(made)


@pytest.fixture
def folder():
    """/tmp/occ-XXXXXXXX, mode 0755: short enough for sockets, open to the user that a program is run as."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="occ-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def occctl(bootstrapped):
    """Runs occctl against `bootstrapped`, as its administrator unless env says else."""

    def call(*arguments, env=None, **more):
        variables = {"NODE_ENV": "development", "OCC_SERVICE_KEY_FILE": bootstrapped.key_file}
        variables.update(bootstrapped.environment())
        variables.update(env or {})
        return run("occctl", *arguments, env=variables, **more)

    return call


@pytest.fixture
def configurations(occctl, bootstrapped, folder):
    return Configurations(occctl, bootstrapped, folder)


@pytest.fixture
def worker(request):
    """Starts workers, ends them after the test, and fails it on anything they must never leave or write.

    worker(*flags, env={}, database=…, engine=…, user=…): `database` is `bootstrapped` unless said, `engine` the
    docker_engine; both only fill in variables that env does not name.
    """
    started = []

    def start(*flags, env=None, database=None, engine=None, user=None, **more):
        variables = dict(env or {})
        variables.setdefault("NODE_ENV", "development")
        if "OCC_DATABASE_URL" not in variables and "OCC_DATABASE_URL_FILE" not in variables:
            variables.update((database or request.getfixturevalue("bootstrapped")).environment())
        if "DOCKER_HOST" not in variables and "OCC_CONFIG_PATH" not in variables:
            variables["DOCKER_HOST"] = (engine or request.getfixturevalue("docker_engine")).host
        made = Worker(flags, variables, user, **more)
        started.append(made)
        return made

    yield start
    problems = []
    for made in reversed(started):
        try:
            made.close()
        except AssertionError as problem:
            problems.append(str(problem))
    assert not problems, "\n".join(problems)


def _engine(kind):
    made = Engine(kind)
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture(scope="session")
def docker_session():
    yield from _engine("docker")


@pytest.fixture(scope="session")
def podman_session():
    yield from _engine("podman")


def _emptied(engine):
    yield engine
    engine.clean()


@pytest.fixture
def docker_engine(docker_session):
    yield from _emptied(docker_session)


@pytest.fixture
def podman_engine(podman_session):
    yield from _emptied(podman_session)


@pytest.fixture(params=["docker", "podman"])
def any_engine(request):
    """The test runs twice: once with Docker's Engine and once with Podman's service."""
    return request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture(scope="session")
def kubernetes_session():
    """One for all processes of the run; whoever uses it without `kubernetes` cleans up alone."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a Kubernetes cluster")
    made = Kubernetes()
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture
def kubernetes(kubernetes_session):
    kubernetes_session.begin()
    yield kubernetes_session
    kubernetes_session.cleanup()


@pytest.fixture
def kubernetes_proxy(kubernetes):
    made = KubernetesProxy(kubernetes)
    yield made
    made.close()


@pytest.fixture
def fake_engine(folder):
    made = FakeEngine(folder / "fake.sock")
    yield made
    made.close()


@pytest.fixture(scope="session")
def fake_authority(tmp_path_factory):
    """(an Authority, a server's Certificate for 127.0.0.1 of it)"""
    made = Authority.create(tmp_path_factory.mktemp("authority"), "fake Kubernetes")
    return made, made.issue("server", "/CN=fake", names=("IP:127.0.0.1", "DNS:localhost"))


@pytest.fixture
def fake_kubernetes(folder, fake_authority):
    """fake_kubernetes() starts one, with what FakeKubernetes takes."""
    made = []

    def start(authority=fake_authority[0], certificate=fake_authority[1], **more):
        made.append(FakeKubernetes(folder / f"kubernetes-{len(made)}", authority, certificate, **more))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def kubernetes_api():
    """kubernetes_api(kubeconfig, context="test") starts a client's process; so does kubernetes_api.in_cluster(…)."""
    made = []

    def start(*arguments, make=KubernetesApi, **more):
        made.append(make(*arguments, **more))
        return made[-1]

    start.in_cluster = lambda *arguments: start(*arguments, make=KubernetesApi.in_cluster)
    yield start
    for each in made:
        each.close()


@pytest.fixture
def scripted(folder):
    """To be asked for before `worker`, so that the journal is looked at when the worker has ended."""
    made = Scripted(folder)
    yield made
    made.close()


@pytest.fixture
def proxy():
    """proxy(port) forwards to 127.0.0.1:port."""
    made = []

    def start(target):
        made.append(TcpProxy(target))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def proxied(bootstrapped, proxy):
    """(TcpProxy, variables that name `bootstrapped` through it)"""
    made = proxy(bootstrapped.cluster.port)
    return made, {"OCC_DATABASE_URL": bootstrapped.url(port=made.port)}


@pytest.fixture(scope="session")
def pgbouncer(cluster):
    made = PgBouncer(cluster)
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture
def notify(folder):
    made = NotifySocket(folder / "notify.sock")
    yield made
    made.close()


def pytest_report_header():
    return f"build: {tree.BUILD}" + ("" if os.geteuid() == 0 else " (not root)")
