"""Passwords that change while a client lives: aiokafka's clients keep the one they were made with."""

from aiokafka.client import AIOKafkaClient

from neardup_stream.credentials import Password, password_of
from neardup_stream.streams.kafka.config import KafkaConnection

__all__ = ["follow_password"]


def follow_password(client: AIOKafkaClient, connection: KafkaConnection) -> None:
    """Have a client read its password anew for each connection, if it comes from a file."""
    if connection.login is not None and connection.login.password_file:
        client.password = password_of(connection.login)
        client.__class__ = _FollowingClient  # consumers and producers make their client themselves


class _FollowingClient(AIOKafkaClient):  # type: ignore[misc] # aiokafka has no types
    password: Password

    @property
    def _sasl_plain_password(self) -> str:
        """Looked up by aiokafka whenever it connects."""
        return self.password.read()
