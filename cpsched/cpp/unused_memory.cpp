#include "unused_memory.h"

#include <cstdlib> // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cpsched {

void release_unused_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

} // namespace cpsched
