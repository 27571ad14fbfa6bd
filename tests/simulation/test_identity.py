"""What determines a run: content, never names; and code, whoever wrote it."""

import importlib
import sys
from dataclasses import replace

import pytest
from tiny import jobs, machine

from cpsched.dispatch.backfilling import Easy
from cpsched.dispatch.rules import Fifo
from cpsched.errors import ConfigError, RunError
from cpsched.simulation import identity as identities
from cpsched.simulation.identity import identity as identity_of
from cpsched.simulation.observers import Observer
from cpsched.simulation.simulate import Checkpoint, Settings, simulate
from cpsched.systems.mapping import fit
from cpsched.util import registry
from cpsched.util.registry import RegistryEntry
from cpsched.util.spec import build, expand, spec_of


def identity(dispatcher="easy", predictor="requested", settings=None, work="w", system="s"):
    return identity_of(work, system, dispatcher, predictor, settings or Settings())


def test_everything_that_determines_a_run_is_in_its_identity():
    ways = [
        identity(),
        identity("easy:backfill=sjf"),
        identity(predictor="actual"),
        identity(settings=Settings(seed=1)),
        identity(settings=Settings(overrun="extend")),
        identity(settings=Settings(runtime_model="gpu-scaling")),
        identity(work="v"),
        identity(system="t"),
    ]
    assert len(set(ways)) == len(ways)


def test_one_run_written_in_several_ways_has_one_identity():
    """Defaults said or not said, the order of options, text or object."""
    assert identity("easy:order=fifo") == identity("easy") == identity(Easy())
    assert identity("easy:estimate=predicted,backfill=sjf") == identity(Easy(backfill="sjf"))


def test_a_file_that_is_called_like_an_option_value_does_not_matter(tmp_path, monkeypatch):
    before = identity("easy:backfill=sjf")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sjf").write_text("x")
    assert identity("easy:backfill=sjf") == before


def test_a_model_counts_by_its_content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b,c").write_bytes(b"one")
    first = identity(predictor="gbm-log:model=a")
    assert identity(predictor=f'gbm-log:model="{tmp_path}/b,c"') == first
    (tmp_path / "a").write_bytes(b"two")
    assert identity(predictor="gbm-log:model=a") != first
    with pytest.raises(ConfigError, match="nowhere: cannot be read"):
        identity(predictor="gbm-log:model=nowhere")


def test_the_source_counts(monkeypatch):
    """Of cpsched, whose version hardly ever changes."""
    before = identity()
    monkeypatch.setattr(identities, "source_digest", lambda package: f"another {package}")
    identities.versions_here.cache_clear()
    assert identity() != before
    identities.versions_here.cache_clear()


def test_a_plug_in_counts_with_its_source(tmp_path, monkeypatch):
    """Its distribution's version may stay the same."""
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "plugged_for_identity.py"
    source = "from cpsched.dispatch.rules import Fifo\nclass Mine(Fifo):\n    name = 'mine'\n"
    module.write_text(source)
    real = registry.entries
    mine = {"mine": RegistryEntry("mine", "plugged_for_identity:Mine", "somebody")}
    monkeypatch.setattr(registry, "entries", lambda group: {**real(group), **mine})
    before = identity("mine")
    module.write_text(source + "# another one\n")
    importlib.reload(sys.modules["plugged_for_identity"])
    assert identity("mine") != before
    sys.modules.pop("plugged_for_identity")


class Own(Fifo):
    """Not registered."""


@pytest.mark.parametrize("dispatcher", [Own(), object()])
def test_what_has_no_specification_has_no_identity(dispatcher):
    with pytest.raises(ConfigError, match="has no specification, which identifies a run"):
        identity(dispatcher)


@pytest.mark.parametrize("group", ["dispatchers", "predictors"])
def test_every_registered_thing_knows_its_specification(group):
    """That of a preset is a long form, which makes the same."""
    for name, entry in registry.entries(group).items():
        if name == "learned":
            continue  # It is made of a file, see tests/gym.
        made = spec_of(group, build(group, name, truth=lambda handle: handle))
        assert made.name == (entry.of and expand(group, name).name) or str(made) == name
        assert spec_of(group, build(group, str(made), truth=lambda handle: handle)) == made


def test_a_run_of_an_object_says_its_options():
    work, system = jobs((0, 3, 1), (0, 2, 1)), machine((2,))
    run = simulate(work, system, dispatcher=Easy(backfill="sjf"))
    assert run.dispatcher == "easy:backfill=sjf"


class _Stop(Observer):
    def on_end(self, job, outcome, now):
        raise KeyboardInterrupt


def test_a_checkpoint_goes_on_under_its_own_dispatcher_only(tmp_path):
    """Options of an object count: it used to be its name alone."""
    work, system = jobs((0, 3, 2), (0, 2, 2), (1, 2, 1)), machine((2,))
    keep = Checkpoint(tmp_path / "state", 0)
    with pytest.raises(KeyboardInterrupt):
        simulate(
            work, system, dispatcher=Easy(backfill="sjf"), checkpoint=keep, observers=[_Stop()]
        )
    assert keep.path.exists()
    with pytest.raises(RunError, match="checkpoint of another run"):
        simulate(work, system, dispatcher=Easy(), checkpoint=keep)
    run = simulate(work, system, dispatcher="easy:backfill=sjf", checkpoint=keep)
    assert (
        run.schedule.end.tolist()
        == simulate(work, system, dispatcher="easy:backfill=sjf").schedule.end.tolist()
    )


def test_a_checkpoint_stays_until_the_caller_removes_it(tmp_path):
    """Whoever saves the run may fail; the finished state used to be gone by then."""
    work, system = jobs((0, 3, 2), (0, 2, 2), (1, 2, 1)), machine((2,))
    keep = Checkpoint(tmp_path / "state", 0)
    run = simulate(work, system, dispatcher="easy", checkpoint=keep)
    assert keep.path.exists()
    again = simulate(work, system, dispatcher="easy", checkpoint=keep)
    assert again.schedule.end.tolist() == run.schedule.end.tolist()
    assert again.decisions == run.decisions
    keep.remove()
    keep.remove()
    assert not keep.path.exists()


def test_a_checkpoint_of_an_object_without_specification_is_refused(tmp_path):
    work, system = jobs((0, 3, 2)), machine((2,))
    with pytest.raises(ConfigError, match="has no specification"):
        simulate(work, system, dispatcher=Own(), checkpoint=Checkpoint(tmp_path / "state"))


def test_a_mapped_workload_keeps_its_system_and_its_limits():
    """Both used to be ignored, and recorded as given."""
    work, system = jobs((0, 3, 2)), machine((2,))
    fitted = fit(work, system, enforce_time_limits=False)
    with pytest.raises(TypeError, match="already mapped onto a system"):
        simulate(fitted, system)
    assert not simulate(
        fitted, settings=Settings(enforce_time_limits=True)
    ).settings.enforce_time_limits
    assert simulate(fit(work, system), settings=replace(Settings())).settings.enforce_time_limits
