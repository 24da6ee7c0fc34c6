"""Settings of a Scrapy crawl with which the pipeline that drops duplicates does not start."""

import re
from typing import Final

import pytest
from scrapy.exceptions import NotConfigured
from scrapy.utils.test import get_crawler

from neardup_stream.subscriber.scrapy_pipeline import DuplicatesPipeline

API: Final = "http://api.example"


async def test_an_unknown_action_is_an_error_that_names_it() -> None:
    crawler = get_crawler(settings_dict={"NEARDUP_API_URL": API, "NEARDUP_ACTION": "mrak"})

    with pytest.raises(ValueError, match="NEARDUP_ACTION is 'mrak': set it to 'drop' or 'mark'"):
        DuplicatesPipeline.from_crawler(crawler)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NEARDUP_API_URL", "localhost:9465"),
        ("NEARDUP_API_URL", "127.0.0.1:9465"),
        ("NEARDUP_API_URL", "http://"),
        ("NEARDUP_API_PATH", "v1/pages"),
    ],
)
async def test_an_address_to_which_nothing_can_be_sent_is_an_error_that_names_it(
    name: str, value: str
) -> None:
    crawler = get_crawler(settings_dict={"NEARDUP_API_URL": API, name: value})

    with pytest.raises(ValueError, match=f"{name} is '{value}': it begins with"):
        DuplicatesPipeline.from_crawler(crawler)


@pytest.mark.parametrize("address", ["http://127.0.0.1:94x5", "http://127.0.0.1:946555", "http://[::1"])
async def test_an_address_that_is_no_url_is_an_error_that_names_it(address: str) -> None:
    crawler = get_crawler(settings_dict={"NEARDUP_API_URL": address})

    with pytest.raises(ValueError, match=f"^NEARDUP_API_URL is '{re.escape(address)}': "):
        DuplicatesPipeline.from_crawler(crawler)


def test_the_pipeline_is_off_without_an_address() -> None:
    with pytest.raises(NotConfigured):
        DuplicatesPipeline.from_crawler(get_crawler())
