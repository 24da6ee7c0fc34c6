import json
from typing import Any

import pytest

from release.bill import Component, bill_of_materials, components_of, requirements
from release.minimums import minimum_versions
from release.notes import notes_of

CHANGELOG = """# Changelog

## Unreleased

### Added

- One thing.

## 0.1.0 - 2026-12-01

- Another.

## 0.0.9

"""


@pytest.mark.parametrize(
    ("version", "notes"), [("Unreleased", "### Added\n\n- One thing.\n"), ("0.1.0", "- Another.\n")]
)
def test_the_notes_are_the_section_of_the_version(version: str, notes: str) -> None:
    assert notes_of(CHANGELOG, version) == notes


@pytest.mark.parametrize("version", ["0.0.9", "0.1", "2.0.0"])
def test_a_version_without_notes_is_no_release(version: str) -> None:
    with pytest.raises(LookupError, match="has no section"):
        notes_of(CHANGELOG.replace("## 0.1.0", "## 0.2.0"), version)


def installed(name: str, version: str, **metadata: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "version": version, **metadata},
        "download_info": {"archive_info": {"hashes": {"sha256": f"hash of {name}"}}},
    }


REPORT = {
    "install": [
        installed("neardup-stream", "0.1.0"),
        installed("redis", "8.1.0", license="MIT\n\nPermission is hereby granted"),
        installed("aiokafka", "0.14.0", license_expression="Apache-2.0"),
    ]
}
COMPONENTS = [
    Component("aiokafka", "0.14.0", "hash of aiokafka", "Apache-2.0"),
    Component("redis", "8.1.0", "hash of redis", "MIT"),
]


def test_components_are_what_pip_installed_but_for_the_release_itself() -> None:
    assert components_of(REPORT, "neardup-stream") == COMPONENTS


def test_requirements_have_a_hash_each() -> None:
    assert requirements(COMPONENTS).splitlines() == [
        "aiokafka==0.14.0 --hash=sha256:hash of aiokafka",
        "redis==8.1.0 --hash=sha256:hash of redis",
    ]


def test_the_bill_of_materials_names_every_component_by_its_package_url() -> None:
    bill = json.loads(bill_of_materials("neardup-stream", "0.1.0", COMPONENTS))

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert [component["purl"] for component in bill["components"]] == [
        "pkg:pypi/aiokafka@0.14.0",
        "pkg:pypi/redis@8.1.0",
    ]
    assert bill["metadata"]["component"]["name"] == "neardup-stream"


def test_the_oldest_versions_are_those_of_the_ranges() -> None:
    ranges = ["aiokafka[lz4,zstd]>=0.14,<0.15", "click>=8.4,<9", "publicsuffixlist>=1.0.2"]

    assert minimum_versions(ranges) == "aiokafka==0.14\nclick==8.4\npublicsuffixlist==1.0.2\n"


def test_a_dependency_without_an_oldest_version_is_refused() -> None:
    with pytest.raises(ValueError, match="'click<9' has no oldest version"):
        minimum_versions(["click<9"])
