"""Reread passwords while a client lives; aiokafka's clients keep the one they were created with."""

from aiokafka.client import AIOKafkaClient

from neardup_stream.credentials import Password, password_of
from neardup_stream.streams.kafka.config import KafkaConnection

__all__ = ["follow_password"]


def follow_password(client: AIOKafkaClient, connection: KafkaConnection) -> None:
    """Make a client read its password again for each connection, if it comes from a file."""
    if connection.login is not None and connection.login.password_file:
        client.password = password_of(connection.login)
        client.__class__ = _FollowingClient  # consumers and producers create their client themselves


class _FollowingClient(AIOKafkaClient):  # type: ignore[misc] # aiokafka has no types
    password: Password

    @property
    def _sasl_plain_password(self) -> str:
        """Return the current password; aiokafka reads this attribute whenever it connects."""
        return self.password.read()
