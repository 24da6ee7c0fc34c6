"""Open a namespace: check its schema and policy, or create it.

What changes stored bytes forms the schema. The first daemon writes it down; one that differs from what is
written refuses to start and says what differs, because it would find nothing of what the others stored.

What changes verdicts forms the policy, which has a number. A daemon that differs from what is written under
its number refuses to start: of two matching pages, one would say so and the other would not. One with a new
number writes its policy down, and from then on those with lower numbers are refused.
"""

import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from time import time

from neardup_stream.errors import ConfigError, CorruptData, StoreUnavailable
from neardup_stream.hashing.handles import KEY_BYTES
from neardup_stream.stores.cluster_store import DECIDED, TRIMMED, CellAddress, ClusterStore
from neardup_stream.stores.guarded_clusters import INDEX, REMEDY, GuardedClusters, IndexLost, create_index
from neardup_stream.stores.index_identity import TIME_DIGITS, Policy, new_token
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.index_formats import differences_of, explain_difference
from neardup_stream.stores.redis.keys import ClusterKeys, epochs_key, meta_key
from neardup_stream.version import __version__

__all__ = [
    "Namespace",
    "begin_to_correct",
    "check_index",
    "check_policy",
    "enter_index",
    "install",
    "installed_schema_id",
    "is_installed",
    "meta_loss",
    "open_namespace",
    "plan_successor",
    "read_namespace",
    "require_corrected",
    "schema_id",
]

_logger = logging.getLogger(__name__)

Schema = Mapping[str, str | int]

_IDENTITY = "token", "created", "generation", "version_floor"
_TOKEN, _IS_CREATED, _GENERATION, _VERSION_FLOOR = _IDENTITY
"""Fields of the meta record: what distinguishes this index from others of the same name."""

_CREATED_BY = "created_by"

_CORRECTED_TO = "corrected_to"
"""Field of the meta record: token of the index of which subscribers have corrections, some at least."""

_GENERATION_DIGITS = 6
_FORMER_TIME = "0" * TIME_DIGITS

