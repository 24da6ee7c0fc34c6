"""A fuzzer that stays: mutated input against everything that reads untrusted pages, files and settings.

`python -m tests.fuzz` runs it for as long as one likes; `tests/property/test_fuzz.py` is its short form.
"""
