# SPDX-License-Identifier: Apache-2.0
# Whether the precompiled reductions are seen outside of a shared library: a template of a type that is hidden is hidden,
# too, and then a program does not link.
#
#   cmake -DREADELF=readelf -DLIBRARY=libfanin_cuda.a -DLEAST=number -P seen_outside.cmake

execute_process(COMMAND "${READELF}" -sW "${LIBRARY}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "WEAK +[A-Z]+ +[0-9]+ _ZN5fanin6detail19cuda_(span|many)_reductionI[^\n]+" all "${symbols}")
list(LENGTH all number)
set(hidden ${all})
list(FILTER hidden INCLUDE REGEX "HIDDEN")
message("${number} reductions")
if(hidden OR number LESS LEAST)
  list(JOIN hidden "\n" hidden)
  message(FATAL_ERROR "${LEAST} or more, and none of them hidden, are expected; hidden:\n${hidden}")
endif()
