#pragma once

#include "arrays.h"

namespace cpsched {

void bind_columns(nb::module_ &module);

} // namespace cpsched
