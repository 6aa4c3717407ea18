# SPDX-License-Identifier: Apache-2.0
# fanin-perf's harness, the program as users run it, and the report.

if(FANIN_PYTHON)
  function(fanin_add_program_test name)
    add_test(NAME ${name} COMMAND "${FANIN_PYTHON}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/program_test.py"
                                  "$<TARGET_FILE:fanin_perf>" "${PROJECT_SOURCE_DIR}/perf/report/report.py" ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS perf TIMEOUT 600 COST 20)
  endfunction()
  fanin_add_program_test(perf_program Options Json)
  if(NOT FANIN_CUDA_COMPILED_ONLY) # the host's part, which a configuration without CUDA has
    fanin_add_program_test(perf_baseline Baseline)
    add_test(NAME perf_shapes_input COMMAND "${FANIN_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/shapes_input_test.py"
                                            "$<TARGET_FILE:fanin_perf_shapes>")
    set_tests_properties(perf_shapes_input PROPERTIES LABELS perf)
    # Not beside others: it compares times.
    set_tests_properties(perf_baseline PROPERTIES RUN_SERIAL ON)
  endif()
endif()

# On a GPU machine all libraries; its exit code says whether they are right.
add_test(NAME perf_cg_program COMMAND fanin_perf_cg --sizes 2^12,2^13 --types f64,f32 --series 2 --quick)
add_test(NAME perf_shapes_program COMMAND fanin_perf_shapes --shapes rows:300x33,columns:33x300,columns:1000x3,md:64x70,md:9x8x40,stencil:30x40,stencil:7x8x9,runs:70x33,triangle:70x33,triangle:33x70,columns:2x5000,spmv:stencil7:1000,spmv:powerlaw:1000
                                          --series 2 --quick)
add_test(NAME perf_shapes_refuses COMMAND fanin_perf_shapes --shapes rows:5)
set_tests_properties(perf_shapes_refuses PROPERTIES PASS_REGULAR_EXPRESSION "rows:5 is no shape; write rows:2")
set_tests_properties(perf_cg_program perf_shapes_program perf_shapes_refuses PROPERTIES LABELS perf)
# Threads that wait for others do not keep a core from those.
set_tests_properties(perf_shapes_program PROPERTIES ENVIRONMENT OMP_WAIT_POLICY=PASSIVE)

if(FANIN_ENABLE_MPI AND NOT FANIN_CUDA_COMPILED_ONLY)
  add_test(NAME perf_ranks_program COMMAND "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} 2
                                           $<TARGET_FILE:fanin_perf_ranks> --total 1001)
  set_tests_properties(perf_ranks_program PROPERTIES LABELS perf PROCESSORS 2 ENVIRONMENT "${fanin_ranks_environment}"
                                                     PASS_REGULAR_EXPRESSION "fanin exact_sum +[0-9]")
endif()

if(NOT FANIN_WITH_HOST_TESTS)
  return()
endif()

find_package(nlohmann_json REQUIRED)
fanin_add_test(
  perf_harness
  SOURCES oracle_test.cpp data_kinds_test.cpp baseline_test.cpp runner_test.cpp between_test.cpp rows_test.cpp cg_test.cpp
  LIBS fanin_perf_loop nlohmann_json::nlohmann_json
  LABELS perf
  COST 20)

# Of Python and JavaScript.
if(FANIN_PYTHON)
  add_test(NAME perf_shapes_pytorch COMMAND "${FANIN_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/shapes_pytorch_test.py"
                                            "${PROJECT_SOURCE_DIR}/perf/shapes")
  add_test(NAME perf_report COMMAND "${FANIN_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/report_test.py"
                                    "${PROJECT_SOURCE_DIR}/perf/report")
  add_test(
    NAME perf_browser
    COMMAND
      "${FANIN_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/browser_test.py" "$<TARGET_FILE:fanin_perf>"
      "${PROJECT_SOURCE_DIR}/perf/report/report.py" "${PROJECT_SOURCE_DIR}/perf/results/h200/one_pass.json"
      "${CMAKE_CURRENT_BINARY_DIR}/browser")
  set_tests_properties(perf_shapes_pytorch perf_report perf_browser PROPERTIES LABELS perf TIMEOUT 600)
  set_tests_properties(perf_browser PROPERTIES COST 30 SKIP_REGULAR_EXPRESSION "skipped: ")
endif()
