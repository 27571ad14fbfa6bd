"""
What the papers measured, transcribed: P is the IPSCHED paper, T Soner's thesis.

Figures are means; pairs are a mean and the standard deviation printed beside it. Waiting times are
hours, utilizations percent of the cores (T 7.4: theoretical over actual run time).
"""

from __future__ import annotations

from typing import NamedTuple

Pair = tuple[float, float]


class Printed(NamedTuple):
    """
    A row of a table.

    Attributes
    ----------
    workload, method
        As the benchmark calls them.
    figures
        By measure; those that the table has.
    """

    workload: str
    method: str
    figures: dict[str, float | Pair]


#: P Table V (experiments 1 to 6; T Table A.1, rows 1 to 3 and 5 to 7), T Table A.1 (rows 4 and 8:
#: AUCSCHED1), P Table VI (7 and 8): waiting time, slowdown, utilization, packing factor.
_ESP: tuple[tuple[str, str, Pair, Pair, float, Pair | None], ...] = (
    ("ESP", "Backfill", (1.60, 0.836), (18.11, 25.49), 90, None),
    ("ESP", "IPSCHED P*r", (0.91, 1.224), (11.31, 18.97), 93, None),
    ("ESP", "IPSCHED P", (0.77, 1.257), (9.95, 18.87), 92, None),
    ("ESP", "AUCSCHED1", (1.88, 1.612), (20.64, 26.52), 94, None),
    ("ESP", "Backfill multifactor", (2.42, 1.758), (22.75, 22.02), 89, None),
    ("ESP", "IPSCHED P multifactor", (0.88, 1.223), (10.75, 18.20), 94, None),
    ("ESP", "IPSCHED P*r multifactor", (2.08, 1.577), (22.06, 21.84), 93, None),
    ("ESP", "AUCSCHED1 multifactor", (2.69, 1.497), (29.14, 26.93), 95, None),
    ("ESP+-4", "Backfill multifactor", (2.50, 1.802), (23.80, 22.93), 88, (1.021, 0.029)),
    ("ESP+-4", "IPSCHED P*r multifactor", (1.09, 1.111), (13.12, 16.78), 94, (1.016, 0.026)),
)
#: T Table A.2, rows read as those of A.1: utilization, run time, waiting time, slowdown.
_A2: tuple[tuple[str, str, float, float, Pair, Pair], ...] = (
    ("I", "Backfill", 95, 4.21, (1.69, 1.18), (23.68, 22.33)),
    ("I", "IPSCHED P*r", 97, 4.12, (1.31, 1.2), (21.45, 27.31)),
    ("I", "IPSCHED P", 97, 4.12, (1.26, 1.15), (21.53, 28.05)),
    ("I", "AUCSCHED1", 96, 4.17, (1.75, 1.15), (27.98, 29.06)),
    ("I", "Backfill multifactor", 96, 4.15, (2.28, 1.23), (31.9, 24.23)),
    ("I", "IPSCHED P multifactor", 97, 4.14, (2.03, 1.23), (32.87, 33.13)),
    ("I", "IPSCHED P*r multifactor", 97, 4.12, (2.06, 1.25), (32.63, 33)),
    ("I", "AUCSCHED1 multifactor", 94, 4.24, (2.62, 1.22), (41.87, 32.46)),
    ("II", "Backfill", 95, 4.27, (1.67, 1.16), (23.6, 22.51)),
    ("II", "IPSCHED P*r", 96, 4.24, (1.35, 1.22), (22.15, 28.11)),
    ("II", "IPSCHED P", 96, 4.23, (1.33, 1.18), (22.16, 28.15)),
    ("II", "AUCSCHED1", 96, 4.22, (1.75, 1.17), (27.99, 32.46)),
    ("II", "Backfill multifactor", 96, 4.23, (2.22, 1.23), (30.91, 24.01)),
    ("II", "IPSCHED P multifactor", 97, 4.19, (2, 1.22), (32.28, 32.47)),
    ("II", "IPSCHED P*r multifactor", 97, 4.19, (2.09, 1.25), (33.41, 34)),
    ("II", "AUCSCHED1 multifactor", 94, 4.31, (2.6, 1.25), (35.84, 32.46)),
    ("III", "Backfill", 95, 4.16, (1.74, 1.19), (24.33, 23.65)),
    ("III", "IPSCHED P*r", 96, 4.12, (1.41, 1.24), (22.95, 29.2)),
    ("III", "IPSCHED P", 96, 4.11, (1.34, 1.22), (22.01, 28.56)),
    ("III", "AUCSCHED1", 95, 4.17, (1.72, 1.15), (27.38, 32.46)),
    ("III", "Backfill multifactor", 96, 4.13, (2.14, 1.26), (28.44, 20.42)),
    ("III", "IPSCHED P multifactor", 97, 4.09, (1.87, 1.14), (28.27, 28.94)),
    ("III", "IPSCHED P*r multifactor", 96, 4.08, (1.77, 1.15), (27.65, 28.19)),
    ("III", "AUCSCHED1 multifactor", 96, 4.12, (2.31, 1.16), (36.07, 32.46)),
    ("IV", "Backfill", 88, 4.56, (1.68, 1.18), (22.42, 18.89)),
    ("IV", "IPSCHED P*r", 90, 4.46, (1.51, 1.23), (21.87, 17.96)),
    ("IV", "IPSCHED P", 89, 4.48, (1.43, 1.17), (21.54, 17.41)),
    ("IV", "AUCSCHED1", 95, 4.22, (1.72, 1.15), (27.23, 32.46)),
    ("IV", "Backfill multifactor", 88, 4.57, (1.95, 1.26), (22.86, 12.41)),
    ("IV", "IPSCHED P multifactor", 88, 4.54, (2.03, 1.23), (25.17, 19.44)),
    ("IV", "IPSCHED P*r multifactor", 88, 4.54, (1.93, 1.31), (24.81, 22.27)),
    ("IV", "AUCSCHED1 multifactor", 93, 4.31, (2.5, 1.27), (39.53, 32.46)),
    ("V", "Backfill", 62, 6.37, (1.73, 1.39), (21.36, 18.2)),
    ("V", "IPSCHED P*r", 62, 6.36, (1.71, 1.31), (21.21, 17.65)),
    ("V", "IPSCHED P", 62, 6.41, (1.67, 1.28), (20.98, 16.98)),
    ("V", "AUCSCHED1", 65, 6.11, (1.93, 1.4), (30.84, 32.46)),
    ("V", "Backfill multifactor", 68, 5.81, (2.21, 1.54), (26.3, 18.72)),
    ("V", "IPSCHED P multifactor", 58, 6.81, (2.12, 1.36), (44.71, 34.21)),
    ("V", "IPSCHED P*r multifactor", 60, 6.58, (2.13, 1.38), (40.19, 30.17)),
    ("V", "AUCSCHED1 multifactor", 70, 5.65, (3.72, 1.64), (58.57, 32.46)),
)
#: T Table A.3: utilization, run time, waiting time, fragmentation, spread (a ratio).
_A3: tuple[tuple[str, str, float, float, Pair, Pair, Pair], ...] = (
    ("8.4-1", "AUCSCHED2", 97.17, 6.45, (2.42, 1.37), (17.8, 13.86), (8.2, 11.45)),
    ("8.4-1", "AUCSCHED1", 91.01, 6.9, (2.45, 1.39), (2.25, 1.98), (11.87, 18.02)),
    ("8.4-1", "Backfill", 87.17, 7.18, (3.23, 1.32), (2.42, 2.33), (17.36, 35.97)),
    ("8.4-2", "AUCSCHED2", 93.83, 6.7, (2.51, 1.55), (5.58, 7.35), (4.47, 7.66)),
    ("8.4-2", "AUCSCHED1", 87.81, 7.14, (3.09, 1.52), (1.98, 1.79), (6.75, 9.16)),
    ("8.4-2", "Backfill", 86, 7.27, (2.96, 1.43), (2.12, 2.18), (11.68, 26)),
    ("8.4-3", "AUCSCHED2", 92.17, 6.77, (2.71, 1.55), (1, 0), (1, 0)),
    ("8.4-3", "AUCSCHED1", 86.7, 7.22, (2.78, 1.6), (1, 0), (1, 0)),
    ("8.4-3", "Backfill", 82.5, 7.58, (2.98, 1.68), (1, 0), (1, 0)),
    ("8.4-4", "AUCSCHED2", 98, 12.83, (4.52, 2.54), (18.79, 14.17), (8.31, 11.61)),
    ("8.4-4", "AUCSCHED1", 92.23, 13.59, (4.73, 2.6), (2.13, 2.09), (12.45, 23.54)),
    ("8.4-4", "Backfill", 88, 14.29, (4.91, 2.71), (2.42, 2.34), (17.24, 35.32)),
    ("8.4-5", "AUCSCHED2", 94, 13.33, (4.27, 2.19), (5.66, 7.41), (4.42, 7.7)),
    ("8.4-5", "AUCSCHED1", 89.87, 13.95, (4.63, 2.43), (2.07, 2.1), (8.79, 15.45)),
    ("8.4-5", "Backfill", 86.83, 14.48, (4.94, 2.68), (2.14, 2.23), (11.9, 27.07)),
    ("8.4-6", "AUCSCHED2", 92.67, 13.51, (4.79, 2.72), (1, 0), (1, 0)),
    ("8.4-6", "AUCSCHED1", 88.47, 14.11, (5.09, 2.79), (1, 0), (1, 0)),
    ("8.4-6", "Backfill", 83, 15.09, (5.43, 2.82), (1, 0), (1, 0)),
    ("8.4-7", "AUCSCHED2", 86.33, 6.28, (2.6, 1.73), (2.16, 1.63), (1.98, 3.19)),
    ("8.4-7", "AUCSCHED1", 82.73, 6.56, (2.27, 1.76), (2.07, 1.13), (2.13, 1.52)),
    ("8.4-7", "Backfill", 81.17, 6.69, (1.94, 1.83), (2.1, 1.39), (4.16, 10.07)),
    ("8.4-8", "AUCSCHED2", 84, 6.46, (2.6, 1.75), (1.52, 1.11), (1.52, 2.1)),
    ("8.4-8", "AUCSCHED1", 81.35, 6.67, (2.34, 1.7), (1.3, 0.85), (1.7, 1.08)),
    ("8.4-8", "Backfill", 79, 6.87, (1.95, 1.86), (1.55, 1.1), (2.35, 7.24)),
    ("8.4-9", "AUCSCHED2", 84, 6.55, (2.72, 1.82), (1, 0), (1, 0)),
    ("8.4-9", "AUCSCHED1", 79.85, 6.89, (2.5, 1.89), (1, 0), (1, 0)),
    ("8.4-9", "Backfill", 76.83, 7.16, (1.98, 1.97), (1, 0), (1, 0)),
    ("8.4-10", "AUCSCHED2", 87, 12.5, (5.63, 3.52), (2.16, 1.65), (1.93, 3)),
    ("8.4-10", "AUCSCHED1", 82.45, 13.2, (5.13, 3.58), (2.05, 1.29), (2.13, 2.99)),
    ("8.4-10", "Backfill", 81.67, 13.32, (4.05, 3.6), (2.09, 1.34), (3.88, 10.76)),
    ("8.4-11", "AUCSCHED2", 85.33, 12.44, (5.52, 3.48), (1.5, 1.09), (1.45, 1.79)),
    ("8.4-11", "AUCSCHED1", 81.24, 13.08, (4.29, 3.48), (1.52, 1.11), (1.74, 1.89)),
    ("8.4-11", "Backfill", 80.33, 13.25, (3.92, 3.58), (1.61, 1.14), (2.5, 7.06)),
    ("8.4-12", "AUCSCHED2", 82.83, 13.16, (5.88, 3.63), (1, 0), (1, 0)),
    ("8.4-12", "AUCSCHED1", 80.01, 13.62, (5.27, 3.67), (1, 0), (1, 0)),
    ("8.4-12", "Backfill", 78.83, 13.85, (4.08, 3.76), (1, 0), (1, 0)),
)
#: T Tables A.4 and A.5: lowest common switch, spread (a span in nodes), utilization.
_A4: tuple[tuple[str, str, Pair, float, float], ...] = (
    ("8.5-1", "AUCSCHED3", (1.05, 0.68), 77.2, 90),
    ("8.5-1", "Backfill tree", (1.06, 0.77), 110.7, 89),
    ("8.5-2", "AUCSCHED3", (1.17, 0.62), 90.9, 96),
    ("8.5-2", "Backfill tree", (1.19, 0.69), 131.9, 95),
    ("8.5-3", "AUCSCHED3", (1.04, 0.58), 65.4, 78),
    ("8.5-3", "Backfill tree", (1.26, 0.68), 139.4, 82),
    ("8.5-4", "AUCSCHED3", (1.04, 0.58), 61.1, 85),
    ("8.5-4", "Backfill tree", (1.36, 0.69), 167.8, 88),
    ("8.5-5", "AUCSCHED3", (1.01, 0.67), 63.5, 83),
    ("8.5-5", "Backfill tree", (1.24, 0.72), 144.3, 81),
    ("8.5-6", "AUCSCHED3", (0.98, 0.56), 60.9, 89),
    ("8.5-6", "Backfill tree", (1.33, 0.7), 162.7, 87),
    ("8.5-5r", "AUCSCHED3", (0.99, 0.65), 64.4, 86),
    ("8.5-5r", "Backfill tree", (1.24, 0.72), 144.3, 81),
    ("8.5-6r", "AUCSCHED3", (1, 0.59), 61.4, 91),
    ("8.5-6r", "Backfill tree", (1.33, 0.7), 162.7, 87),
)
_A5: tuple[tuple[str, str, Pair, float, float], ...] = (
    ("8.6-1", "AUCSCHED3", (1.88, 0.41), 243.8, 98),
    ("8.6-1", "Backfill tree", (1.8, 0.53), 259.3, 97),
    ("8.6-2", "AUCSCHED3", (1.77, 0.53), 236, 90),
    ("8.6-2", "Backfill tree", (1.81, 0.52), 271.5, 89),
    ("8.6-3", "AUCSCHED3", (1.75, 0.55), 223.7, 97),
    ("8.6-3", "Backfill tree", (1.81, 0.53), 282.7, 89),
    ("8.6-4", "AUCSCHED3", (1.87, 0.42), 243.7, 98),
    ("8.6-4", "Backfill tree", (1.81, 0.52), 259.7, 97),
    ("8.6-5", "AUCSCHED3", (1.77, 0.52), 242.2, 90),
    ("8.6-5", "Backfill tree", (1.82, 0.5), 275.8, 89),
    ("8.6-6", "AUCSCHED3", (1.74, 0.56), 218.4, 98),
    ("8.6-6", "Backfill tree", (1.8, 0.54), 281.3, 89),
    ("8.6-7", "AUCSCHED3", (1.87, 0.42), 242.1, 98),
    ("8.6-7", "Backfill tree", (1.81, 0.52), 260.8, 97),
    ("8.6-8", "AUCSCHED3", (1.76, 0.54), 234.4, 90),
    ("8.6-8", "Backfill tree", (1.82, 0.51), 272.8, 89),
    ("8.6-9", "AUCSCHED3", (1.76, 0.54), 218.9, 97),
    ("8.6-9", "Backfill tree", (1.8, 0.53), 272.7, 90),
)


def _row(workload: str, method: str, **figures: float | Pair | None) -> Printed:
    return Printed(workload, method, {k: v for k, v in figures.items() if v is not None})


ESP = tuple(
    _row(workload, method, wait_h=wait, slowdown=slow, utilization=u, packing_factor=pack)
    for workload, method, wait, slow, u, pack in _ESP
)
A2 = tuple(
    _row(workload, method, utilization=u, runtime_h=run, wait_h=wait, slowdown=slow)
    for workload, method, u, run, wait, slow in _A2
)
A3 = tuple(
    _row(
        workload,
        method,
        utilization=u,
        runtime_h=run,
        wait_h=wait,
        fragmentation=fragmentation,
        spread=spread,
    )
    for workload, method, u, run, wait, fragmentation, spread in _A3
)
A4, A5 = (
    tuple(
        _row(workload, method, switch=switch, span=span, utilization=u)
        for workload, method, switch, span, u in rows
    )
    for rows in (_A4, _A5)
)
