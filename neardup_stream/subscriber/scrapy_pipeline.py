"""Scrapy item pipelines: drop or mark near-duplicates by the query API, or publish pages to Kafka.

```python
# settings.py
ITEM_PIPELINES = {"neardup_events.scrapy_pipeline.DuplicatesPipeline": 300}
NEARDUP_API_URL = "http://127.0.0.1:9465"
NEARDUP_API_PATH = "/v1/pages"   # "/v1/query" only compares each page with those that are stored
NEARDUP_ACTION = "drop"          # "mark" sets the field `neardup` of the item and keeps it
```

An item needs `url` and one of `html`, `text` and `body`; other fields of a page are sent where it has them. A
page that the API does not answer about is kept.
"""

from .scrapy_answers import duplicate_of
from .scrapy_duplicates import DuplicatesPipeline
from .scrapy_kafka import KafkaPipeline

__all__ = ["DuplicatesPipeline", "KafkaPipeline", "duplicate_of"]
