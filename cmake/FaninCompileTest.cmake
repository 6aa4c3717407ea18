# SPDX-License-Identifier: Apache-2.0
# Run by ctest: builds TARGET in BUILD_DIR. VERDICT PASS: it must compile. VERDICT FAIL: it must not, and
# a line of the compiler's output that speaks of an error must match EXPECT. (Other lines quote the source,
# and a quotation proves nothing.)

execute_process(
  COMMAND "${CMAKE_COMMAND}" --build "${BUILD_DIR}" --target "${TARGET}" --config "${CONFIG}"
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
  RESULT_VARIABLE result)
message("${output}")

if(VERDICT STREQUAL "PASS")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${TARGET} must compile, and the compiler refused it.")
  endif()
  return()
endif()

if(result EQUAL 0)
  message(FATAL_ERROR "${TARGET} must not compile, and it did.")
endif()
string(REGEX REPLACE "[][;]" " " output "${output}") # no list syntax in the lines
string(REPLACE "\n" ";" lines "${output}")
foreach(line IN LISTS lines)
  if(line MATCHES "error" AND line MATCHES "${EXPECT}")
    message("The compiler said it in words: ${line}")
    return()
  endif()
endforeach()
message(FATAL_ERROR "${TARGET} did not compile, but no error matches: ${EXPECT}")
