"""Studies: what they say is what is run, and what makes no sense is one line."""

from pathlib import Path

import pytest

from cpsched.errors import ConfigError, UnknownNameError
from cpsched.papers.generators.esp import ESP as ESP_GENERATOR
from cpsched.papers.generators.esp import EspOptions
from cpsched.study import Baseline, Generated, LabelledSpec, load_study, study_names
from cpsched.study.inputs import prepare
from cpsched.study.run_spec import run_specs
from cpsched.study.study import as_label, log_name, system_label

TOP = 'systems = ["four.toml"]\ndispatchers = ["fifo", "easy"]\n'
LOG = '[[workloads]]\nfile = "log.swf"\n'
ESP = '[[workloads]]\ngenerator = "esp"\nseeded = true\n'


def test_a_study_is_all_combinations(study):
    """Workloads x systems x seeds x dispatchers x predictors, in this order."""
    cases = [
        tuple(dict(task.labels)[key] for key in ("seed", "dispatcher", "predictor"))
        for task in run_specs(study)
    ]
    assert cases == [
        (seed, dispatcher, predictor)
        for seed in (1, 2, 3)
        for dispatcher in ("FIFO", "EASY")
        for predictor in ("W", "R")
    ]
    assert study.jitter == 5
    assert study.baseline == Baseline(dispatcher="FIFO")


def test_what_is_left_out_has_a_usual_value(read):
    """One run of the log as it is, requested times, the first dispatcher as the baseline."""
    study = read(TOP + LOG)
    assert (study.seeds, study.jitter, study.question) == ((0,), 0, "")
    assert study.dispatchers == (LabelledSpec("fifo", "fifo"), LabelledSpec("easy", "easy"))
    assert study.workloads[0].predictors == (LabelledSpec("requested", "requested"),)
    assert study.workloads[0].label == "log"
    assert study.settings.overrun == "kill"


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("KTH-SP2-1996-2.1-cln.swf.gz", "KTH-SP2-1996-2.1-cln"),
        ("eurora-2014.ext.csv.gz", "eurora-2014.ext"),
        ("my.log", "my"),
        ("v1.2", "v1.2"),
        (".swf", ".swf"),
    ],
)
def test_a_log_is_called_like_its_file(file, name):
    """Without what says how it is written; a dot in a name stays."""
    assert log_name(Path("somewhere") / file) == name


def test_a_mark_of_the_encoding_is_no_error(place):
    """Some editors begin a file with one."""
    file = place / "marked.toml"
    file.write_bytes(b"\xef\xbb\xbf" + (place / "study.toml").read_bytes())
    assert load_study(file).workloads == load_study(place / "study.toml").workloads


def test_everything_can_be_said(read):
    """Selections, settings, systems and predictors of one workload, options of a generator."""
    study = read(
        """
        title = "all"
        dispatchers = ["easy:backfill=sjf", "greedy"]
        repeat = [0, 7]
        jitter = 3
        [predictors]
        W = "requested"
        R = "actual"
        [run]
        overrun = "extend"
        restarts = "share=0.5,cost=30"
        runtime_model = "gpu-scaling: sigma=0.2"
        outages = "random: repair=60"
        estimate_correction = "double"
        dispatch_interval = "0:00:30"
        enforce_time_limits = false
        [baseline]
        predictor = "R"
        [[workloads]]
        name = "a"
        generator = "eurora"
        options = { jobs = 2000, load = 0.8 }
        systems = ["eurora"]
        first = 100
        from = 2011-01-02
        to = 99
        [[workloads]]
        file = "log.swf"
        input_format = "swf"
        skip_bad_lines = true
        systems = ["four.toml"]
        predictors = ["W"]
        """
    )
    first, second = study.workloads
    assert first.source == Generated(generator="eurora", options=(("jobs", 2000), ("load", 0.8)))
    assert (first.first, first.start, first.end) == (100, "2011-01-02", 99)
    assert second.source.skip_bad_lines
    assert [p.label for p in second.predictors] == ["W"]
    assert len(run_specs(study)) == 2 * 2 * 2 + 2 * 2
    settings = study.settings
    assert (settings.overrun, settings.estimate_correction) == ("extend", "double")
    assert (settings.dispatch_interval, settings.enforce_time_limits) == (30, False)
    assert (settings.restarts, settings.outages) == ("share=0.5,cost=30", "random:repair=60")
    assert settings.runtime_model == "gpu-scaling:sigma=0.2"
    assert study.baseline == Baseline(predictor="R")


