#include "build.h"

const char *const cpsched::kCompiler = CPSCHED_COMPILER;
