"""Failed tests show the log of the API server they used; the official Python client, connected to one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes import client, config

from tests.conformance.server import ApiServer, api_server, pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="module")
def api(server: ApiServer) -> Iterator[client.ApiClient]:
    settings = client.Configuration()
    config.load_kube_config(str(server.kubeconfig), client_configuration=settings)
    with client.ApiClient(settings) as connected:
        yield connected


@pytest.fixture
def namespace(api: client.ApiClient) -> str:
    wanted = client.V1Namespace(metadata=client.V1ObjectMeta(generate_name="python-"))
    return str(client.CoreV1Api(api).create_namespace(wanted).metadata.name)
