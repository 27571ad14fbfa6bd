"""Everything that cpsched brings, by group and name, as ``module:attribute``: loaded on use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "dispatchers": {
        "fifo": "cpsched.dispatch.rules:Fifo",
        "sjf": "cpsched.dispatch.rules:Sjf",
        "ljf": "cpsched.dispatch.rules:Ljf",
        "greedy": "cpsched.dispatch.rules:Greedy",
        "easy": "cpsched.dispatch.backfilling:Easy",
        "conservative": "cpsched.dispatch.backfilling:Conservative",
        "cp-pool": "cpsched.cp.cp_pool:CpPool",
        "easy-plan": "cpsched.cp.cp_pool:EasyPlan",
        "cp-nodes": "cpsched.cp.cp_nodes:CpNodes",
        "lookahead": "cpsched.cp.lookahead:Lookahead",
        "speculative": "cpsched.dispatch.speculative:Speculative",
        "preempt": "cpsched.dispatch.preemption:Preemption",
        "aucsched1": "cpsched.papers.auction.aucsched:Aucsched1",
        "aucsched2": "cpsched.papers.auction.aucsched:Aucsched2",
        "aucsched3": "cpsched.papers.auction.aucsched:Aucsched3",
        "batsim": "cpsched.batsim.dispatcher:Batsim",
        "cp-malleable": "cpsched.papers.malleable.planned:CpMalleable",
        "dn-dbes": "cpsched.papers.dn_dbes.dispatcher:DnDbes",
        "ipsched": "cpsched.papers.ipsched.dispatcher:Ipsched",
        "malleable": "cpsched.papers.malleable.dispatcher:Malleable",
        "learned": "cpsched.gym.dispatcher:LearnedDispatcher",
        "slurm": "cpsched.slurm.dispatch.dispatcher:Slurm",
        "slurm-backfill": "cpsched.slurm.dispatch.plain:SlurmBackfill",
        "wla": "cpsched.papers.wla.dispatcher:Wla",
    },
    "allocators": {
        "first-fit": "cpsched.dispatch.allocators:FirstFit",
        "best-fit": "cpsched.dispatch.allocators:BestFit",
        "pack": "cpsched.dispatch.allocators:Pack",
        "balanced": "cpsched.dispatch.allocators:Balanced",
        "spare-scarce": "cpsched.dispatch.allocators:SpareScarce",
        "fgd": "cpsched.dispatch.allocators:Fgd",
        "lowest-switch": "cpsched.dispatch.allocators:LowestSwitch",
        "fewest-groups": "cpsched.dispatch.allocators:FewestGroups",
        "contiguous": "cpsched.dispatch.allocators:Contiguous",
    },
    "priorities": {
        "fifo": "cpsched.dispatch.orders:FifoOrder",
        "sjf": "cpsched.dispatch.orders:SjfOrder",
        "ljf": "cpsched.dispatch.orders:LjfOrder",
        "expected-wait": "cpsched.dispatch.orders:ExpectedWait",
        "slowdown": "cpsched.dispatch.orders:Slowdown",
        "wsept": "cpsched.dispatch.orders:Wsept",
        "basic": "cpsched.papers.priorities:Basic",
        "f1": "cpsched.papers.priorities:F1",
        "f2": "cpsched.papers.priorities:F2",
        "f3": "cpsched.papers.priorities:F3",
        "f4": "cpsched.papers.priorities:F4",
        "multifactor": "cpsched.papers.priorities:Multifactor",
        "unicef": "cpsched.papers.priorities:Unicef",
        "wfp3": "cpsched.papers.priorities:Wfp3",
    },
    "log_formats": {
        "swf": "cpsched.logs.swf:SWF",
        "table": "cpsched.logs.tables:TABLE",
        "pbs": "cpsched.logs.pbs.format:PBS",
        "sacct": "cpsched.logs.sacct.format:SACCT",
    },
    "runtime_models": {
        "recorded": "cpsched.simulation.runtime_models:Recorded",
        "amdahl": "cpsched.simulation.runtime_models:Amdahl",
        "gpu-scaling": "cpsched.papers.gpu_scaling:GpuScaling",
        "locality": "cpsched.papers.locality:Locality",
    },
    "outages": {
        "none": "cpsched.simulation.outages:NoOutages",
        "random": "cpsched.simulation.outages:RandomOutages",
        "table": "cpsched.simulation.outages:OutageTable",
        "during": "cpsched.simulation.outages:OutageDuring",
    },
    "changes": {
        "add-nodes": "cpsched.study.log_changes.machine:AddNodes",
        "cap-request": "cpsched.study.log_changes.jobs:CapRequest",
        "default-time": "cpsched.study.log_changes.machine:DefaultTime",
        "drop": "cpsched.study.log_changes.jobs:Drop",
        "keep": "cpsched.study.log_changes.jobs:Keep",
        "max-time": "cpsched.study.log_changes.machine:MaxTime",
        "outage": "cpsched.study.log_changes.machine:Outage",
        "priority-tier": "cpsched.study.log_changes.machine:PriorityTier",
        "remove-nodes": "cpsched.study.log_changes.machine:RemoveNodes",
        "scale-load": "cpsched.study.log_changes.jobs:ScaleLoad",
    },
    "predictors": {
        "requested": "cpsched.model.estimates:Requested",
        "actual": "cpsched.model.estimates:Actual",
        "knn": "predictors.knn:Knn",
        "last": "predictors.last:Last",
        "user-history": "predictors.user_history:UserHistory",
        "user-history-plus": "predictors.user_history:UserHistoryPlus",
        "gbm-log": "predictors.gbm:GbmLog",
        "gbm-quantile": "predictors.gbm:GbmQuantile",
    },
    "checks": {
        "dispatcher": "cpsched.checks:CHECKS",
        "predictor": "cpsched.checks.of_predictors:CHECKS",
    },
    "generators": {
        "esp": "cpsched.papers.generators.esp:ESP",
        "esp-nodes": "cpsched.papers.generators.esp:ESP_NODES",
        "eurora": "cpsched.papers.generators.eurora:EURORA",
        "heterogeneous": "cpsched.papers.generators.heterogeneous:HETEROGENEOUS",
        "site": "cpsched.slurm.site:SITE",
    },
    "observers": {
        "negotiation": "cpsched.papers.dn_dbes.record:NegotiationLog",
    },
    "exports": {
        "accasim": "accasim_adapter.files:write",
        "slurm": "cpsched.logs.sacct.write:write_schedule",
    },
    "topology_files": {
        "slurm": "cpsched.slurm.config.topology:TOPOLOGY_FILES",
    },
    "system_files": {
        "json": "accasim_adapter.config:parse",
        "toml": "cpsched.systems:parse",
    },
    "model_files": {
        "cpsched": "predictors.model_file:predictor_of",
    },
    "plots": {
        "queue": "cpsched.report.run_plots:queue",
        "schedule": "cpsched.report.run_plots:schedule",
        "size": "cpsched.report.run_plots:size",
        "slowdown": "cpsched.report.run_plots:slowdown",
        "use": "cpsched.report.run_plots:use",
        "wait": "cpsched.report.run_plots:wait",
    },
}

#: Presets: names for others with some options, of which nothing but the long form is recorded.
#: Those of EASY by other orders, and the variants of Remediani 2017.
ALIASES: Mapping[str, Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "dispatchers": {
        "easy-wsept": ("easy", {"order": "wsept", "estimate": "requested"}),
        "easy-slowdown": ("easy", {"order": "slowdown"}),
        "prb": ("greedy", {"order": "expected-wait"}),
        "sdprb": ("greedy", {"order": "slowdown"}),
    }
    | {
        f"{preset}-{number}": (name, {"search": search, "objective": objective, **own})
        for preset, name, own_search, own in (
            ("cph", "cp-pool", "expected-wait", {"fill": "none"}),
            ("cp", "cp-nodes", "default", {}),
        )
        for number, (search, objective) in enumerate(
            (
                (own_search, "expected-wait"),
                ("slowdown", "expected-wait"),
                (own_search, "slowdown"),
                ("slowdown", "slowdown"),
            )
        )
    }
}
