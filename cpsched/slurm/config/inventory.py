"""
Every key that Slurm 25.11 knows, and its treatment here.

A key is modelled, or irrelevant for when and where jobs start (with the reason), or reported (with
what is simulated instead). A key that is in no list is reported as unknown.

Sources: the arrays of options in ``src/common/read_config.c`` of Slurm 25.11 and the pages
slurm.conf(5), sacctmgr(1) and scontrol(1) of 22.05 and 25.11. Keys of older versions are there,
too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Fate(Enum):
    """The treatment of a key."""

    MODELLED = "modelled"
    IRRELEVANT = "irrelevant"
    REPORTED = "reported"
    UNKNOWN = "unknown"


class Treatment(NamedTuple):
    """
    The treatment of a key, and its reason.

    Attributes
    ----------
    fate
        Modelled, irrelevant, reported or unknown.
    why
        The reason, or what is simulated instead.
    off
        Values in lower case at which nothing is lost.
    """

    fate: Fate
    why: str = ""
    off: tuple[str, ...] = ()


UNKNOWN = Treatment(Fate.UNKNOWN, "unknown key, which is ignored")
#: Values in lower case that say that there is none of something, or that change nothing.
NOTHING = ("", "(null)", "n/a", "none", "no", "0", "-1", "off", "false")
#: Values in lower case of a limit that there is not.
NO_LIMIT = ("unlimited", "infinite", "4294967295", "18446744073709551615")


@dataclass(frozen=True)
class Inventory:
    """
    The keys of one kind of line, of a list of words, or of a table.

    Parameters
    ----------
    modelled
        Names with spaces between.
    irrelevant
        The same by the reason.
    reported
        What is simulated instead by the name; with values at which nothing is lost, where there
        are others than :data:`NOTHING`.
    """

    modelled: str = ""
    irrelevant: Mapping[str, str] = field(default_factory=dict)
    reported: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    names: dict[str, str] = field(init=False, default_factory=dict)
    _known: dict[str, Treatment] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.modelled.split():
            self._add(name, Treatment(Fate.MODELLED))
        for why, names in self.irrelevant.items():
            for name in names.split():
                self._add(name, Treatment(Fate.IRRELEVANT, why))
        for name, entry in self.reported.items():
            instead, *off = (entry,) if isinstance(entry, str) else entry
            self._add(name, Treatment(Fate.REPORTED, instead, tuple(off)))

    def _add(self, name: str, treatment: Treatment) -> None:
        key = name.lower()
        if key in self._known:
            raise ValueError(f"{name} is in two lists")
        self._known[key], self.names[key] = treatment, name

    def of(self, key: str) -> Treatment:
        """Return the treatment of a key, which may be in any case."""
        return self._known.get(key.lower(), UNKNOWN)

    def is_lost(self, key: str, value: str) -> bool:
        """Return whether a value of a key has no effect although it should have one."""
        treatment = self.of(key)
        if treatment.fate in (Fate.MODELLED, Fate.IRRELEVANT):
            return False
        return value.strip().lower() not in (*NOTHING, *treatment.off)


_AT_SUBMISSION = "decides at submission (the log has the accepted jobs)"
_ON_NODES = "concerns processes inside a job"
_INSTANT = "a pass takes no time"
_GONE = "without effect in current Slurm"

#: Keys of slurm.conf, and further ones of ``scontrol show config``.
SLURM_CONF = Inventory(
    modelled="""
        AccountingStorageEnforce ClusterName FairShareDampeningFactor JobRequeue Licenses
        PreemptExemptTime PreemptMode PreemptParameters PreemptType
        PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall PriorityFlags PriorityMaxAge
        PriorityType PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc
        PriorityWeightFairshare PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS
        PriorityWeightTRES SchedulerParameters SchedulerType SelectType SelectTypeParameters
        TopologyPlugin DownNodes NodeName NodeSet PartitionName
        DependencyParameters SlurmctldParameters TopologyParam
    """,
    irrelevant={
        "accounting and its database": """
            AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost
            AccountingStorageLoc AccountingStorageParameters AccountingStoragePass
            AccountingStoragePort AccountingStorageTRES AccountingStorageType AccountingStorageUser
            AccountingStoreFlags AccountingStoreJobComment JobCompHost JobCompLoc JobCompParams
            JobCompPass JobCompPassScript JobCompPort JobCompType JobCompUser MaxDBDMsgs TrackWCKey
        """,
        "measures what jobs use": """
            AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType
            AcctGatherInterconnectType AcctGatherNodeFreq AcctGatherProfileType ExtSensorsFreq
            ExtSensorsType JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType MetricsType
        """,
        "authentication and communication": """
            AuthAltParameters AuthAltTypes AuthInfo AuthType BackupAddr BackupController
            CertgenParameters CertgenType CertmgrParameters CertmgrType CommunicationParameters
            ControlAddr ControlMachine CredType CryptoType EioTimeout HashPlugin HttpParserType
            JobCredentialPrivateKey JobCredentialPublicCertificate KeepAliveTime MessageTimeout
            RoutePlugin SlurmctldAddr SlurmctldHost SlurmctldPort SlurmctldPrimaryOffProg
            SlurmctldPrimaryOnProg SlurmdPort SrunPortRange TCPTimeout TLSParameters TLSType
            TreeWidth UrlParserType
        """,
        "files, logs, mail and permissions to look": """
            DataParserParameters DebugFlags FirstJobId LogTimeFormat MailDomain MailProg MaxJobId
            PluginDir PlugStackConfig PrivateData SlurmctldDebug SlurmctldLogFile SlurmctldPidFile
            SlurmctldPlugstack SlurmctldSyslogDebug SlurmdDebug SlurmdLogFile SlurmdPidFile
            SlurmdSpoolDir SlurmdSyslogDebug SlurmdUser SlurmSchedLogFile SlurmSchedLogLevel
            SlurmUser StateSaveLocation TmpFS UsePAM X11Parameters
        """,
        _ON_NODES: """
            BatchStartTimeout BcastExclude BcastParameters CoreSpecPlugin CpuFreqDef
            CpuFreqGovernors GetEnvTimeout GpuFreqDef InactiveLimit InteractiveStepOptions
            JobContainerType JobFileAppend KillOnBadExit KillWait LaunchParameters LaunchType
            MaxStepCount MaxTasksPerNode MpiDefault MpiParams NamespaceType ProctrackType
            PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept
            SallocDefaultCommand SbcastParameters SrunEpilog SrunProlog SwitchParameters SwitchType
            TaskEpilog TaskPlugin TaskPluginParam TaskProlog UnkillableStepProgram
            UnkillableStepTimeout VSizeFactor WaitTime
        """,
        "scripts around a job, which are reported by their own keys": """
            EpilogMsgTime EpilogTimeout PrEpParameters PrEpPlugins PrologEpilogTimeout PrologFlags
            PrologTimeout
        """,
        _AT_SUBMISSION: """
            AllowSpecResourcesUsage CliFilterParameters CliFilterPlugins DefCPUPerGPU DefMemPerCPU
            DefMemPerGPU DefMemPerNode DisableRootJobs EnforcePartLimits GresTypes JobDefaults
            MaxArraySize MaxJobCount MaxMemPerCPU MaxMemPerNode ScronParameters
        """,
        "how the daemons run": """
            FastSchedule GroupUpdateForce GroupUpdateTime HealthCheckInterval HealthCheckNodeState
            HealthCheckProgram MaxNodeCount MinJobAge RebootProgram ReconfigFlags ReturnToService
            SlurmctldTimeout SlurmdParameters SlurmdTimeout
        """,
        "power saving, which is reported as a whole": """
            ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout SuspendExcNodes
            SuspendExcParts SuspendExcStates SuspendProgram SuspendRate SuspendTime SuspendTimeout
        """,
        "parameters of a plug-in, which is reported by its own key": """
            BurstBufferParameters MCSParameters PowerParameters PriorityParameters
            PrioritySiteFactorParameters SchedulerTimeSlice
        """,
        "the state and the build of the controller": """
            BOOT_TIME HASH_VAL HAVE_FRONT_END MULTIPLE_SLURMD NEXT_JOB_ID SLURM_CONF SLURM_VERSION
        """,
        _GONE: """
            CacheGroups CheckpointType ChosLoc DefaultStorageHost DefaultStorageLoc
            DefaultStoragePass DefaultStoragePort DefaultStorageType DefaultStorageUser
            DynAllocPort JobCheckpointDir LayoutsConfig MemLimitEnforce MsgAggregationParams
            SchedulerAuth SchedulerPort SchedulerRootFilter ZoltanConfig
        """,
    },
    reported={
        "BurstBufferType": ("jobs start without staging data", "burst_buffer/none"),
        "CompleteWait": "nodes are free as soon as a job has ended",
        "Epilog": "epilogs take no time",
        "EpilogSlurmctld": "epilogs take no time",
        "FederationParameters": "the cluster is in no federation",
        "FrontendName": "nodes have no front ends",
        "JobSubmitPlugins": "jobs are as in the log, after the changes of such plug-ins",
        "MaxBatchRequeue": ("jobs are requeued any number of times", "5"),
        "MCSPlugin": ("jobs of several MCS labels share nodes", "mcs/none"),
        "NodeFeaturesPlugins": "nodes keep the features that they have",
        "OverTimeLimit": "jobs end at their time limit",
        "PowerPlugin": ("power has no limit", "power/none"),
        "PrioritySiteFactorPlugin": ("priorities have no site factor", "site_factor/none"),
        "Prolog": "prologs take no time (cpsched validate measures how late jobs start)",
        "PrologSlurmctld": "prologs take no time (cpsched validate measures how late jobs start)",
        "RequeueExit": "no job is requeued for its exit code",
        "RequeueExitHold": "no job is requeued for its exit code",
        "ResvEpilog": "scripts of reservations take no time",
        "ResvOverRun": "jobs may not run beyond the end of their reservation",
        "ResvProlog": "scripts of reservations take no time",
    },
)

#: Keys that may be given several times: all of them count.
REPEATED = frozenset(
    ("slurmctldhost", "prolog", "epilog", "prologslurmctld", "epilogslurmctld", "include")
)

_NEVER_CUT_SHORT = "a scheduling pass takes no time and is never cut short"
#: Words of SchedulerParameters, ``name`` or ``name=value``.
SCHEDULER = Inventory(
    modelled="""
        assoc_limit_stop batch_sched_delay bf_interval bf_job_part_count_reserve
        bf_max_job_array_resv bf_max_job_assoc bf_max_job_part bf_max_job_start bf_max_job_test
        bf_max_job_user bf_max_job_user_part bf_min_age_reserve bf_min_prio_reserve bf_res
        bf_resolution bf_window bf_window_linear default_queue_depth defer defer_batch max_job_bf
        partition_job_depth preempt_youngest_first sched_interval sched_max_job_start
        sched_min_interval
    """,
    irrelevant={
        _INSTANT: """
            bf_continue bf_yield_interval bf_yield_sleep bf_yield_rpc_cnt bf_yield_rpc_count
            build_queue_timeout
        """,
        _AT_SUBMISSION: """
            allow_zero_lic ignore_constraint_validation ignore_prefer_validation max_array_tasks
            max_script_size max_submit_line_size
        """,
        _ON_NODES: """
            disable_hetjob_steps enable_hetjob_steps Ignore_NUMA no_env_cache
            preempt_send_user_signal requeue_setup_env_fail salloc_wait_nodes sbatch_wait_nodes
            spec_cores_first step_retry_count step_retry_time
        """,
        "how the daemons run": "enable_job_state_cache no_backup_scheduling",
        "how dependencies of arrays are looked up": "correspond_after_task_cnt",
        "burst buffers, which are reported by their own key": "bb_array_stage_cnt",
        "the log has the size that jobs had": "disable_job_shrink",
        "commands for whole heterogeneous jobs": "whole_hetjob whole_pack",
    },
    reported={
        "bf_allow_magnetic_slot": "MAGNETIC reservations attract no jobs",
        "bf_busy_nodes": "backfill takes nodes in the usual order, in use or not",
        "bf_hetjob_immediate": "each component of a heterogeneous job is a job of its own",
        "bf_hetjob_prio": "each component of a heterogeneous job is a job of its own",
        "bf_licenses": "backfill reserves nothing for jobs that wait for licences",
        "bf_max_time": _NEVER_CUT_SHORT,
        "bf_node_space_size": "backfill makes any number of reservations",
        "bf_one_resv_per_job": "a job in several partitions may have a reservation in each",
        "bf_running_job_reserve": "backfill makes no reservations for running jobs",
        "bf_topopt_enable": "no job waits for nodes of a better topology",
        "bf_topopt_iterations": "no job waits for nodes of a better topology",
        "delay_boot": "nodes keep the features that they have",
        "enable_user_top": "users do not reorder their jobs",
        "extra_constraints": "jobs run on nodes without regard to --extra",
        "max_rpc_cnt": _NEVER_CUT_SHORT,
        "max_rpc_count": _NEVER_CUT_SHORT,
        "max_sched_time": _NEVER_CUT_SHORT,
        "max_switch_wait": (
            "a job that gives --switches without a time waits 300 s for them",
            "300",
        ),
        "nohold_on_prolog_fail": "prologs never fail",
        "pack_serial_at_end": "one-core jobs go to the same nodes as other jobs",
        "preempt_reorder_count": ("Slurm tries once to preempt fewer jobs", "1"),
        "preempt_strict_order": "Slurm tries once to preempt fewer jobs",
        "reduce_completing_frag": "nodes are free as soon as a job has ended",
        "requeue_delay": ("a requeued job waits 121 s before it may start again", "120"),
        "requeue_on_resume_failure": "nodes are always on",
        "time_min_as_soft_limit": "jobs are planned with their time limit, not with --time-min",
    },
)

#: Words of other lists of slurm.conf, by the key.
WORDS: Mapping[str, Inventory] = {
    "SchedulerParameters": SCHEDULER,
    "PreemptParameters": Inventory(
        modelled="youngest_first",
        irrelevant={_ON_NODES: "send_user_signal"},
        reported={
            "min_exempt_priority": "jobs of any priority may be preempted",
            "reclaim_licenses": "no job is preempted for licences",
            "reorder_count": ("Slurm tries once to preempt fewer jobs", "1"),
            "strict_order": "Slurm tries once to preempt fewer jobs",
            "suspend_grace_time": ("jobs are suspended at once", "2"),
        },
    ),
    "PreemptMode": Inventory(
        modelled="OFF CANCEL REQUEUE SUSPEND",
        reported={
            "GANG": "jobs do not take turns on the same cores",
            "PRIORITY": "preemption works as without this word",
            "WITHIN": "jobs of one QOS do not preempt each other",
        },
    ),
    "PriorityFlags": Inventory(
        modelled="""
            ACCRUE_ALWAYS FAIR_TREE INCR_ONLY MAX_TRES NO_FAIR_TREE NO_NORMAL_ALL NO_NORMAL_ASSOC
            NO_NORMAL_PART NO_NORMAL_QOS NO_NORMAL_TRES SMALL_RELATIVE_TO_TIME
        """,
        irrelevant={"priorities of running jobs decide nothing": "CALCULATE_RUNNING"},
        reported={
            "DEPTH_OBLIVIOUS": "the classic fair-share factor depends on depth (NO_FAIR_TREE)",
            "MAX_TRES_GRES": "billing is the sum of all TRES",
            "TICKET_BASED": "the fair-share factor is not ticket based",
        },
    ),
    "SelectTypeParameters": Inventory(
        modelled="CR_CPU CR_CPU_Memory CR_Core CR_Core_Memory CR_Memory",
        irrelevant={
            "where tasks are placed inside an allocation": """
                CR_CORE_DEFAULT_DIST_BLOCK CR_Pack_Nodes LL_SHARED_GRES
            """,
            "the log has the CPUs that jobs got": "CR_ONE_TASK_PER_CORE",
            _GONE: "OTHER_CONS_RES OTHER_CONS_TRES",
        },
        reported={
            "CR_LLN": "nodes are taken in the usual order, not the least loaded first",
            "CR_Socket": "jobs get cores, not whole sockets",
            "CR_Socket_Memory": "jobs get cores, not whole sockets",
            "ENFORCE_BINDING_GRES": "any core of a node may serve any of its GPUs",
            "MULTIPLE_SHARING_GRES_PJ": "shards are counted on a node, not on a GPU",
            "ONE_TASK_PER_SHARING_GRES": "shards are counted on a node, not on a GPU",
        },
    ),
    "TopologyParam": Inventory(
        irrelevant={
            "how messages travel and ranks are numbered": """
                BlockAsNodeRank RoutePart RouteTree SwitchAsNodeRank
            """
        },
        reported={
            "Dragonfly": "jobs are placed as in a tree of switches",
            "TopoMaxSizeUnroll": "a job's range of nodes stays as requested",
            "TopoOptional": "the dispatcher decides whether jobs are placed by topology",
        },
    ),
    "DependencyParameters": Inventory(
        irrelevant={
            "one cluster alone": "disable_remote_singleton",
            "how deep dependencies are looked up": "max_depend_depth",
        },
        reported={
            "kill_invalid_depend": "a job whose dependency cannot be met waits until the log ends"
        },
    ),
    "SlurmctldParameters": Inventory(
        irrelevant={
            "how the controller runs": """
                allow_user_triggers conmgr_connect_timeout conmgr_max_connections
                conmgr_quiesce_timeout conmgr_read_timeout conmgr_threads conmgr_use_poll
                conmgr_wait_write_delay conmgr_write_timeout disable_triggers enable_async_reply
                enable_configless enable_stepmgr max_dbd_msg_action no_quick_restart
                node_reg_mem_percent preempt_send_user_signal reboot_from_controller
                reconfig_on_restart rl_bucket_size rl_enable rl_log_freq rl_refill_period
                rl_refill_rate rl_table_size user_resv_delete validate_nodeaddr_threads
            """,
            "power saving, which is reported as a whole": """
                cloud_dns cloud_reg_addrs idle_on_node_suspend power_save_interval
                power_save_min_interval
            """,
        },
        reported={
            "enable_expedited_requeue": "requeued jobs do not go to the top of the queue",
            "max_powered_nodes": "nodes are always on",
        },
    ),
    "AccountingStorageEnforce": Inventory(
        modelled="all associations limits none qos safe 0 1 2",
        irrelevant={"contents of the records": "nojobs nosteps", _AT_SUBMISSION: "wckeys 4"},
    ),
}

#: Keys of a line NodeName, and further ones of ``scontrol show node``.
NODE = Inventory(
    modelled="""
        Boards CoreSpecCount CoresPerSocket CPUs CPUSpecList Feature Features Gres MemSpecLimit
        NodeName Procs RealMemory Sockets SocketsPerBoard State ThreadsPerCore Weight CpuEffective
        CPUEfctv CPUTot AvailableFeatures
    """,
    irrelevant={
        "names and addresses": "BcastAddr NodeAddr NodeHostname Port",
        "where tasks are bound": "CpuBind",
        "a text": "Reason Comment Extra Reservation InstanceId InstanceType",
        "only shown, since 22.05": "TRESWeights",
        "the state of a node now": """
            ActiveFeatures AllocMem AllocTRES Arch AveWatts BootTime CapWatts CfgTRES ConsumedJoules
            CoreSpec CPUAlloc CPUErr CPULoad CurrentWatts EnergyWatts ExtSensorsJoules
            ExtSensorsTemp ExtSensorsWatts FreeMem GresDrain GresUsed GpuSpec JobDefaults
            LastBusyTime LowestJoules MCS_label NextState OS Owner Partitions PowerManagement
            ResumeAfterTime SlurmdStartTime Version CertLastRenewal TLSCertLastRenewal
        """,
    },
    reported={
        "GresConf": "the resources of a node are those of its Gres key",
        "Parameters": "nodes have no parameters of their own",
        "RestrictedCoresPerGPU": "jobs without GPUs may use all cores of a node",
        "TmpDisk": "space on local disks has no limit",
        "Topology": "the node has no topology of its own",
    },
)
NODE_SET = Inventory(modelled="NodeSet Feature Nodes")
DOWN_NODES = Inventory(modelled="DownNodes State", irrelevant={"a text": "Reason"})

#: Keys of a line PartitionName, and further ones of ``scontrol show partition``.
PARTITION = Inventory(
    modelled="""
        AllowAccounts AllowQos Default DefaultTime DenyAccounts DenyQos GraceTime MaxNodes MaxTime
        MinNodes Nodes OverSubscribe PartitionName PreemptMode Priority PriorityJobFactor
        PriorityTier QOS Shared TRESBillingWeights
    """,
    irrelevant={
        "where tasks are bound": "CpuBind",
        "who may look, and root": "DisableRootJobs Hidden",
        _AT_SUBMISSION: """
            DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode JobDefaults MaxMemPerCPU
            MaxMemPerNode
        """,
        "power saving, which is reported as a whole": "ResumeTimeout SuspendTime SuspendTimeout",
        "follows from its nodes": "NodeSets TotalCPUs TotalNodes TRES MaxCPUsPerNodeInfo",
    },
    reported={
        "AllocNodes": ("jobs may come from any node", "all"),
        "AllowAllocNodes": ("jobs may come from any node", "all"),
        "AllowGroups": ("all users may use the partition", "all"),
        "Alternate": "jobs stay in their partition",
        "ExclusiveTopo": "jobs may share blocks of the topology",
        "ExclusiveUser": "jobs of several users may share a node",
        "LLN": "nodes are taken in the usual order, not the least loaded first",
        "MaxCPUsPerNode": ("jobs may use all CPUs of a node", *NO_LIMIT),
        "MaxCPUsPerSocket": ("jobs may use all CPUs of a node", *NO_LIMIT),
        "OverTimeLimit": "jobs end at their time limit",
        "PowerDownOnIdle": "nodes are always on",
        "ReqResv": "jobs need no reservation",
        "RootOnly": "all users may use the partition",
        "SelectTypeParameters": "SelectTypeParameters of slurm.conf apply",
        "State": ("the partition is up", "up"),
        "Topology": "the topology of the cluster applies",
    },
)

#: Keys of ``scontrol show reservation``.
RESERVATION = Inventory(
    modelled="ReservationName StartTime EndTime Nodes Users Accounts Flags",
    irrelevant={"follows from others": "Duration NodeCnt CoreCnt TRES State", "a text": "Comment"},
    reported={
        "AllowedPartitions": "jobs of any partition may use the reservation",
        "BurstBuffer": "the reservation has no burst buffers",
        "CoreIDs": "the reservation has whole nodes",
        "Features": "the reservation keeps the nodes that it has now",
        "Groups": "members of its groups may not use the reservation",
        "Licenses": "the reservation has no licences",
        "MaxStartDelay": "no job that could run into the reservation starts on its nodes",
        "NodeName": "the reservation has whole nodes",
        "PartitionName": "jobs of any partition may use the reservation",
        "QOS": "jobs of any QOS may use the reservation",
        "Watts": "power has no limit",
    },
)
#: Flags of reservations.
RESERVATION_FLAGS = Inventory(
    irrelevant={
        "how its nodes were chosen": """
            ALL_NODES ANY_NODES FORCE_START IGNORE_JOBS IGNORE_RUNNING MAINT NO_IGNORE_JOBS OVERLAP
            PART_NODES SPEC_NODES USER_DELETE NO_HOLD_JOBS NO_HOLD_JOBS_AFTER
            NO_HOLD_JOBS_AFTER_END
        """
    },
    reported={
        "DAILY": "the reservation takes place once",
        "FIRST_CORES": "the reservation has whole nodes",
        "FLEX": "its jobs stay on its nodes and within its times",
        "HOURLY": "the reservation takes place once",
        "MAGNETIC": "only jobs that name the reservation use it",
        "PURGE_COMP": "the reservation lasts until its end",
        "REPLACE": "the reservation keeps its nodes",
        "REPLACE_DOWN": "the reservation keeps its nodes",
        "STATIC": "the reservation keeps its nodes",
        "TIME_FLOAT": "the reservation begins at its StartTime",
        "WEEKDAY": "the reservation takes place once",
        "WEEKEND": "the reservation takes place once",
        "WEEKLY": "the reservation takes place once",
    },
)

_NOT_ENFORCED = "the limit is not enforced"
_LIMITS_MODELLED = """
    GrpTRES GrpJobs MaxTRES MaxTRESPerNode MaxTRESMins MinTRES MaxTRESPU MaxTRESPA MaxJobs
    MaxJobsPU MaxJobsPA MaxWall
