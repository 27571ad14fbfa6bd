"""
numba's compiler with a shorter last step, and without it for what is linked into callers.

This is the only file that uses private parts of numba. They may change with any release, so
``pyproject.toml`` bounds numba to versions known to work, and ``tests/test_private_parts.py`` says
what a new one lacks.
"""

from __future__ import annotations

import gc
from typing import Any

import numba
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, WithLifting
from numba.cpython.unsafe.numbers import trailing_zeros as trailing_zeros  # for runs.py

#: Steps for what kernels do not contain: closures, array expressions, ``with``.
_UNUSED = (InlineClosureLikes, NopythonRewrites, WithLifting)
#: Of optimisation. More costs a third of the time of a first run, and no pass is faster for it.
_LEVEL = 1


class _Library(JITCodeLibrary):
    """Code that is optimised no more than is worth its time."""

    def finalize(self) -> None:
        """Link all parts at once: those of parts are left to the kernel."""
        self._linking_libraries = _callers_first(self)[1:]
        super().finalize()

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager(opt=_LEVEL)
        for function in ll_module.functions:
            passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Optimise once, and not three times over."""
        passes, builder = self._codegen._module_pass_manager(
            opt=_LEVEL, loop_vectorize=True, slp_vectorize=False
        )
        passes.run(self._final_module, builder)


class _Part(_Library):
    """The code of a function to be linked into the kernels that call it, and nowhere else."""

    def finalize(self) -> None:
        """Leave linking and optimising to the kernels."""
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:
        """Left to the kernels, too."""
        ll_module.data_layout = self._codegen._data_layout

    def _get_module_for_linking(self) -> Any:
        """Return the code itself, which is not used otherwise; numba copies it."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "linkonce_odr"
        return self._final_module


def _callers_first(library: Any) -> list[Any]:
    """Return a library and all that it needs; the linker drops what nothing before it calls."""
    found: dict[Any, None] = {}

    def visit(one: Any) -> None:
        if one not in found:
            for other in one._linking_libraries if isinstance(one, _Part) or one is library else ():
                visit(other)
            found[one] = None

    visit(library)
    return list(found)[::-1]


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerKernel(NativeLowering):
    """Lower a function to a :class:`_Library`."""

    _name = "cpsched_lower_kernel"

    def run_pass(self, state: Any) -> bool:
        whole = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        whole.enable_object_caching()
        state["library"] = whole
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(NativeLowering):
    """Lower a function to a :class:`_Part`."""

    _name = "cpsched_lower_part"

    def run_pass(self, state: Any) -> bool:
        part = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        part.enable_object_caching()
        state["library"] = part
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        description = lowered.fndesc
        # A function without an address: it distinguishes overloads and is never called.
        handle = _dynfunc.make_function(
            description.lookup_module(),
            description.qualname.split(".")[-1],
            description.qualname,
            0,
            lowered.env,
            (part,),
        )
        state.targetctx.insert_user_function(handle, description, [part])
        state.reload_init.extend(part._reload_init)
        state["cr"] = lowered._replace(cfunc=handle)
        return True


def _lowering_by(own: type[NativeLowering]) -> type[CompilerBase]:
    """Return numba's compiler with another step in place of its lowering."""

    class Compiler(CompilerBase):
        def compile_extra(self, function: Any) -> Any:
            # Looking for cycles among the compiler's objects takes a twentieth of its time.
            collects = gc.isenabled()
            gc.disable()
            try:
                return super().compile_extra(function)
            finally:
                if collects:
                    gc.enable()

        def define_pipelines(self) -> list[Any]:
            steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
            steps.passes = [
                (own, why) if step is NativeLowering else (step, why)
                for step, why in steps.passes
                if step not in _UNUSED
            ]
            steps._finalized = False
            steps.finalize()
            return [steps]

    return Compiler


#: Options of ``njit`` for what is called from Python.
AS_A_KERNEL: dict[str, Any] = {"pipeline_class": _lowering_by(_LowerKernel)}

#: Options of ``njit`` for what only other kernels call.
AS_A_PART: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _lowering_by(_LowerPart),
}

#: Options of ``njit`` for what neither makes nor returns arrays, see ``inner.leaf``.
WITHOUT_COUNTS: dict[str, Any] = {"_nrt": False}


class _Cache(FunctionCache):
    """
    Kernels on disk, loaded without making the compiler ready.

    numba teaches its compiler every function it knows before it loads a compiled one, which takes
    0.4 s, longer than all else of a short command. A compiled kernel needs the runtime alone; what
    has to be compiled makes the compiler ready itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, None if there is nothing."""
        from numba.core.runtime.nrt import rtsys

        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def keep_in(folder: str, compiled: Any) -> None:
    """Keep on disk, in a folder, what is compiled of a kernel."""
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = folder
    try:
        compiled._cache = _Cache(compiled.py_func)
    finally:
        settings.CACHE_DIR = before
