"""A PostgreSQL database with empty tables."""

from collections.abc import Iterator

import pytest

from tests.postgres import Cluster
from tests.unit.controller.conftest import migrate


@pytest.fixture(scope="session")
def leases_template(cluster: Cluster) -> str:
    cluster.create("leases")
    migrate(cluster.url("leases"))
    return "leases"


@pytest.fixture
def url(cluster: Cluster, leases_template: str) -> Iterator[str]:
    with cluster.database(leases_template) as made:
        yield made
