#include <nanobind/nanobind.h>

#include "build.h"

NB_MODULE(_core, module) {
    module.doc() = "The native core of cpsched.";
    module.attr("SOURCE_HASH") = cpsched::kSourceHash;
    module.attr("COMPILER") = cpsched::kCompiler;
}