def test_the_long_form_of_a_preset_names_it(read):
    """Where a study refers to a dispatcher; its label is the name of the preset."""
    long = "easy:order=slowdown"
    study = read(
        f'systems = ["four.toml"]\nallocator = "best-fit"\ndispatchers = ["fifo", "{long}"]\n'
        f'{LOG}dispatchers = ["{long}"]\n[baseline]\ndispatcher = "{long}"\n'
    )
    (dispatcher,) = study.workloads[0].dispatchers
    assert dispatcher.label == study.baseline.dispatcher == "easy-slowdown"
    assert dispatcher.spec == "easy:allocator=best-fit,order=slowdown"


def test_a_workload_may_name_its_dispatchers(read):
    """Two of log a, one of log b, three seeds."""
    study = read(
        TOP
        + "repeat = 3\n"
        + LOG
        + 'name = "a"\n'
        + LOG
        + 'name = "b"\nfirst = 5\ndispatchers = ["easy"]\n'
    )
    cases = [
        tuple(dict(task.labels)[key] for key in ("workload", "dispatcher"))
        for task in run_specs(study)
    ]
    assert sorted(set(cases)) == [("a", "easy"), ("a", "fifo"), ("b", "easy")]
    assert len(cases) == 9


def test_a_seeded_workload_is_another_one_for_every_seed(read):
    """The generator's seed is the run's, and no submit is moved; a log beside it is jittered."""
    study = read('systems = ["esp-1024"]\ndispatchers = ["fifo"]\nrepeat = 2\n' + ESP)
    first, second = run_specs(study)
    assert [dict(task.made_of.source.options)["seed"] for task in (first, second)] == [1, 2]
    assert (first.made_of.jitter, first.made_of.seed) == (0, 0)
    submits = [prepare(task.made_of).workload.submit for task in (first, second)]
    assert submits[0].tolist() == ESP_GENERATOR.generate(EspOptions(seed=1)).submit.tolist()
    assert submits[0].tolist() != submits[1].tolist()
    mixed = read(TOP + "repeat = 2\n" + ESP + LOG)
    assert [task.made_of.jitter for task in run_specs(mixed)] == [0] * 4 + [5] * 4


SHARES = """
restarts = ["share=0.5", "none"]
[malleable]
rigid = "none"
half = "share=0.5"
"""


