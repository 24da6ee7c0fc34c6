import pytest
from neardup_daemon.settings.environment import ignored_variables
from neardup_daemon.settings.known import known_settings
from neardup_daemon.settings.settings import Settings

KNOWN = known_settings(Settings)


def of_service(name: str) -> dict[str, str]:
    """Return what Kubernetes sets in every pod beside a Service with a named port."""
    return {
        f"{name}_SERVICE_HOST": "10.0.0.1",
        f"{name}_SERVICE_PORT": "9464",
        f"{name}_SERVICE_PORT_HTTP_METRICS": "9464",
        f"{name}_PORT": "tcp://10.0.0.1:9464",
        f"{name}_PORT_9464_TCP": "tcp://10.0.0.1:9464",
        f"{name}_PORT_9464_TCP_PROTO": "tcp",
        f"{name}_PORT_9464_TCP_PORT": "9464",
        f"{name}_PORT_9464_TCP_ADDR": "10.0.0.1",
    }


@pytest.mark.parametrize(
    "name",
    [
        "NEARDUP",
        "NEARDUP_STREAM",
        "NEARDUP_STREAM_REDIS",
        "NEARDUP_REDIS",
        "NEARDUP_KAFKA",
        "NEARDUP_HTTP",
        "NEARDUP_INDEX_0",
        "NEARDUP_STREAM__CANARY",
    ],
)
def test_the_variables_of_a_service_set_nothing_and_stop_nothing(name: str) -> None:
    environ = of_service(name)

    assert Settings.load(environ=environ) == Settings()
    assert ignored_variables(environ, KNOWN) == sorted(environ)


@pytest.mark.parametrize(
    "variable", ["NEARDUP_UNRELATED", "NEARDUP_STREAM_HOME", "NEARDUP_", "NEARDUP_X_Y_Z"]
)
def test_a_variable_that_names_no_section_is_ignored(variable: str) -> None:
    assert Settings.load(environ={variable: "x"}) == Settings()
    assert ignored_variables({variable: "x", "NEARDUP_HTTP__PORT": "1", "HOME": "/"}, KNOWN) == [variable]


def test_a_setting_is_never_taken_for_that_of_a_service() -> None:
    settings = Settings.load(
        environ={"NEARDUP_HTTP__PORT": "9000", "NEARDUP_STREAM_PORT": "tcp://10.0.0.1:1"}
    )

    assert settings.http.port == 9000
