// The memory that the C library keeps for later allocations.
#pragma once

namespace cpsched {

/// Hand pages back to the system that hold nothing; where that cannot be asked for, do nothing.
///
/// glibc raises the size from which an array is mapped by itself to that of the largest one freed.
/// All arrays after it, up to 32 MB each, come from its heap, of which only the end is handed back.
void release_unused_memory();

} // namespace cpsched
