"""Fixtures that every part of the suite shares."""

from __future__ import annotations

from pathlib import Path

import pytest

#: Real traces and golden schedules; beside a developer's checkout, absent elsewhere.
SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the shared traces where they are absent."""
    if SHARED.is_dir():
        return
    skip = pytest.mark.skip(reason="the shared traces are not beside this checkout")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def shared() -> Path:
    """Folder of the shared traces; use it together with the marker ``shared``."""
    return SHARED


@pytest.fixture
def data() -> Path:
    """Folder of the suite's own small files."""
    return Path(__file__).resolve().parent / "data"
