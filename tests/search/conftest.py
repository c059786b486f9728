from tests.postgres.conftest import bare_server, server  # noqa: F401
