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
        "prb": "cpsched.dispatch.rules:Prb",
        "easy": "cpsched.dispatch.backfilling:Easy",
        "conservative": "cpsched.dispatch.backfilling:Conservative",
        "cph": "cpsched.cp.hybrid:Cph",
        "planned-easy": "cpsched.cp.hybrid:PlannedEasy",
        "cp": "cpsched.cp.pure:Cp",
        "plan": "cpsched.cp.plan:WholeQueue",
        "try": "cpsched.dispatch.try_runs:TryRuns",
        "preempt": "cpsched.dispatch.preemption:Preemption",
        "aucsched1": "cpsched_papers.auction.aucsched:Aucsched1",
        "aucsched2": "cpsched_papers.auction.aucsched:Aucsched2",
        "aucsched3": "cpsched_papers.auction.aucsched:Aucsched3",
        "batsim": "batsim_adapter.dispatcher:Batsim",
        "cp-malleable": "cpsched_papers.malleable.planned:CpMalleable",
        "dn-dbes": "cpsched_papers.dn_dbes.dispatcher:DnDbes",
        "ipsched": "cpsched_papers.ipsched.dispatcher:Ipsched",
        "malleable": "cpsched_papers.malleable.dispatcher:Malleable",
        "policy": "gym_environment.dispatcher:TrainedPolicy",
        "slurm": "slurm_adapter.dispatch.dispatcher:Slurm",
        "slurm-backfill": "slurm_adapter.dispatch.plain:SlurmBackfill",
        "wla": "cpsched_papers.wla.dispatcher:Wla",
    },
    "allocators": {
        "first-fit": "cpsched.dispatch.allocators:FirstFit",
        "best-fit": "cpsched.dispatch.allocators:BestFit",
        "consolidate": "cpsched.dispatch.allocators:Consolidate",
        "balanced": "cpsched.dispatch.allocators:Balanced",
        "frugal": "cpsched.dispatch.allocators:Frugal",
        "least-loss": "cpsched.dispatch.allocators:LeastLoss",
        "lowest-switch": "cpsched.dispatch.allocators:LowestSwitch",
        "fewest-groups": "cpsched.dispatch.allocators:FewestGroups",
        "contiguous": "cpsched.dispatch.allocators:Contiguous",
    },
    "priorities": {
        "fifo": "cpsched.dispatch.priority:Fifo",
        "sjf": "cpsched.dispatch.priority:Sjf",
        "ljf": "cpsched.dispatch.priority:Ljf",
        "expected-wait": "cpsched.dispatch.priority:ExpectedWait",
        "slowdown": "cpsched.dispatch.priority:Slowdown",
        "urgency": "cpsched.dispatch.priority:Urgency",
        "basic": "cpsched_papers.priorities:Basic",
        "f1": "cpsched_papers.priorities:F1",
        "f2": "cpsched_papers.priorities:F2",
        "f3": "cpsched_papers.priorities:F3",
        "f4": "cpsched_papers.priorities:F4",
        "multifactor": "cpsched_papers.priorities:Multifactor",
        "unicef": "cpsched_papers.priorities:Unicef",
        "wfp3": "cpsched_papers.priorities:Wfp3",
    },
    "traces": {
        "swf": "cpsched.traces.swf:SWF",
        "table": "cpsched.traces.table:TABLE",
        "pbs": "pbs_logs.format:PBS",
        "sacct": "slurm_adapter.sacct.format:SACCT",
    },
    "runtime_models": {
        "recorded": "cpsched.simulation.runtime_models:Recorded",
        "amdahl": "cpsched.simulation.runtime_models:Amdahl",
        "gpu-scaling": "cpsched_papers.gpu_scaling:GpuScaling",
        "locality": "cpsched_papers.locality:Locality",
    },
    "outages": {
        "none": "cpsched.simulation.outages:NoOutages",
        "drawn": "cpsched.simulation.outages:DrawnOutages",
        "table": "cpsched.simulation.outages:OutageTable",
        "during": "cpsched.simulation.outages:OutageDuring",
    },
    "changes": {
        "add-nodes": "log_changes.machine:AddNodes",
        "cap-request": "log_changes.jobs:CapRequest",
        "drop": "log_changes.jobs:Drop",
        "keep": "log_changes.jobs:Keep",
        "max-time": "log_changes.machine:MaxTime",
        "outage": "log_changes.machine:Outage",
        "remove-nodes": "log_changes.machine:RemoveNodes",
        "scale-load": "log_changes.jobs:ScaleLoad",
    },
    "predictors": {
        "requested": "cpsched.model.estimates:Requested",
        "actual": "cpsched.model.estimates:Actual",
        "jobs-alike": "predictors.jobs_alike:JobsAlike",
        "last": "predictors.last:Last",
        "user-history": "predictors.user_history:UserHistory",
        "user-history-plus": "predictors.user_history:UserHistoryPlus",
        "gbm-log": "predictors.gbm:GbmLog",
        "gbm-quantile": "predictors.gbm:GbmQuantile",
    },
    "checks": {
        "dispatcher": "cpsched.checks:CHECKS",
        "predictor": "predictors.checks:CHECKS",
    },
    "generators": {
        "esp": "cpsched_papers.generators.esp:ESP",
        "esp-nodes": "cpsched_papers.generators.esp:ESP_NODES",
        "eurora": "cpsched_papers.generators.eurora:EURORA",
        "heterogeneous": "cpsched_papers.generators.heterogeneous:HETEROGENEOUS",
        "site": "slurm_adapter.site:SITE",
    },
    "observers": {
        "negotiation": "cpsched_papers.dn_dbes.record:NegotiationLog",
    },
    "overviews": {
        "across-logs": "across_logs.overview:overview",
    },
    "reports": {
        "html": "html_report.make:make_report",
    },
    "backends": {
        "slurm-arrays": "job_arrays.backend:SlurmArrays",
    },
    "scripts": {
        "slurm": "slurm_adapter.sacct.batch_script:read",
    },
    "formats": {
        "accasim": "accasim_adapter.files:write",
        "slurm": "slurm_adapter.sacct.write:write_run",
    },
    "policy_files": {
        "slurm": "slurm_adapter.config.policy_kind:POLICY_FILES",
    },
    "topology_files": {
        "slurm": "slurm_adapter.config.topology:TOPOLOGY_FILES",
    },
    "system_files": {
        "json": "accasim_adapter.config:parse",
    },
    "model_files": {
        "cpsched": "predictors.model_file:predictor_of",
    },
    "plots": {
        "queue": "run_plots.kinds:queue",
        "schedule": "run_plots.kinds:schedule",
        "size": "run_plots.kinds:size",
        "slowdown": "run_plots.kinds:slowdown",
        "use": "run_plots.kinds:use",
        "wait": "run_plots.kinds:wait",
    },
    "commands": {
        "accasim": "accasim_adapter.command:register",
        "bench": "arena.command:register",
        "batsim": "batsim_adapter.command:register",
        "evaluate": "predictors.evaluate_command:register",
        "negotiation": "cpsched_papers.dn_dbes.commands:register",
        "report": "html_report.command:register",
        "slurm": "slurm_adapter.command:register",
        "train": "predictors.train_command:register",
        "try": "first_look.command:register",
        "when": "start_forecasts.command:register",
    },
}

#: Presets: names for others with some options, of which nothing but the long form is recorded.
#: Those of EASY by other orders, and the eight variants of Remediani 2017.
ALIASES: Mapping[str, Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "dispatchers": {
        "easy-urgency": ("easy", {"priority": "urgency", "reserve": "requested"}),
        "easy-slowdown": ("easy", {"priority": "slowdown"}),
    }
    | {
        f"{name}-{number}": (name, {"search": search, "objective": objective, **own})
        for name, own_search, own in (
            ("cph", "expected-wait", {"fill": "none"}),
            ("cp", "default", {}),
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
