"""
The licences of all that is installed with cpsched and its extras: ``make licences``.

Prints a line for each package whose licence is not allowed, and then fails.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distribution
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: What may be used beside code under the MIT licence, by its SPDX name: permissive licences, and
#: the one whose terms end at the package's own files. "BSD": two or three clauses, the package
#: does not say which.
ALLOWED = {
    *("0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause"),
    *("BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib"),
}
#: Licences of packages that do not state one, or state it so that it needs reading.
READ = {
    # The GPL is that of its Emacs mode, which is not installed.
    "docutils": "BSD-2-Clause",
    # Of 1,253 lines, which say that it is based on Python's.
    "matplotlib": "PSF-2.0",
    # Its licence file is the MIT License; its metadata says "OSI Approved".
    "skops": "MIT",
}
#: How packages call a licence that do not use its SPDX name.
_ALSO_CALLED = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD",
    "ISC license": "ISC",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


#: What neither tests nor the product install: torch brings libraries under licences of their own.
_LEFT_OUT = {"train"}


class Package(NamedTuple):
    """An installed package, and which extra of ours brings it ("" if always installed)."""

    name: str
    version: str
    licence: str
    extra: str

    @property
    def is_allowed(self) -> bool:
        """Whether all licences that it names are allowed, also where one can be chosen."""
        named = re.split(r" AND | OR |[()]", self.licence)
        return {licence.strip() for licence in named} - {""} <= ALLOWED and bool(self.licence)


def installed() -> list[Package]:
    """Return what is installed with cpsched, those of the fewest extras first."""
    ours = distribution("cpsched")
    extras = set(ours.metadata.get_all("Provides-Extra") or []) - _LEFT_OUT
    packages: dict[str, Package] = {}
    for extra in ["", *sorted(extras, key=lambda name: (name == "dev", name))]:
        for needed in _needed(ours, extra):
            if (name := canonicalize_name(needed.name)) not in packages:
                packages[name] = Package(needed.name, needed.version, licence_of(needed), extra)
    return list(packages.values())


def _needed(ours: Distribution, extra: str) -> list[Distribution]:
    """Return what an extra of ours needs, and what those need in turn."""
    ahead, seen = [(ours, extra)], {("cpsched", extra)}
    needed = []
    while ahead:
        user, asked = ahead.pop()
        for text in user.requires or []:
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({"extra": asked}):
                continue
            name = canonicalize_name(requirement.name)
            for part in ["", *requirement.extras]:
                if (name, part) not in seen:
                    seen.add((name, part))
                    ahead.append((distribution(name), part))
                    needed.append(ahead[-1][0])
    return sorted(needed, key=lambda package: package.name.lower())


def licence_of(package: Distribution) -> str:
    """Return the licence that a package states, by its SPDX name if we know that, or ""."""
    if package.name in READ:
        return READ[package.name]
    metadata = package.metadata
    if stated := metadata.get("License-Expression"):
        return str(stated)
    first = (metadata.get("License") or "").strip().split("\n")[0].strip()
    classes = metadata.get_all("Classifier") or []
    named = [
        classifier.split(" :: ")[-1]
        for classifier in classes
        if classifier.startswith("License :: ")
    ]
    stated = _ALSO_CALLED.get(first, first)
    if not named or Package("", "", stated, "").is_allowed:
        return stated
    return " AND ".join(_ALSO_CALLED.get(licence, licence) for licence in named)


def table(_: str, __: int) -> str:
    """Return the packages as a table of a page."""
    lines = ["| package | version | licence | installed |", "| --- | --- | --- | --- |"]
    for package in installed():
        when = f"`{package.extra}`" if package.extra else "always"
        lines.append(f"| {package.name} | {package.version} | {package.licence} | {when} |")
    return "\n".join(lines)


def main() -> int:
    """Name what is not allowed; return the exit code."""
    packages = installed()
    bad = [package for package in packages if not package.is_allowed]
    for package in bad:
        stated = package.licence or "no licence stated"
        print(
            f"{package.name} {package.version}: {stated}; read it, and add it to"
            " docs/_ext/licences.py or drop the package"
        )
    print(f"{len(packages)} packages, {len(bad)} with a licence that is not allowed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
