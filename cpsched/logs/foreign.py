"""
Files that are often given as job logs and are none that can be read, told by their beginning.

The forms are those of the programs' own manuals: LSF's ``lsb.acct``, Grid Engine's ``accounting``,
HTCondor's history and event log, Moab's event file, Cobalt's accounting, Slurm's ``slurm.conf`` and
``squeue``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: First bytes of a packed file or a document: what it is, and what to do.
_MAGIC: Mapping[bytes, str] = {
    b"PK\x03\x04": "a ZIP archive or a spreadsheet. Unpack it",
    b"\xfd7zXZ\x00": "an xz file. Unpack it or pack it with gzip",
    b"BZh": "a bzip2 file. Unpack it or pack it with gzip",
    b"\x28\xb5\x2f\xfd": "a Zstandard file. Unpack it or pack it with gzip",
    b"\x04\x22\x4d\x18": "an LZ4 file. Unpack it or pack it with gzip",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive. Unpack it",
    b"Rar!": "a RAR archive. Unpack it",
    b"\x1f\x9d": "a file of compress. Unpack it or pack it with gzip",
    b"SQLite format 3\x00": "an SQLite database. Export its jobs as CSV",
    b"%PDF-": "a PDF document",
    b"ORC": "an ORC file. Convert it to Parquet",
    b"Obj\x01": "an Avro file. Convert it to Parquet",
    b"\xff\xfe": "UTF-16 text. Convert it to UTF-8",
    b"\xfe\xff": "UTF-16 text. Convert it to UTF-8",
    b"version https://git-lfs": "a pointer of Git LFS. Fetch the file itself (git lfs pull)",
}
#: Where the name of a tar archive's form is.
_TAR = slice(257, 262)
#: How much of a text is looked at.
_SEARCHED = 8192


def _text(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_UNSUPPORTED = "which is not supported"
#: Forms of text, the narrower ones first.
_TEXTS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (_text(rb'\A\s*"(?:JOB_[A-Z]+|EVENT_ADRSV_FINISH)" "[0-9.]+" [0-9]+ '),
     f"an accounting or event file of IBM Spectrum LSF (lsb.acct), {_UNSUPPORTED}"),
    (_text(rb"\A\s*\[?\s*\{[^\0]{0,2000}\"(?:job_state|state_reason|job_resources)\"\s*:"),
     "JSON of squeue or scontrol, without ended jobs. Export sacct --json"),
    (_text(rb"\A\s*[0-9/]{10} [0-9:.]{8,15};[A-Z]+;[0-9]+;(?=[^\n]*\bcwd=)(?=[^\n]*\bexe=)"),
     f"an accounting log of Cobalt, {_UNSUPPORTED}"),
    (_text(rb"\A(?:#[^\n]*\n)*(?:[^:\n]*:){28,}[^:\n]*$"),
     f"an accounting file of Grid Engine (SGE, UGE), {_UNSUPPORTED}"),
    (_text(rb"\A\s*[0-9]{3} \([0-9]+\.[0-9]+\.[0-9]+\) "),
     f"an event log of HTCondor, {_UNSUPPORTED}"),
    (_text(rb"^(?:GlobalJobId|ClusterId|JobUniverse) = |^\*\*\* Offset = "),
     f"a job history of HTCondor, {_UNSUPPORTED}"),
    (_text(rb"\A\s*[0-9:]{8} [0-9]{9,11}:[0-9]+ +(?:job|rsv|sched|node)\b|\A\s*VERSION [0-9]{3}\s"),
     f"an event file of Moab or Maui, {_UNSUPPORTED}"),
    (_text(rb"^\s*(?:SlurmctldHost|ControlMachine|ClusterName|NodeName|PartitionName)\s*="),
     "a configuration of Slurm. Read it with 'cpsched slurm import'"),
    (_text(rb"\A\s*JOBID +(?:PARTITION|USER|NAME)\b"),
     "output of squeue, without ended jobs. Export sacct --parsable2"),
    (_text(rb"\A\s*JobID\s+\S[^|\n]*\n[- ]+$"),
     "output of sacct in columns. Export sacct --parsable2"),
    (_text(rb"\A\s*(?:<!doctype html|<html\b)"),
     "an HTML page, perhaps of a failed download. Fetch the file itself"),
    (_text(rb"\A\s*<\?xml\b"), f"XML, {_UNSUPPORTED}"),
)  # fmt: skip


def foreign(head: bytes) -> str | None:
    """
    Return what a file is that is no job log, and what to do; None if that is not known.

    Parameters
    ----------
    head
        Its first bytes, unpacked.
    """
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            return what
    if head[_TAR] == b"ustar":
        return "a tar archive. Unpack it"
    return next((what for pattern, what in _TEXTS if pattern.search(head[:_SEARCHED])), None)
