"""The settings that a search may change, each with the values that it may take."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError, did_you_mean, unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Most values of a setting in a file.
_MOST_VALUES = 50


class Cost(StrEnum):
    """What a site does to change a setting, and who notices it."""

    RECONFIGURE = "reconfigure"
    """``scontrol reconfigure`` or ``sacctmgr modify``. Users need not change their jobs."""
    USERS = "users"
    """Users notice other limits or longer waits: announce it."""
    SCRIPTS = "scripts"
    """Jobs are killed at another time, or rejected: scripts change."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """
    A setting.

    Attributes
    ----------
    key
        Its name, such as ``PriorityWeightAge``, ``qos.gpu.MaxJobsPU``, ``max-time short`` or
        ``order`` (an option of a dispatcher).
    values
        The values that a search may choose, in their order where they have one.
    current
        The site's value, which is one of them.
    cost
        What a change costs.
    needs
        Another setting and its value, without which this one has no effect. Without a value the
        other must not be 0. None: it always has an effect.
    """

    key: str
    values: tuple[str, ...]
    current: str
    cost: Cost = Cost.RECONFIGURE
    needs: tuple[str, str | None] | None = None

    def has_effect(self, values: Mapping[str, str]) -> bool:
        """Return whether it has an effect beside the values of other settings."""
        if self.needs is None or self.needs[0] not in values:
            return True
        key, value = self.needs
        return values[key] != "0" if value is None else values[key] == value


#: The values of changed settings, by key.
Choice = Mapping[str, str]


@dataclass(frozen=True)
class Space:
    """
    All settings of a search.

    Attributes
    ----------
    settings
        By key.
    """

    settings: Mapping[str, Setting]

    @classmethod
    def of(cls, settings: Sequence[Setting]) -> Space:
        """Return the space of settings that have at least two values."""
        return cls({item.key: item for item in settings if len(item.values) > 1})

    @property
    def size(self) -> int:
        """Number of combinations."""
        size = 1
        for item in self.settings.values():
            size *= len(item.values)
        return size

    def changed(self, choice: Choice) -> Choice:
        """Return the part of a choice that differs from the site's settings, and has an effect."""
        full = {key: choice.get(key, item.current) for key, item in self.settings.items()}
        return {
            key: full[key]
            for key, item in self.settings.items()
            if full[key] != item.current and item.has_effect(full)
        }

    def selected(self, allow: Sequence[str], forbid: Sequence[str]) -> Space:
        """
        Return the space with the settings that patterns select.

        Parameters
        ----------
        allow
            Patterns of keys, such as ``bf_*``. Empty: all settings that users need not react to.
        forbid
            Patterns of keys that are left out.

        Raises
        ------
        ConfigError
            If a pattern matches no setting, or no setting is left.
        """
        for option, patterns in (("--allow", allow), ("--forbid", forbid)):
            for pattern in patterns:
                if not any(fnmatchcase(key, pattern) for key in self.settings):
                    hint = did_you_mean(pattern, self.settings)
                    raise ConfigError(
                        f"no setting is called {pattern!r}.{hint} All names: --list-settings",
                        key=option,
                    )
        kept = {
            key: item
            for key, item in self.settings.items()
            if (
                any(fnmatchcase(key, pattern) for pattern in allow)
                if allow
                else item.cost is Cost.RECONFIGURE
            )
            and not any(fnmatchcase(key, pattern) for pattern in forbid)
        }
        return self._with_effect(kept)

    def _with_effect(self, kept: Mapping[str, Setting]) -> Space:
        """
        Return the space of some settings.

        One that needs a value of a setting that is not among them is left out, unless the site has
        that value.
        """
        settings = {}
        for key, item in kept.items():
            if item.needs is None or item.needs[0] in kept:
                settings[key] = item
            elif item.has_effect({item.needs[0]: self.settings[item.needs[0]].current}):
                settings[key] = replace(item, needs=None)
        if not settings:
            needed = dict.fromkeys(
                f"{item.needs[0]}={item.needs[1] or 'a number above 0'}"
                for item in kept.values()
                if item.needs
            )
            hint = f" {', '.join(kept)} has no effect without {', '.join(needed)}." if kept else ""
            raise ConfigError(f"no setting is left.{hint} Allow more.", key="--allow")
        return Space(settings)

    def from_file(self, path: Path) -> Space:
        """
        Return the space that a TOML file describes: ``KEY = [VALUES]`` in a table ``settings``.

        Other settings are left out. The site's value of each is added to its values.

        Raises
        ------
        ConfigError
            If the file cannot be read, or a setting is unknown or has no list of values.
        """
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(unreadable(error), where=path) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"is not TOML: {error}", where=path) from error
        table = content.pop("settings", None)
        if not isinstance(table, dict) or content or not table:
            raise ConfigError("must have one table, [settings]", where=path)
        settings = []
        for key, values in table.items():
            if key not in self.settings:
                raise ConfigError(
                    f"unknown setting.{did_you_mean(key, self.settings)}", where=path, key=key
                )
            settings.append(_with_values(self.settings[key], values, path))
        return self._with_effect(Space.of(settings).settings)


def _with_values(setting: Setting, values: object, path: Path) -> Setting:
    """Return a setting with the values of a file, and the site's own."""
    if not isinstance(values, list) or not 0 < len(values) <= _MOST_VALUES:
        raise ConfigError(
            f"must be a list of 1 to {_MOST_VALUES} values", where=path, key=setting.key
        )
    texts = []
    for value in values:
        if not isinstance(value, str | int | float):
            raise ConfigError(f"{value!r} must be a text or a number", where=path, key=setting.key)
        texts.append(("yes" if value else "no") if isinstance(value, bool) else str(value).strip())
    every = list(dict.fromkeys([*texts, setting.current]))
    if all(text.isdecimal() for text in every):
        every.sort(key=int)
    return replace(setting, values=tuple(every))


def digest_of(choice: Choice) -> str:
    """Return eight hexadecimal digits that tell choices apart."""
    text = json.dumps(dict(sorted(choice.items())))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
