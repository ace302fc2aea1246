# SPDX-License-Identifier: MIT
"""Requests to an API server on 127.0.0.1, and what its refusals are raised as."""

import http.client
import json
import ssl


class KubernetesError(AssertionError):
    """An answer that is no success; `status` and the Status object's `reason` and `message`."""

    def __init__(self, what, status, body):
        self.status = status
        self.reason = body.get("reason") if isinstance(body, dict) else None
        self.message = body.get("message") if isinstance(body, dict) else str(body)
        super().__init__(f"{what}: {status} {self.reason}: {self.message}")


class Connection:
    """Requests to one server as one user."""

    def __init__(self, port, authority, certificate=None, token=None):
        self._port = port
        self._token = token
        self._context = ssl.create_default_context(cafile=str(authority))
        if certificate is not None:
            self._context.load_cert_chain(*map(str, certificate))

    def request(self, method, path, body=None, content_type=None, timeout=60.0):
        """(status, parsed body or text)"""
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        content = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        if content is not None:
            headers["Content-Type"] = content_type or "application/json"
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=timeout, context=self._context)
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text