def test_workloads_are_run_under_each_setting(read):
    """And are called by it; a workload may name some, and what is not varied is not named."""
    study = read(TOP + SHARES + LOG + LOG + 'name = "other"\nmalleable = ["half"]\n')
    assert [
        (workload.label, workload.restarts.spec, workload.malleable.spec)
        for workload in study.workloads
    ] == [
        ("log, share=0.5, rigid", "share=0.5", "none"),
        ("log, share=0.5, half", "share=0.5", "share=0.5"),
        ("log, none, rigid", "none", "none"),
        ("log, none, half", "none", "share=0.5"),
        ("other, share=0.5, half", "share=0.5", "share=0.5"),
        ("other, none, half", "none", "share=0.5"),
    ]
    # Runtime models come first; what is not varied is as the settings say.
    tasks = run_specs(read(TOP + SHARES + LOG + MODELS))
    models = [task.settings.runtime_model for task in tasks[:: len(tasks) // 2]]
    assert models == ["locality:alpha=0.1", "locality:alpha=0.2"]
    assert study.settings.runtime_model == "recorded"
    assert len(tasks) == len({task.identity for task in tasks}) == 2 * 2 * 2 * 2
    for task in tasks:
        assert dict(task.made_of.mapping) == task.settings.mapping
    assert "log-0-1-share-0-5-half-four-fifo" in tasks[2].name


MODELS = '[runtime_models]\n"0.1" = "locality:alpha=0.1"\n"0.2" = "locality: alpha=0.2"\n'


def test_the_studies_of_co_allocation_are_those_of_the_papers():
    """
    IPSCHED: six experiments and two with random sizes, seven seeds.

    AUCSCHED: 8 methods on 5 workloads (A.2), 3 on 12 (A.3), 2 on 6 and the same on 5' and 6'
    (A.4), 2 on 9 (A.5), seven seeds.
    """
    assert len(run_specs(load_study("ipsched"))) == 7 * (6 + 2)
    on_a_line, on_a_tree = load_study("aucsched"), load_study("aucsched-tree")
    assert len(run_specs(on_a_line)) == 7 * (8 * 5 + 3 * 12)
    assert len(run_specs(on_a_tree)) == 7 * 2 * (6 + 2 + 9)
    for study in (on_a_line, on_a_tree):
        assert study.settings.runtime_model == "gpu-scaling"
        assert all(
            isinstance(workload.source, Generated) and workload.source.seeded
            for workload in study.workloads
        )


def test_the_study_of_the_thesis_has_42_runs():
    """14 dispatchers x W, D, R, as they are counted for Remediani (2017)."""
    study = load_study("remediani")
    assert len(run_specs(study)) == 42
    assert [c.label for c in study.dispatchers[:6]] == ["FIFO", "SJF", "LJF", "EBF", "PRB", "SDPRB"]
    assert {c.spec for c in study.workloads[0].predictors} == {
        "requested",
        "user-history",
        "actual",
    }
    (workload,) = study.workloads
    assert dict(workload.source.options)["jobs"] == 372_320


@pytest.mark.parametrize("name", study_names())
def test_shipped_studies_can_be_read(name):
    """Every one of them, with a title and a question."""
    study = load_study(name)
    assert study.title
    assert study.question.endswith("?")


def test_a_part_of_all_workloads(study):
    """What is given replaces what the study says."""
    narrowed = study.narrowed(first=7, start="2001-09-09")
    assert (narrowed.workloads[0].first, narrowed.workloads[0].start) == (7, "2001-09-09")
    assert study.narrowed() == study


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dispatchers = [", "is not valid TOML"),
        ('dispatchers = ["fifo"]', "workloads: there are no workloads"),
        (LOG, "dispatchers: is missing. It must be a list such as"),
        (TOP + LOG + "frist = 3", r"workloads\[1\].frist: unknown key.* Did you mean 'first'"),
        (TOP + 'repeet = 3\n' + LOG, "repeet: unknown key.*Did you mean 'repeat'"),
        (TOP + "seeds = 3\n" + LOG, ":3: seeds: unknown key. Use repeat."),
        (TOP + LOG + 'format = "swf"', r":5: workloads\[1\].format: .* Use input_format"),
        (TOP + "[run]\ncorrection = 'double'\n" + LOG, ":4: run.correction: .* Use estimate_correction"),
        (TOP + "[run]\nenforce_limits = true\n" + LOG, ":4: run.enforce_limits: .* Use enforce_time_limits"),
        (TOP + "repeat = 0\n" + LOG, "repeat: is 0, must be a number of repetitions from 1 to 10000"),
        (TOP + "repeat = [1, 1]\n" + LOG, "repeat: 1 is listed twice"),
        (TOP + "jitter = 5\n" + LOG, "jitter: is 5, but one repetition moves no job"),
        ('dispatchers = ["fifo"]\n' + LOG, r"workloads\[1\].systems: there is no system"),
        (TOP.replace("easy", "esay") + LOG, "dispatchers: unknown dispatcher 'esay'. Did you mean 'easy'"),
        (TOP.replace("easy", "easy:x=1") + LOG, "dispatchers: easy:x=1: easy has no option 'x'"),
        (TOP.replace("easy", "fifo") + LOG, "dispatchers: two are called 'fifo'"),
        ('systems = ["x"]\ndispatchers = ["fifo"]\n' + LOG, "systems: unknown system 'x'"),
        (TOP + LOG.replace("log", "lag"), r"workloads\[1\].file: there is no file .*lag.swf"),
        (TOP + LOG.replace("log", "x" * 300), r"workloads\[1\].file: File name too long: /.*x.swf"),
        (TOP + LOG + LOG, "workloads: two are called 'log'. A study file gives each a name"),
        (
            TOP + LOG + 'name = "my log"\n' + LOG + 'name = "My-log"',
            "workloads: 'my log' and 'My-log' differ only in case or hyphens",
        ),
        (
            TOP.replace('"four.toml"', '"four.toml", "sub/four.toml"') + LOG,
            "systems: two are called 'four'",
        ),
        (TOP + LOG + 'name = "=1+1"', r"name: '=1\+1' cannot be used in a table. .* begin with none of"),
        (TOP + LOG + 'generator = "eurora"', "file: give either a file or a generator"),
        (TOP + LOG + 'name = "<b>"', r"workloads\[1\].name: '<b>' cannot be used in a table"),
        (TOP + LOG + 'from = "monday"', r"workloads\[1\].from: is 'monday', must be seconds"),
        (TOP + LOG + "from = 9\nto = 9", r"workloads\[1\].to: the part of the log ends at 9, must be after"),
        (
            TOP + LOG + 'from = 2011-01-02\nto = "2011-01-01T23:00-01:00"',
            r"workloads\[1\].to: the part of the log ends at 2011-01-01T23:00:00-01:00, must be after",
        ),
        (TOP + LOG + 'predictors = ["W"]', r"predictors: 'W' is not one of: requested"),
        (TOP + '[[workloads]]\ngenerator = "x"', "generator: unknown generator 'x'. All names: cpsched list generators"),
        (TOP + LOG + "options = {}", r"workloads\[1\].options: does not apply to a workload of a file"),
        (TOP + ESP + 'input_format = "swf"', r"workloads\[1\].input_format: does not apply to a workload of a g"),
        (TOP + LOG + "seeded = true", r"workloads\[1\].seeded: does not apply to a workload of a file"),
        (TOP + ESP + "options = { seed = 1 }", "seeded: is true, and 'esp' has its own seed in options"),
        (TOP + LOG + 'dispatchers = ["x"]', r"workloads\[1\].dispatchers: 'x' is not one of: fifo, easy"),
        (TOP + '[run]\nruntime_model = "gpu"\n' + LOG, "run.runtime_model: unknown runtime model 'gpu'"),
        (TOP + 'runtime_models = ["gpu"]\n' + LOG, "runtime_models: unknown runtime model 'gpu'"),
        (TOP + MODELS + LOG + 'runtime_models = ["0.3"]\n', "runtime_models: '0.3' is not one of: 0.1, 0.2"),
        (TOP + MODELS + '[run]\nruntime_model = "recorded"\n' + LOG, "run.runtime_model: is given together with runtime_models"),
        (TOP + SHARES + '[run]\nrestarts = "none"\n' + LOG, "run.restarts: is given together with restarts at the top. Give only"),
        (TOP + SHARES + LOG + 'malleable = ["all"]\n', "malleable: 'all' is not one of: rigid, half"),
        (TOP + '[malleable]\nall = "share=2"\n' + LOG, "malleable.all.share: is '2', must be a number from 0 to 1"),
        (TOP + 'restarts = ["share=1", "share=1"]\n' + LOG, "restarts: two are called 'share=1'"),
        (TOP + MODELS + LOG + f'name = "{"n" * 78}"\n', "cannot be used in a table"),
        (
            TOP + '[[workloads]]\ngenerator = "eurora"\noptions = { job = 1 }',
            r"workloads\[1\].options.job: unknown key.*Did you mean 'jobs'",
        ),
        (
            TOP + '[[workloads]]\ngenerator = "eurora"\noptions = { jobs = 1 }',
            r"workloads\[1\].options: jobs: 1 is not between 1000",
        ),
        (TOP + '[run]\nrestarts = "part=0.5"\n' + LOG, "run.restarts.part: unknown key. Keys here: checkpoint, cost"),
        (TOP + '[run]\noutages = "table:file=down.csv"\n' + LOG, "run.outages: .*down.csv: is not a file"),
        (TOP + '[run]\noutages = "random:repair=0"\n' + LOG, "run.outages: .*repair"),
        (TOP + '[run]\noverrun = "stop"\n' + LOG, "run.overrun: is 'stop', must be one of: kill"),
        (TOP + '[baseline]\ndispatcher = "greedy"\n' + LOG, "baseline.dispatcher: is 'greedy', must be"),
        (TOP + '[[workloads]]\nfile = "/"\n', r"workloads\[1\].file: / is a folder"),
        ('systems = ["four.toml"]\n[dispatchers]\n"a|b" = "fifo"\n' + LOG, "cannot be used in a table"),
        ('systems = ["four.toml"]\n[dispatchers]\na = 1\n' + LOG, "dispatchers: is .*must be a list"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line(read, text, message):
    """File, key, value, and what would be right."""
    with pytest.raises(ConfigError, match=message) as error:
        read(text)
    assert "\n" not in str(error.value)
    assert "other.toml" in str(error.value)


def test_labels_of_files_can_stand_in_tables():
    """Long ones keep their end, which tells paths apart; no cell is a formula."""
    assert as_label("=a|b") == "a-b"
    long = as_label("x/" * 60 + "model.txt")
    assert (len(long), long[:3], long[-9:]) == (80, "...", "model.txt")
    assert as_label("::") == "unnamed"
    assert system_label("machines/a <b>.toml") == "a -b-"


def test_a_study_that_is_not_there(tmp_path):
    """Names are looked up among the shipped studies, paths are read."""
    with pytest.raises(UnknownNameError, match="Did you mean 'remediani'"):
        load_study("remediany")
    with pytest.raises(ConfigError, match="no such file"):
        load_study(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_study(tmp_path / "bad.toml")
