# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster, as modules on the controller see it. Private to this collection.

Where the cluster is and who we are there comes from kubernetes.core: the same options, K8S_AUTH_* variables and
kubeconfig.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.core import AnsibleK8SModule
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.exceptions import CoreException

from ._catalog.kinds import BY_NAME, MANAGER
from ._plan.patience import is_transient, wait_seconds

# What a request may raise.
REQUEST_ERRORS: tuple[type[Exception], ...] = ()
with suppress(ImportError):  # AnsibleK8SModule names the package that is missing
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    REQUEST_ERRORS = (ApiException, HTTPError)

NO_REQUEST = -1
GONE = 404
TOO_MANY = 429
MERGE_PATCH = "application/merge-patch+json"


class ClusterError(Exception):
    """A request that failed; the message names the path, the status and the API server's own reason.

    ``status`` is the HTTP status, 0 where there was no answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def cluster_module(options: Mapping[str, Any]) -> AnsibleK8SModule:
    """A module with kubernetes.core's options of authentication and ``options``."""
    return AnsibleK8SModule(argument_spec={**AUTH_ARG_SPEC, **options}, supports_check_mode=True)


class Cluster:
    """Reads by list calls, one a kind; writes by patches. All wait for an API server that is busy or restarts."""

    def __init__(self, module: AnsibleK8SModule) -> None:
        """Raises ClusterError where no cluster is configured or it cannot be reached."""
        self._client = _patiently(lambda: _connect(module))

    def list(self, kind: str, *, selector: str = "") -> list[dict[str, Any]]:
        """All objects of a kind in all namespaces, with ``selector`` those with these labels."""
        query = {"labelSelector": selector} if selector else {}
        items = self.get(BY_NAME[kind].path, query)["items"]
        return [{"kind": kind, "apiVersion": BY_NAME[kind].api_version, **item} for item in items]

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The JSON document at ``path``. Raises ClusterError."""
        return json.loads(self._patient("GET", path, query=dict(query or {})))

    def text(self, path: str, query: Mapping[str, Any] | None = None, *, timeout: float = 30.0) -> str:
        """The plain answer at ``path``: logs, or what a pod serves by the API server's proxy. Raises ClusterError.

        Asked once: whoever wants to know it from a pod asks again anyway.
        """
        return self._call("GET", path, query=dict(query or {}), timeout=timeout)

    def patch(self, path: str, body: Mapping[str, Any]) -> None:
        """Merges ``body`` (RFC 7386: null removes) as field manager gpu.fleet. Raises ClusterError."""
        self._patient("PATCH", path, query={"fieldManager": MANAGER}, body=dict(body))

    def delete(self, path: str) -> None:
        """Deletes the object at ``path``; one that is gone already is as good. Raises ClusterError."""
        try:
            self._patient("DELETE", path, query={})
        except ClusterError as error:
            if error.status != GONE:
                raise

    def evict(self, namespace: str, name: str) -> bool:
        """Asks for the eviction of a pod; False where a PodDisruptionBudget forbids it for now. Raises ClusterError.

        Asked once: whoever waits for the pod asks again.
        """
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"namespace": namespace, "name": name}}
        try:
            self._call("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", query={}, body=body)
        except ClusterError as error:
            if error.status not in (GONE, TOO_MANY):
                raise
            return error.status == GONE
        return True

    def _patient(self, method: str, path: str, *, query: dict[str, Any], body: Any = None) -> str:
        """The answer to a request that may be sent again."""
        return _patiently(lambda: self._call(method, path, query=query, body=body))

    def _call(self, method: str, path: str, *, query: dict[str, Any], body: Any = None, timeout: float = 30.0) -> str:
        params: dict[str, Any] = {"header_params": {"Accept": "*/*"}, "query_params": list(query.items())}
        if body is not None:
            params["content_type"] = MERGE_PATCH if method == "PATCH" else "application/json"
        try:
            answer = self._client.request(method, path, body=body, serialize=False, _request_timeout=timeout, **params)
            return answer.data.decode("utf-8", "replace")  # read only now: it may end in the middle
        except REQUEST_ERRORS as error:
            status = int(getattr(error, "status", 0) or 0)
            raise ClusterError(f"{method} {path}: {_reason(error)}", status) from error


def _connect(module: AnsibleK8SModule) -> Any:
    """The client of kubernetes.core, which asks for the server's version. Raises ClusterError."""
    try:
        return get_api_client(module=module).client
    except (CoreException, *REQUEST_ERRORS) as error:
        advice = "set K8S_AUTH_KUBECONFIG or KUBECONFIG"
        # Without a configuration there is nothing to wait for.
        status = NO_REQUEST if isinstance(error, CoreException) else int(getattr(error, "status", 0) or 0)
        raise ClusterError(f"the cluster cannot be reached: {_reason(error)}; {advice}", status) from error


def _patiently(request: Callable[[], Any]) -> Any:
    """What ``request`` gives; after a failure that may pass, it is called again. Raises ClusterError."""
    attempt = 0
    while True:
        try:
            return request()
        except ClusterError as error:
            cause: Any = error.__cause__
            pause = wait_seconds(attempt, getattr(cause, "headers", None))
            if pause is None or not is_transient(error.status):
                tries = f" ({attempt + 1} tries)" if attempt else ""
                raise ClusterError(f"{error}{tries}", error.status) from cause
        time.sleep(pause)
        attempt += 1


def _reason(error: Any) -> str:
    """Of a refused request the status with the API server's own message or the HTTP reason, else what went wrong."""
    if not hasattr(error, "status"):
        return str(error)
    try:
        return f"{error.status} {json.loads(error.body)['message']}"
    except (ValueError, KeyError, TypeError):
        return f"{error.status} {error.reason}"
