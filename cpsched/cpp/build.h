#pragma once

namespace cpsched {

/// SHA-256 (hex) of the names and bytes of the C++ sources, computed by the build.
extern const char *const kSourceHash;

/// Name and version of the compiler.
extern const char *const kCompiler;

} // namespace cpsched
