# SPDX-License-Identifier: Apache-2.0
# Writes HEADER with the commit of SOURCE_DIR and whether tracked files differ from it.

set(commit "unknown")
set(dirty 0)
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(
    COMMAND "${GIT_EXECUTABLE}" rev-parse HEAD
    WORKING_DIRECTORY "${SOURCE_DIR}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(result EQUAL 0)
    set(commit "${output}")
    execute_process(
      COMMAND "${GIT_EXECUTABLE}" status --porcelain --untracked-files=no
      WORKING_DIRECTORY "${SOURCE_DIR}"
      OUTPUT_VARIABLE changes
      ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(changes)
      set(dirty 1)
    endif()
  endif()
endif()

set(text "// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written at build time.
#define FANIN_PERF_COMMIT \"${commit}\"
#define FANIN_PERF_DIRTY ${dirty}
")
set(old "")
if(EXISTS "${HEADER}")
  file(READ "${HEADER}" old)
endif()
if(NOT text STREQUAL old)
  file(WRITE "${HEADER}" "${text}")
endif()
