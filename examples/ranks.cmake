# SPDX-License-Identifier: Apache-2.0
# Runs PROGRAM on several numbers of ranks, which print the same: cmake -DPROGRAM=... -DMPIEXEC=... -P ranks.cmake

foreach(ranks IN ITEMS 1 2 3 4 8)
  execute_process(COMMAND "${MPIEXEC}" -n ${ranks} "${PROGRAM}" OUTPUT_VARIABLE output RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "On ${ranks} ranks it failed (${result}):\n${output}")
  endif()
  if(ranks EQUAL 1)
    set(of_one "${output}")
    message("${output}")
  elseif(NOT output STREQUAL of_one)
    message(FATAL_ERROR "On ${ranks} ranks it printed something else than on one:\n${output}")
  endif()
endforeach()
if(NOT of_one MATCHES "iterations")
  message(FATAL_ERROR "It printed nothing")
endif()
