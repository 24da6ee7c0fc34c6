"""How pages are read and fingerprinted, as set: what every command that takes pages needs, and no store."""

from daemon.settings import Settings
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.preparation import Preparation
from neardup_stream.pipeline.scopes import EVERYTHING, scope_by
from neardup_stream.wire.pages import PageDecoder

__all__ = ["build_preparation", "simhash_config"]


def simhash_config(settings: Settings) -> SimhashConfig:
    """How pages are fingerprinted."""
    return SimhashConfig(window_tokens=settings.text.window_tokens, min_tokens=settings.verdict.min_tokens)


def build_preparation(settings: Settings, meters: PipelineMeters) -> Preparation:
    """Everything that a page needs no store for."""
    return Preparation(
        decoder=PageDecoder(
            settings.limits.config(), settings.page.fields.mapping(), frozenset(settings.pages.status)
        ),
        extraction=settings.text.extraction,
        simhash=simhash_config(settings),
        sketch=None,
        scope_of=scope_by(EVERYTHING),
        meters=meters,
    )
