"""How much a request needs for a message."""

import pytest

from neardup_stream.streams.kafka.producers import largest_message_bytes, request_bytes_for


@pytest.mark.parametrize("start_bytes", [1, 1 << 20, 1 << 30])
def test_a_message_fits_into_the_request_for_it_and_into_no_smaller_one(start_bytes: int) -> None:
    for message_bytes in range(start_bytes, start_bytes + 200):
        request_bytes = request_bytes_for(message_bytes)

        assert largest_message_bytes(request_bytes - 1) < message_bytes
        assert message_bytes <= largest_message_bytes(request_bytes)
