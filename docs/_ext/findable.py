"""
Words that readers search for, and the page that answers them.

The search of the site puts a page first whose index has the word; titles and text come after it,
ordered by ``docs/_ext/scorer.js``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: By page: words as they are typed.
WORDS = {
    "installation": "install, installation, pip, conda, container, docker, apptainer, offline",
    "cite": "cite, citation, bibtex, bibliography, doi, paper, reproduce a paper",
    "gallery": "screenshot, picture, chart, gantt",
    "glossary": "glossary, sdprb, prb, cp-pool, bounded slowdown, shadow time, terms",
    "guides/systems": "gpu, gpus, machine, cluster, memory, node, nodes, walltime, time limit",
    "guides/what-if": "outage, outages, maintenance, downtime, add nodes, capacity planning",
    "guides/report": "export, export csv, csv, excel, spreadsheet, html, pdf, latex, plot, figure",
    "guides/slurm": "licence, licences, license, licenses, fair share, fairshare, qos, limits",
    "guides/slurm-import": "slurm.conf, partition, partitions, sacctmgr",
    "guides/slurm-logs": "sacct, slurmdbd, job array",
    "guides/slurm-live": "live queue, squeue, scontrol, sandbox, private slurm",
    "guides/pbs-swf-logs": "swf, pbs, torque, openpbs, parallel workloads archive",
    "guides/forecasts": "forecast, when will my job start, start time, eta",
    "guides/explain": "why, waiting, stuck, pending",
    "guides/choosing": "backfill, backfilling, recommendation, which dispatcher, best dispatcher",
    "guides/studies": "reproducible, seeds, jitter, confidence interval, parallel, dask, shards",
    "guides/predictors": "prediction, machine learning, scikit-learn, walltime prediction",
    "guides/monitoring": "prometheus, node_exporter, openmetrics, grafana",
    "guides/reinforcement-learning": "gym, gymnasium, ppo, torch, neural network, agent",
    "guides/embedding": "api, python api, library",
    "guides/bench": "bench, arena, benchmark, leaderboard, ranking, rlscheduler",
    "guides/batsim": "batsim, pybatsim, batsched, zeromq, zmq, simgrid",
    "tutorials/notebook": "jupyter, notebook, pandas, dataframe",
    "tutorials/first-answer": "tutorial, getting started, quickstart, first steps",
}


def _mark(app: Sphinx) -> tuple[()]:
    # Into the search index: a build that does not read a page again forgets its entries.
    entries = app.builder.indexer._index_entries
    for page, words in WORDS.items():
        entries[page] = sorted(
            {*entries.get(page, ()), *((word, "", "main") for word in words.split(", "))}
        )
    return ()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-collect-pages", _mark)
    return {"parallel_read_safe": True}
