"""
The workloads of Soner's thesis (T): machines, job types and their shares, sizes, run times.

What T prints is marked with its table. Three things it does not print, and our choices follow from
figures it does; benchmarks/results/generators.md works them out:

- the most cores of a job: with 512 to 516, the jobs of Table 8.6 last the hours printed there;
  those of Table 8.4 must be larger for backfilling to be as bad as in A.3;
- the cores per GPU of Tables 8.4 to 8.6 ("given in Table 8.5", which does not): with 1 or 2 as in
  Table 7.2 GPUs would limit utilization to 55 %, and A.3 to A.5 have 77 to 98 %; of the rest, those
  with which backfilling has the utilization of A.4 and A.5;
- arrivals: over which part of the run time jobs come, from the waiting times of A.2 and A.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple


class MachineSize(NamedTuple):
    """Nodes, and the cores and GPUs of each."""

    nodes: int
    cores: int
    gpus: int


#: T 8.2 (as in the IPSCHED paper, section V), 8.3, 8.4.1; systems esp-1024, tsubame2, tree-1024.
ESP_1024 = MachineSize(1024, 8, 2)
TSUBAME = MachineSize(1408, 12, 3)
TREE_1024 = MachineSize(1024, 16, 3)

#: T Table 7.3, by GPUs a node: A cores only, B nodes too, C, D and E 1, 2 and 3 GPUs on each.
TYPES = ("A", "B", "C", "D", "E")
#: T 7.3.2: run times are uniform within these bounds, seconds.
TIMES = (60, 600)
#: T Table 7.2 and 7.3.2: cores on each node of a type B job.
CORES_PER_NODE = (4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """
    A workload of the thesis.

    Attributes
    ----------
    shares
        Percentages of the types A to E.
    jobs, hours
        How long it is: number of jobs, or theoretical run time; the other is None.
    max_cores
        Of a job. Chosen, see the module.
    cores_per_gpu
        What a job may ask for. Table 7.2; chosen for the others.
    contiguous
        Part of the jobs that ask for consecutive nodes.
    ranges
        Whether C and D take up to 3 GPUs a node (C', D').
    even
        Whether type B sets its number of cores on each node (job type 3 of T 4.1).
    arrival_part
        Share of the theoretical run time during which jobs arrive. Chosen, see the module.
    """

    machine: MachineSize
    shares: tuple[float, float, float, float, float]
    jobs: int | None = None
    hours: float | None = None
    max_cores: int
    cores_per_gpu: tuple[int, ...]
    contiguous: float = 0.0
    ranges: bool = False
    even: bool = False
    arrival_part: float = 0.2


_ONLY_A = (100.0, 0.0, 0.0, 0.0, 0.0)
_ONLY_B = (0.0, 100.0, 0.0, 0.0, 0.0)
_ALL = (20.0, 20.0, 20.0, 20.0, 20.0)


_table_7_2 = partial(Preset, machine=ESP_1024, max_cores=512, cores_per_gpu=(1, 2), even=True)
_table_8_4 = partial(
    Preset, machine=TSUBAME, max_cores=2064, cores_per_gpu=(2, 4), arrival_part=0.3
)
_table_8_5 = partial(Preset, machine=TREE_1024, max_cores=512, cores_per_gpu=(3, 4))
_table_8_6 = partial(Preset, machine=TSUBAME, max_cores=516, cores_per_gpu=(2, 4))

#: By name: T Table 7.2 (hours from Table A.2), then tables 8.4, 8.5 and 8.6 as TABLE-ID; with r
#: GPUs are ranges (8.5-5r and 8.5-6r are 5' and 6').
PRESETS: dict[str, Preset] = {
    "I": _table_7_2(hours=4.00, shares=(100, 0, 0, 0, 0.0)),
    "II": _table_7_2(hours=4.06, shares=(0, 100, 0, 0, 0.0)),
    "III": _table_7_2(hours=3.96, shares=(50, 50, 0, 0, 0.0)),
    "IV": _table_7_2(hours=4.01, shares=(40, 40, 20, 0, 0.0)),
    "V": _table_7_2(hours=3.95, shares=(33.3, 33.3, 16.6, 16.6, 0.0)),
    "8.4-1": _table_8_4(hours=6.28, shares=_ONLY_A),
    "8.4-2": _table_8_4(hours=6.27, contiguous=0.5, shares=_ONLY_A),
    "8.4-3": _table_8_4(hours=6.26, contiguous=1.0, shares=_ONLY_A),
    "8.4-4": _table_8_4(hours=12.53, shares=_ONLY_A),
    "8.4-5": _table_8_4(hours=12.54, contiguous=0.5, shares=_ONLY_A),
    "8.4-6": _table_8_4(hours=12.48, contiguous=1.0, shares=_ONLY_A),
    "8.4-7": _table_8_4(hours=5.43, shares=_ALL),
    "8.4-8": _table_8_4(hours=5.42, contiguous=0.5, shares=_ALL),
    "8.4-9": _table_8_4(hours=5.50, contiguous=1.0, shares=_ALL),
    "8.4-10": _table_8_4(hours=10.90, shares=_ALL),
    "8.4-11": _table_8_4(hours=10.63, contiguous=0.5, shares=_ALL),
    "8.4-12": _table_8_4(hours=10.89, contiguous=1.0, shares=_ALL),
    "8.4-7r": _table_8_4(hours=5.43, shares=_ALL, ranges=True),
    "8.4-8r": _table_8_4(hours=5.42, contiguous=0.5, shares=_ALL, ranges=True),
    "8.4-9r": _table_8_4(hours=5.50, contiguous=1.0, shares=_ALL, ranges=True),
    "8.4-10r": _table_8_4(hours=10.90, shares=_ALL, ranges=True),
    "8.4-11r": _table_8_4(hours=10.63, contiguous=0.5, shares=_ALL, ranges=True),
    "8.4-12r": _table_8_4(hours=10.89, contiguous=1.0, shares=_ALL, ranges=True),
    "8.5-1": _table_8_5(jobs=350, shares=_ONLY_A),
    "8.5-2": _table_8_5(jobs=2095, shares=_ONLY_A),
    "8.5-3": _table_8_5(jobs=350, shares=_ONLY_B),
    "8.5-4": _table_8_5(jobs=2095, shares=_ONLY_B),
    "8.5-5": _table_8_5(jobs=350, shares=_ALL),
    "8.5-6": _table_8_5(jobs=2095, shares=_ALL),
    "8.5-5r": _table_8_5(jobs=350, shares=_ALL, ranges=True),
    "8.5-6r": _table_8_5(jobs=2095, shares=_ALL, ranges=True),
    "8.6-1": _table_8_6(jobs=3491, shares=_ONLY_A),
    "8.6-2": _table_8_6(jobs=2095, shares=_ONLY_B),
    "8.6-3": _table_8_6(jobs=3491, shares=_ALL),
    "8.6-4": _table_8_6(jobs=3491, contiguous=0.5, shares=_ONLY_A),
    "8.6-5": _table_8_6(jobs=2095, contiguous=0.5, shares=_ONLY_B),
    "8.6-6": _table_8_6(jobs=3491, contiguous=0.5, shares=_ALL),
    "8.6-7": _table_8_6(jobs=3491, contiguous=1.0, shares=_ONLY_A),
    "8.6-8": _table_8_6(jobs=2095, contiguous=1.0, shares=_ONLY_B),
    "8.6-9": _table_8_6(jobs=3491, contiguous=1.0, shares=_ALL),
}