_POLICY = "policy:"
"""Fields of the meta record: each policy under its number."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """What is stored under one namespace.

    Attributes:
        schema_id: part of every key: names the schema and, once the index was recovered, how often.
        handle_key: makes the handles of this index.
        token: distinguishes this index from every other one, also from later ones of the same name, which
            have greater tokens; empty for one that a former release made and no daemon has entered since.
        is_created: whether the token was stored beside the clusters.
        version_floor: page versions up to here may have been published before the index was recovered.
        created_by: the release that made the index; empty for the first ones, which did not say.
    """

    schema_id: str
    handle_key: bytes
    token: str = ""
    is_created: bool = False
    version_floor: int = 0
    created_by: str = ""

    @property
    def is_being_created(self) -> bool:
        """Whether this release began to make it: nothing is decided, and its clusters may lack the token."""
        return bool(self.event_token) and not self.is_created

    @property
    def event_token(self) -> str:
        """What events say of the index: its token, or nothing where a former release made it.

        Those of its events that are out already say nothing either, and both belong to one index.
        """
        return "" if self.token.startswith(_FORMER_TIME) else self.token


def schema_id(schema: Schema) -> str:
    """Short name of a schema: equal schemas, equal names."""
    return blake2b(_canonical(schema), digest_size=3).hexdigest()


async def open_namespace(client: RedisClient, namespace: str, schema: Schema, policy: Policy) -> Namespace:
    """Enter a namespace: create its index and bring its policy into force where these are new.

    An index of another schema in which nothing was ever decided, as a first start with other settings leaves
    it, is created anew.

    Raises:
        ConfigError: it was created with another schema, or has another policy; the message names every
            difference. Or a recovery of it did not end, or it lost its meta record.
        CorruptData: its meta record is not ours.
        StoreUnavailable: what was written of it is gone.
    """
    meta = meta_key(namespace)
    await require_corrected(client, namespace)
    if lost := await meta_loss(client, namespace, schema):
        raise lost
    await _discard_empty(client, namespace, schema)
    # Before anything is written: an index that is refused stays as it is.
    found = await read_namespace(client, namespace, schema)
    # A release that says that it made an index gave it a token: where that is missing, it was lost.
    is_of_former_release = found is not None and not found.created_by
    await client.execute("HSETNX", meta, _TOKEN, new_token(0 if is_of_former_release else int(1000 * time())))
    if await client.execute("HSETNX", meta, "schema", _canonical(schema)):
        await client.execute("HSETNX", meta, _CREATED_BY, __version__)
    await client.execute("HSETNX", meta, "handle_key", secrets.token_bytes(KEY_BYTES))
    created = await read_namespace(client, namespace, schema)
    if created is None or not created.token:
        raise StoreUnavailable(f"Redis: {meta} is gone again; see that no replica without it took over")
    await check_policy(client, namespace, policy)
    if await client.execute("HSETNX", meta, f"{_POLICY}{policy.number}", _canonical(policy.settings)):
        _logger.info("policy_in_force", extra={"fields": {"number": policy.number, **policy.settings}})
    await check_policy(client, namespace, policy)
    return created


async def meta_loss(client: RedisClient, namespace: str, schema: Schema) -> ConfigError | None:
    """Return an error if keys of an index lack its meta record, as where the master of that alone lost it."""
    index = ClusterKeys(namespace=namespace, schema_id=schema_id(schema), slot_bits=0).of(INDEX)
    # First what is written later: another daemon may create the index meanwhile.
    counts = [await client.execute("HLEN", key) for key in (epochs_key(namespace), index)]
    meta = meta_key(namespace)
    if not any(counts) or await client.execute("HLEN", meta):
        return None
    return ConfigError(f"Redis: {meta} is not there any more, and the index that it named is; {REMEDY}")


async def _discard_empty(client: RedisClient, namespace: str, schema: Schema) -> None:
    """Delete an index of another schema in which nothing was decided; stop daemons that have opened it."""
    meta = meta_key(namespace)
    stored = await client.execute("HGET", meta, "schema")
    if stored is None or stored == _canonical(schema):
        return
    name = await installed_schema_id(client, namespace)
    if name is None:
        return
    keys = ClusterKeys(namespace=namespace, schema_id=name, slot_bits=0)
    if any([await client.execute("HLEN", keys.of(CellAddress(table, b""))) for table in (DECIDED, TRIMMED)]):
        return
    await client.execute("DEL", keys.of(INDEX))
    await client.execute("HDEL", meta, "schema", "handle_key", _CREATED_BY, _CORRECTED_TO, *_IDENTITY)
    _logger.info("empty_index_discarded", extra={"fields": {"schema": name}})


async def read_namespace(client: RedisClient, namespace: str, schema: Schema) -> Namespace | None:
    """Return the index of a namespace, None if there is none, or a part of its meta record is not written.

    Raises:
        ConfigError: it was created with another schema; the message names every difference and the remedy.
        CorruptData: its meta record is not ours.
    """
    meta = meta_key(namespace)
    stored, handle_key, created_by = await client.execute("HMGET", meta, "schema", "handle_key", _CREATED_BY)
    if stored is None:  # it is being created, or this was lost meanwhile
        return None
    stored_schema = _loaded(stored, f"{meta} in Redis does not hold a schema")
    release = (created_by or b"").decode()
    if complaint := explain_difference(namespace, stored_schema, schema, release):
        raise ConfigError(complaint)
    if handle_key is None:  # it is being created
        return None
    found = _namespace(schema_id(schema), handle_key, await client.execute("HMGET", meta, *_IDENTITY))
    return replace(found, created_by=release)


def _namespace(schema_name: str, handle_key: bytes, identity: Sequence[bytes | None]) -> Namespace:
    token, is_created, generation, version_floor = identity
    return Namespace(
        schema_id=f"{schema_name}.{generation.decode()}" if generation else schema_name,
        handle_key=handle_key,
        token=(token or b"").decode(),
        is_created=is_created is not None,
        version_floor=int(version_floor or 0),
    )


async def is_installed(client: RedisClient, namespace: str, token: str) -> bool:
    """Return whether this is the index that the meta record of a namespace names."""
    stored: bytes | None = await client.execute("HGET", meta_key(namespace), _TOKEN)
    return stored == token.encode()


async def enter_index(
    client: RedisClient, namespace: str, found: Namespace, clusters: ClusterStore
) -> Namespace:
    """Store the token of a new index beside its clusters; make sure that an older index is still there.

    Raises:
        ConfigError: it lost what was decided; the message names the remedy.
    """
    if not found.is_created:
        await create_index(clusters, found.token)
        await client.execute("HSET", meta_key(namespace), _IS_CREATED, "1")
    await check_index(found, clusters)
    return replace(found, is_created=True)


async def check_index(found: Namespace, clusters: ClusterStore) -> None:
    """Require the token of an index beside its clusters.

    Raises:
        ConfigError: it lost what was decided; the message names the remedy.
    """
    try:
        await GuardedClusters(clusters, found.token).check()
    except IndexLost as error:
        raise ConfigError(str(error)) from error


async def plan_successor(client: RedisClient, namespace: str, schema: Schema, above: str) -> Namespace:
    """Plan an index that is to take the place of the one under a namespace; nothing is written.

    Args:
        client: of the server.
        namespace: what the operator calls it.
        schema: of the new index.
        above: a token that the new one must exceed, besides that of the index that is there, and of one to
            which subscribers are corrected.
    """
    known = await client.execute("HMGET", meta_key(namespace), _TOKEN, _CORRECTED_TO)
    token = new_token(int(1000 * time()), max(above, *((each or b"").decode() for each in known)))
    return Namespace(
        schema_id=f"{schema_id(schema)}.{token[-_GENERATION_DIGITS:]}",
        handle_key=secrets.token_bytes(KEY_BYTES),
        token=token,
        is_created=True,
    )


async def installed_schema_id(client: RedisClient, namespace: str) -> str | None:
    """Return `Namespace.schema_id` of the index under a namespace; None where no meta record names one."""
    stored, generation = await client.execute("HMGET", meta_key(namespace), "schema", _GENERATION)
    try:
        found = schema_id(_loaded(stored, ""))  # type: ignore[arg-type] # JSON
    except CorruptData:
        return None
    return f"{found}.{generation.decode()}" if generation else found


async def begin_to_correct(client: RedisClient, namespace: str, successor: Namespace) -> None:
    """Note that subscribers are corrected to an index from now on: they ignore events of any earlier one.

    Daemons that were started on the former index meanwhile find its token gone, and write nothing more.
    """
    meta = meta_key(namespace)
    await client.execute("HSET", meta, _CORRECTED_TO, successor.token)
    if former := await installed_schema_id(client, namespace):
        await client.execute("DEL", ClusterKeys(namespace=namespace, schema_id=former, slot_bits=0).of(INDEX))


async def require_corrected(client: RedisClient, namespace: str) -> None:
    """Require that subscribers follow the index under a namespace.

    Raises:
        ConfigError: they have corrections to another one, which is not installed: a recovery did not end.
    """
    token, corrected_to = await client.execute("HMGET", meta_key(namespace), _TOKEN, _CORRECTED_TO)
    if corrected_to is not None and corrected_to > (token or b""):
        raise ConfigError(
            f"a recovery of redis.namespace {namespace!r} did not end, and subscribers have some of its"
            f" corrections: they would ignore events of the index that is there; {REMEDY}"
        )


async def install(client: RedisClient, namespace: str, schema: Schema, successor: Namespace) -> None:
    """Put an index in the place of the one under a namespace. Safe to repeat.

    Raises:
        ConfigError: subscribers are corrected to another one meanwhile.
    """
    meta = meta_key(namespace)
    corrected_to = await client.execute("HGET", meta, _CORRECTED_TO)
    if corrected_to is not None and corrected_to > successor.token.encode():
        raise ConfigError(f"another recovery of redis.namespace {namespace!r} has begun: wait for it")
    fields: dict[str, bytes | str | int] = {
        "schema": _canonical(schema),
        "handle_key": successor.handle_key,
        _TOKEN: successor.token,
        _IS_CREATED: "1",
        _CREATED_BY: __version__,
        _GENERATION: successor.token[-_GENERATION_DIGITS:],
        _VERSION_FLOOR: successor.version_floor,
    }
    await client.execute("HSET", meta, *(each for pair in fields.items() for each in pair))


async def check_policy(client: RedisClient, namespace: str, policy: Policy) -> None:
    """Require that pages may be decided by this policy: it is in force, or its number is new.

    Raises:
        ConfigError: others judge by another policy; the message names every difference and the remedy.
        CorruptData: the meta record is not ours.
    """
    meta = meta_key(namespace)
    fields = {field.decode(): value for field, value in (await client.execute("HGETALL", meta)).items()}
    try:
        numbers = [int(field.removeprefix(_POLICY)) for field in fields if field.startswith(_POLICY)]
    except ValueError as error:
        raise CorruptData(f"{meta} in Redis holds a policy without a number: {error}") from error
    latest = max(numbers, default=policy.number)
    if policy.number < latest:
        raise ConfigError(
            f"pages under redis.namespace {namespace!r} are judged by policy {latest} now, and here"
            f" verdict.policy is {policy.number}: these settings are out of date; use those of policy"
            f" {latest}, or stop all daemons and set verdict.policy = {latest + 1}, to judge by these"
        )
    if policy.number in numbers:
        stored = _loaded(fields[f"{_POLICY}{latest}"], f"{meta} in Redis does not hold a policy")
        if differences := list(differences_of(stored, policy.settings)):
            raise ConfigError(
                f"pages under redis.namespace {namespace!r} are judged with other settings:"
                f" {'; '.join(differences)}; use those, or stop all daemons and set verdict.policy ="
                f" {latest + 1} with these, to judge pages by these from now on"
            )


def _canonical(settings: Mapping[str, object]) -> bytes:
    return json.dumps(settings, sort_keys=True, separators=(",", ":")).encode()


def _loaded(stored: bytes | None, complaint: str) -> dict[str, object]:
    try:
        return dict(json.loads(stored or b""))
    except (ValueError, TypeError) as error:
        raise CorruptData(f"{complaint}: {error}") from error
