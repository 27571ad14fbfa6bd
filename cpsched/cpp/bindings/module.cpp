#include <nanobind/nanobind.h>

#include <exception>
#include <stdexcept>

#include "build.h"
#include "cluster.h"
#include "columns.h"
#include "estimates.h"
#include "learning.h"
#include "logs.h"
#include "pass_memory.h"
#include "slurm.h"
#include "unused_memory.h"

namespace {

/// An array longer than any can be is out of memory, too; nanobind makes it a ValueError.
void translate_length(const std::exception_ptr &exception, void *) {
    try {
        std::rethrow_exception(exception);
    } catch (const std::length_error &error) {
        PyErr_SetString(PyExc_MemoryError, error.what());
    }
}

} // namespace

NB_MODULE(_core, module) {
    nanobind::register_exception_translator(translate_length);
    module.doc() = "The native core of cpsched.";
    // What is still in use when the interpreter ends is no fault, and nothing for users to read.
    nanobind::set_leak_warnings(false);
    module.attr("SOURCE_HASH") = cpsched::kSourceHash;
    module.attr("COMPILER") = cpsched::kCompiler;
    module.def("release_unused_memory", &cpsched::release_unused_memory,
               "Hand pages of memory back to the system that the C library keeps for later.");
    nanobind::class_<cpsched::PassMemory> memory(
        module, "PassMemory", "What the passes of one allocator remember between decisions.");
    memory
        .def(nanobind::init<std::int64_t, const cpsched::Matrix &, const cpsched::Matrix &>(),
             nanobind::arg("allocator"), nanobind::arg("capacity"), nanobind::arg("levels"))
        .def("look_at", &cpsched::PassMemory::look_at, nanobind::arg("store"),
             nanobind::arg("columns"), nanobind::arg("requests"), nanobind::arg("eligible"),
             nanobind::arg("free"), nanobind::arg("reordered"), "Point to the arrays of a view.")
        .def("look_at_running", &cpsched::PassMemory::look_at_running, nanobind::arg("now"),
             nanobind::arg("running"), nanobind::arg("node"), nanobind::arg("count"),
             nanobind::arg("amount"), "Point to its running jobs, too.");
    cpsched::bind_cluster(module);
    cpsched::bind_simulation(module);
    cpsched::bind_placement(module, memory);
    cpsched::bind_lists(module, memory);
    cpsched::bind_plans(module, memory);
    cpsched::bind_estimates(module);
    cpsched::bind_slurm_parts(module);
    cpsched::bind_slurm_plain(module);
    cpsched::bind_slurm_scheduler(module);
    cpsched::bind_logs(module);
    cpsched::bind_columns(module);
    cpsched::bind_learning(module);
}
