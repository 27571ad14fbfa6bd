"""numba's compiler without its last step: code that is linked into callers and nowhere else."""

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Part(JITCodeLibrary):
    """The code of a function to be linked into its callers, and nowhere else."""

    def _optimize_final_module(self) -> None:
        """Skipped: callers inline the code and optimise the whole."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


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


class _PartCompiler(CompilerBase):
    """numba's compiler without the last step."""

    def define_pipelines(self) -> list[Any]:
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [
            (_LowerPart, why) if step is NativeLowering else (step, why)
            for step, why in steps.passes
        ]
        steps._finalized = False
        steps.finalize()
        return [steps]


#: Options of ``njit`` for what only other kernels call.
AS_A_PART: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _PartCompiler,
}

#: Options of ``njit`` for what neither makes nor returns arrays, see ``inner.leaf``.
WITHOUT_COUNTS: dict[str, Any] = {"_nrt": False}
