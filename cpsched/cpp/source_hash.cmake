# Write OUTPUT, a C++ file with the hash of the sources in the folder ROOT: the SHA-256 of one line
# "HASH NAME" a file, in the order of the names. cpsched/util/native.py computes the same.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/cpsched/cpp/*.cpp ${ROOT}/cpsched/cpp/*.h
     ${ROOT}/cpsched/cpp/*.cmake)
list(APPEND files CMakeLists.txt)
list(SORT files)
set(lines "")
foreach(file IN LISTS files)
  file(SHA256 ${ROOT}/${file} hash)
  string(APPEND lines "${hash} ${file}\n")
endforeach()
string(SHA256 hash "${lines}")
file(WRITE ${OUTPUT} "#include \"build.h\"\n\nconst char *const cpsched::kSourceHash = \"${hash}\";\n")
