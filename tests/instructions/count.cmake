# SPDX-License-Identifier: Apache-2.0
# Counts the instructions of calls under callgrind, and compares with those stored, or stores them.
#
# cmake -DVALGRIND=<program> -DPROGRAM=<calls> [-DCUDA_PROGRAM=<cuda_calls, of cases cuda_...>] -DCASES=<case;...>
#       -DCOUNTS=<counts.json> -DCOMPILER=<id and version> -DFLAGS=<flags> [-DSTORE=ON] -P count.cmake

set(repetitions 100)
set(most_percent 105)

if(NOT VALGRIND)
  message(STATUS "skipped: valgrind (Debian: valgrind) was not found")
  return()
endif()

# Instructions of one of `repetitions` calls.
function(count_instructions case result)
  if(case MATCHES "^cuda_")
    set(PROGRAM "${CUDA_PROGRAM}")
  endif()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env OMP_NUM_THREADS=1 "${VALGRIND}" --tool=callgrind --collect-atstart=no
            --callgrind-out-file=/dev/null "${PROGRAM}" ${case} ${repetitions}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT status EQUAL 0 OR NOT output MATCHES "Collected : ([0-9]+)")
    message(FATAL_ERROR "callgrind failed for ${case} (${status}):\n${output}")
  endif()
  math(EXPR of_one_call "${CMAKE_MATCH_1} / ${repetitions}")
  set(${result} "${of_one_call}" PARENT_SCOPE)
endfunction()

if(STORE)
  set(text "{\n  \"compiler\": \"${COMPILER}\",\n  \"flags\": \"${FLAGS}\",\n")
  string(APPEND text "  \"instructions_of_a_call\": {\n")
  set(separator "")
  foreach(case IN LISTS CASES)
    count_instructions(${case} count)
    string(APPEND text "${separator}    \"${case}\": ${count}")
    set(separator ",\n")
  endforeach()
  file(WRITE "${COUNTS}" "${text}\n  }\n}\n")
  message(STATUS "stored in ${COUNTS}")
  return()
endif()

file(READ "${COUNTS}" stored)
foreach(key IN ITEMS compiler flags)
  string(JSON of_stored GET "${stored}" ${key})
  string(TOUPPER "${key}" here)
  if(NOT of_stored STREQUAL "${${here}}")
    message(STATUS "skipped: the stored counts are of ${key} \"${of_stored}\", and here it is \"${${here}}\"")
    return()
  endif()
endforeach()

foreach(case IN LISTS CASES)
  string(JSON expected GET "${stored}" instructions_of_a_call ${case})
  count_instructions(${case} count)
  message(STATUS "${case}: ${count} instructions a call, ${expected} stored")
  math(EXPR scaled "${count} * 100")
  math(EXPR most "${expected} * ${most_percent}")
  if(scaled GREATER most)
    message(
      FATAL_ERROR
        "${case} costs ${count} instructions a call; ${expected} are stored, and 5 % more are allowed. If "
        "that is meant to be: cmake --build BUILD_FOLDER --target fanin_store_instructions, and commit "
        "tests/instructions/counts.json with the reason.")
  endif()
endforeach()
