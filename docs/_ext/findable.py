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
    "start/installation": "install, installation, pip, conda, compiler, offline",
    "start/quickstart": "quickstart, demo, getting started, first steps",
    "start/concepts": "concepts, fcfs, tau, baseline, runtime estimate",
    "start/faq": "faq, question, troubleshooting, limitations, rejected, help, bug, memory usage",
    "tutorials/your-log": "tutorial, own log, own cluster",
    "tutorials/your-slurm": "own slurm",
    "tutorials/notebook": "jupyter, notebook, pandas, dataframe",
    "tutorials/your-dispatcher": "own dispatcher, own scheduler",
    "guides/describe-a-system": "gpu, gpus, machine, cluster, memory, node, nodes, topology, torus",
    "guides/read-a-log": "swf, pbs, torque, openpbs, parallel workloads archive, sacct, slurmdbd",
    "guides/generate-a-log": "generator, generate, synthetic log, lublin",
    "guides/large-logs": "large log, millions of jobs, split, checkpoint",
    "guides/choose-a-dispatcher": "recommendation, which dispatcher, best dispatcher",
    "guides/compare": "reproducible, repetitions, seeds, jitter, parallel, dask, workers",
    "guides/what-if": "what if, scenario, add nodes, capacity planning",
    "guides/validate": "validate, validation, fidelity, accuracy, recorded waits",
    "guides/report": "export, csv, excel, spreadsheet, html, pdf, latex, plot, figure, gantt",
    "guides/predictors": "prediction, machine learning, scikit-learn, walltime prediction",
    "guides/benchmark": "bench, benchmark, leaderboard, ranking",
    "guides/explain-and-forecast": "forecast, start time, eta, why, waiting, stuck, pending",
    "guides/import-slurm": "slurm.conf, partition, partitions, sacctmgr",
    "guides/live-slurm": "live queue, squeue, scontrol, sandbox, private slurm, prometheus",
    "guides/preemption-restarts-outages": "preemption, requeue, restart, outage, maintenance",
    "guides/malleable": "malleable, moldable, resize",
    "guides/embed": "api, library, embed, plug into",
    "guides/write-a-dispatcher": "decide, view, allocator",
    "guides/write-a-predictor": "predictor class",
    "guides/reinforcement-learning": "gym, gymnasium, ppo, torch, neural network, agent",
    "guides/other-simulators": "batsim, pybatsim, batsched, zeromq, zmq, simgrid, accasim",
    "background/simulation-model": "event loop, simulated time, overrun",
    "background/metrics": "bounded slowdown, utilization, confidence interval, significance",
    "background/easy": "easy, backfill, backfilling, shadow time",
    "background/list-plans": "wsept, ageing, aging, list plan, smith's rule",
    "background/constraint-programming": "constraint programming, cp-sat, cp-pool, or-tools",
    "background/slurm-model": "fair share, fairshare, qos, limits, licence, license, bf_window",
    "background/forecasts": "forecast method, crps",
    "background/trust": "verification, look-ahead, determinism",
    "background/related-work": "alea, cqsim, slurm simulator, comparison with other simulators",
    "results/dispatchers-on-ten-logs": "ten logs, gain",
    "results/benchmark-v1": "benchmark results",
    "results/slurm-fidelity": "slurm fidelity",
    "results/forecasts": "forecast results",
    "results/speed": "speed, performance, jobs per second",
    "papers/index": "reproduce a paper, papers",
    "papers/remediani-thesis": "remediani, cph, sdprb, prb",
    "papers/co-allocation": "ipsched, aucsched, co-allocation",
    "papers/locality": "wla, locality",
    "papers/malleable": "dn-dbes, evolving",
    "papers/rlscheduler-table-v": "rlscheduler",
    "project/architecture": "architecture, layers, design",
    "project/contributing": "contributing, development, release",
    "project/versions": "versions, changelog, licences of packages",
    "project/cite": "cite, citation, bibtex, bibliography, doi",
    "reference/commands": "commands, command line, cli, options",
    "reference/registry": "registry, list of dispatchers, orders, allocators",
    "reference/python": "python api, functions, classes",
    "reference/plug-ins": "plug-in, plugin, entry point",
    "reference/system-file": "system file, toml, walltime, time limit",
    "reference/study": "study file, study folder",
    "reference/run-folder": "run folder, parquet, jobs.parquet, metrics.json",
    "reference/log-columns": "columns, job array, elapsed",
    "reference/live-slurm": "openmetrics, grafana, token",
    "reference/verifier": "verifier, rules",
    "reference/glossary": "glossary, terms, definitions",
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
