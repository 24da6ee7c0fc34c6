"""Why settings are refused."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import ConfigError

__all__ = ["refusal"]


def refusal(
    overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None, config: Path | None = None
) -> str:
    with pytest.raises(ConfigError) as caught:
        Settings.load(config, overrides, environ or {})
    return str(caught.value)
