"""Reread passwords while a client lives; aiokafka's clients keep the one they were created with."""

from aiokafka.client import AIOKafkaClient

from neardup_stream.credentials import password_of
from neardup_stream.streams.kafka.aiokafka_compat import read_password_again
from neardup_stream.streams.kafka.config import KafkaConnection

__all__ = ["follow_password"]


def follow_password(client: AIOKafkaClient, connection: KafkaConnection) -> None:
    """Make a client read its password again for each connection, if it comes from a file."""
    if connection.login is not None and connection.login.password_file:
        read_password_again(client, password_of(connection.login))
