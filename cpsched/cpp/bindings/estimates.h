#pragma once

#include "arrays.h"

namespace cpsched {

void bind_estimates(nb::module_ &module);

} // namespace cpsched
