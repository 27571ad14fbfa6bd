// Episodes, and what a trained policy is shown.
#pragma once

#include "arrays.h"

namespace cpsched {

void bind_learning(nb::module_ &module);

} // namespace cpsched
