# SPDX-License-Identifier: Apache-2.0
# docs/strategies.md says what the catalogue says, and its figures are what their program draws. Needs no CUDA: the
# catalogue's headers are plain C++.

find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
  message(STATUS "Fanin: no Python 3, so docs/strategies.md goes unchecked")
  return()
endif()

add_executable(catalogue_facts "${PROJECT_SOURCE_DIR}/docs/tools/catalogue_facts.cpp")
target_compile_features(catalogue_facts PRIVATE cxx_std_20)
target_include_directories(catalogue_facts PRIVATE "${PROJECT_SOURCE_DIR}/backends/cuda/include")
fanin_project_target(catalogue_facts)

add_test(NAME docs.strategies COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/docs/tools/strategies.py" --check
                                      --facts "$<TARGET_FILE:catalogue_facts>")
add_test(NAME docs.figures COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/docs/figures/draw.py" --check)
set_tests_properties(docs.strategies docs.figures PROPERTIES LABELS docs TIMEOUT 120)