"""
#: Limits that are read and enforced nowhere.
UNENFORCED = (
    *("GrpTRESMins", "GrpTRESRunMins", "GrpWall", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA"),
    *("GrpSubmit", "MaxSubmit", "MaxSubmitPU", "MaxSubmitPA"),
)
_LIMITS_REPORTED = dict.fromkeys(
    (
        *UNENFORCED,
        *("GrpJobsAccrue", "MaxJobsAccrue", "MaxJobsAccruePU", "MaxJobsAccruePA", "MinPrioThres"),
        *("MinPrioThresh", "MinPrioThreshold", "MaxTRESRunMins", "GrpCPURunMins", "GrpCPUMins"),
        *("GrpCPUs", "GrpMem", "GrpNodes", "MaxCPUs", "MaxCPUMins", "MaxNodes", "MaxCPUsPU"),
        *("MaxNodesPU", "MaxCPUsPerUser", "MaxNodesPerUser", "MaxTRESMinsPA", "MaxTRESMinsPU"),
    ),
    _NOT_ENFORCED,
)
#: Limits that are not read, in lower case: of these 0 is a limit, too.
UNREAD_LIMITS = frozenset(name.lower() for name in _LIMITS_REPORTED if "Prio" not in name)
#: Columns of ``sacctmgr show qos``, after other names of a column are replaced.
QOS_COLUMNS = Inventory(
    modelled=f"""
        Name Priority UsageFactor Preempt PreemptMode GraceTime PreemptExemptTime Flags
        {_LIMITS_MODELLED}
    """,
    irrelevant={"a text or a number": "Description Descr ID"},
    reported={
        **_LIMITS_REPORTED,
        "LimitFactor": ("limits of associations apply without this factor", "1", "1.000000"),
        "UsageThres": "jobs start whatever the fair share of their association is",
        "UsageThreshold": "jobs start whatever the fair share of their association is",
    },
)
#: Flags of a QOS.
QOS_FLAGS = Inventory(
    modelled="OverPartQOS",
    irrelevant={"no value": "NotSet None"},
    reported={
        "Deleted": "the QOS is still in use",
        "DenyOnLimit": "a job beyond a limit waits instead of being rejected",
        "EnforceUsageThreshold": "jobs start whatever the fair share of their association is",
        "NoDecay": "usage of the QOS decays as that of others",
        "NoReserve": "backfill reserves nodes for jobs of the QOS, too",
        "PartitionMaxNodes": "MaxNodes of the partition applies",
        "PartitionMinNodes": "MinNodes of the partition applies",
        "PartitionQos": "the flag has no effect",
        "PartitionTimeLimit": "MaxTime of the partition applies",
        "PartitionMaxTime": "MaxTime of the partition applies",
        "Relative": "limits are amounts, not percentages",
        "RequiresReservation": "jobs of the QOS need no reservation",
        "RequiredReservation": "jobs of the QOS need no reservation",
        "UsageFactorSafe": "a job may start whatever usage it will add",
    },
)
#: Columns of ``sacctmgr show assoc``, after other names of a column are replaced.
ASSOCIATION_COLUMNS = Inventory(
    modelled=f"""
        Account User Partition ParentName Share Priority QOS DefaultQOS RawUsage {_LIMITS_MODELLED}
    """,
    irrelevant={
        "a text or a number": "Comment ID LFT RGT Lineage ParentID ID_Assoc WithDeleted IDParent",
        "one cluster alone": "Cluster",
        "who may manage accounts": "Admin Coordinators AdminLevel",
        "names of the keys of a workload": "DefaultWCKey WCKeys",
        "a user's defaults, which a log has": "DefaultAccount DefaultAcct",
    },
    reported={
        **_LIMITS_REPORTED,
        "Flags": "the flags have no effect",
        "DelDate": "the association is still in use",
    },
)
