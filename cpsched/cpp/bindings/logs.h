#pragma once

#include "arrays.h"

namespace cpsched {

void bind_logs(nb::module_ &module);

} // namespace cpsched
