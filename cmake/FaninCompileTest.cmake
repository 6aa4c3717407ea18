# SPDX-License-Identifier: Apache-2.0
# Run by ctest: compiles TARGET's one source with the command that BUILD_DIR/compile_commands.json has for it, without the
# build, so that several run at once. VERDICT PASS: it must compile. VERDICT FAIL: it must not, and for each of EXPECT a
# line of the compiler's output that speaks of an error must match it. (Other lines quote the source, and a quotation
# proves nothing.)

file(STRINGS "${BUILD_DIR}/compile_commands.json" command REGEX "\"command\": .* -o [^ ]*CMakeFiles/${TARGET}\\.dir/")
if(NOT command MATCHES "\"command\": \"(.*)\",?$")
  message(FATAL_ERROR "compile_commands.json has no command for ${TARGET}: these tests need Ninja or Makefiles.")
endif()
string(REGEX REPLACE "\\\\([\"\\\\])" "\\1" command "${CMAKE_MATCH_1}") # JSON's escapes
if(NOT command MATCHES " -o ([^ ]*)/[^/ ]+( |$)")
  message(FATAL_ERROR "The command for ${TARGET} names no object: ${command}")
endif()
file(MAKE_DIRECTORY "${BUILD_DIR}/${CMAKE_MATCH_1}")

execute_process(
  COMMAND sh -c "${command}"
  WORKING_DIRECTORY "${BUILD_DIR}"
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
foreach(expect IN LISTS EXPECT)
  set(words)
  foreach(line IN LISTS lines)
    if(line MATCHES "error" AND line MATCHES "${expect}")
      set(words "${line}")
      break()
    endif()
  endforeach()
  if(NOT words)
    message(FATAL_ERROR "${TARGET} did not compile, but no error matches: ${expect}")
  endif()
  message("The compiler said it in words: ${words}")
endforeach()
