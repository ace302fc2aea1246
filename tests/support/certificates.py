# SPDX-License-Identifier: MIT
"""Certificates as a test wants them: an authority of its own, or that of a cluster, and what it signs.

    authority = Authority.create(folder, "somebody else")
    key_and_certificate = authority.issue("server", "/CN=server", names=("IP:127.0.0.1",))
    expired = authority.issue("late", "/O=team/CN=user", begins=-7200, ends=-3600)
"""

import pathlib
import subprocess
import time
from dataclasses import dataclass

SETTINGS = """
[ca]
default_ca = test
[test]
database = {folder}/issued.txt
new_certs_dir = {folder}
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
x509_extensions = extensions
[any]
organizationName = optional
commonName = supplied
[extensions]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth, clientAuth
{names}
"""
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Certificate:
    """Paths of PEM files. `chain` is both in one file, as Python's ssl takes them."""

    certificate: pathlib.Path
    key: pathlib.Path

    @property
    def chain(self):
        path = self.key.with_suffix(".pem")
        path.write_bytes(self.certificate.read_bytes() + self.key.read_bytes())
        path.chmod(0o600)
        return path


def _openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"openssl {arguments[0]} failed:\n{done.stderr}"


def _moment(seconds_from_now):
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds_from_now))


class Authority:
    def __init__(self, certificate, key, folder):
        """`folder` is where what it issues goes; it must be the test's own."""
        self.certificate = pathlib.Path(certificate)
        self.key = pathlib.Path(key)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def create(cls, folder, name="test authority"):
        made = cls(pathlib.Path(folder) / "ca.crt", pathlib.Path(folder) / "ca.key", folder)
        _openssl("req", "-x509", *NEW_KEY, "-days", "30", "-subj", f"/CN={name}", "-keyout", made.key, "-out", made.certificate)
        return made

    def issue(self, name, subject, names=(), begins=-3600, ends=86400):
        """Signs a new key's certificate; `begins` and `ends` are seconds from now, `names` like "DNS:x" or "IP:1.2.3.4"."""
        paths = {suffix: self.folder / f"{name}.{suffix}" for suffix in ("crt", "key", "csr", "cnf")}
        (self.folder / "issued.txt").touch()
        alternatives = f"subjectAltName = {', '.join(names)}" if names else ""
        paths["cnf"].write_text(SETTINGS.format(folder=self.folder, names=alternatives))
        _openssl("req", "-new", *NEW_KEY, "-subj", subject, "-keyout", paths["key"], "-out", paths["csr"])
        _openssl("ca", "-batch", "-notext", "-config", paths["cnf"], "-cert", self.certificate, "-keyfile", self.key,
                 "-startdate", _moment(begins), "-enddate", _moment(ends), "-in", paths["csr"], "-out", paths["crt"])  # fmt: skip
        return Certificate(paths["crt"], paths["key"])
