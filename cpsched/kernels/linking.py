"""numba's compiler with a shorter last step, and without it for what is linked into callers."""

from __future__ import annotations

import gc
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, WithLifting

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
