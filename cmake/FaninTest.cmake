# SPDX-License-Identifier: Apache-2.0
# How the tests are declared. Included where FANIN_ENABLE_TESTS is ON.
#
#   fanin_add_test(<name> SOURCES <source>... [PORTABLE|CUDA] [LIBS <library>...] [LABELS <label>...]
#                  [TIMEOUT <seconds>] [COST <seconds>] [ENVIRONMENT <name=value>...])
#       A GoogleTest program (a main() comes from gtest_main unless a source has one). Its sources are
#       compiled as C++; with PORTABLE in the language that the enabled backends need (fanin_target); with
#       CUDA by nvcc, and the test exists only where FANIN_ENABLE_CUDA is ON.
#       Each test case becomes a ctest test, listed when ctest runs; a skipped case counts as skipped.
#
#       COST: of tests that take many seconds. They start first, so that no core waits for the last of them.
#
#       Where nvcc's units are only compiled (FANIN_CUDA_COMPILED_ONLY), what it compiles of a program is one unit; with
#       CUDA by Clang as its host compiler, where that is: in three quarters of the time.
#
#   fanin_join_programs(<name> <source>...)
#       A program of several with a main() each, of which its argument names one: 02_two_forms for .../02_two_forms.cpp. Where
#       nvcc's units are only compiled. Their names at namespace scope are one program's, and a main() has a return.
#
#   fanin_optimise_less(<target>...)
#       Of a folder at -O3: programs in whose own code no loop is vectorised, at -Og in Release.
#
#   fanin_compile_on_its_own(<target>...)
#       Programs with flags of their own, for which GoogleTest was not precompiled.
#
#   fanin_precompile(<target> precompiled GTest::gtest)
#   fanin_precompile(<target> standard)
#       GoogleTest and the standard library's headers, or those alone, in front of each unit: tests/support/<header>.hpp,
#       precompiled once for the flags of the folder. A CPU second less a unit. fanin_add_test does so.
#
#   FANIN_PRECOMPILES
#       Whether units of tests begin with headers that are precompiled.
#
#   FANIN_WITH_HOST_TESTS
#       Whether to add tests that g++ alone compiles, in every configuration alike. Off with CUDA and without
#       FANIN_HOST_TESTS, as in scripts/test.sh, whose stage host has them.
#
#   FANIN_RUNS_FMA
#       Whether this machine runs what g++ and Clang compile with -march=x86-64-v3.
#
#   fanin_ranks_environment
#       What tests that start mpiexec have in their environment: Open MPI runs them as whoever the tester is, with more ranks
#       than cores, on this machine alone, one thread each.
#
#   fanin_add_compile_fail_test(<name> SOURCE <source> EXPECT <regex>... [LANGUAGE CUDA] [LIBS <library>...]
#                               [DEFINITIONS <definition>...] [PRECOMPILED])
#       Passes when the compiler refuses the source, and each regex matches a line with "error" in it. Of nvcc's passes
#       the one for the device alone. PRECOMPILED: the standard library's headers are, for the flags of the folder.
#
#   fanin_add_compile_pass_test(<name> SOURCE <source> [LANGUAGE CUDA] [LIBS ...] [DEFINITIONS ...] [PRECOMPILED])
#       The twin: the same flags, and the source must compile, by nvcc in every pass.
#
#   fanin_add_header_tests(<target> [EXCLUDE <regex>...])
#       Compiles every header of fanin_core, fanin_host, fanin_serial, fanin_kokkos or fanin_cuda on its own, included
#       twice, with the build. A .cuh, or any header of a backend that needs nvcc, is compiled by nvcc.

include(GoogleTest)
# A keyword that is followed by "" has that value, which CMake before 3.31 took for granted.
if(POLICY CMP0174)
  cmake_policy(SET CMP0174 NEW)
endif()

find_package(GTest REQUIRED)
if(FANIN_ENABLE_CUDA)
  find_program(FANIN_CLANG clang++ DOC "nvcc's host compiler in some tests")
  mark_as_advanced(FANIN_CLANG)
  if(CMAKE_CUDA_HOST_COMPILER) # chosen
    set(FANIN_CLANG "")
  endif()
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  include(CheckCXXSourceRuns)
  set(CMAKE_REQUIRED_FLAGS -march=x86-64-v3)
  check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"fma\") ? 0 : 1; }" FANIN_RUNS_FMA)
  unset(CMAKE_REQUIRED_FLAGS)
endif()

set(fanin_ranks_environment
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_plm=isolated
    OMPI_MCA_btl=self,vader
    OMPI_MCA_pml=ob1
    OMPI_MCA_btl_vader_single_copy_mechanism=none
    OMP_NUM_THREADS=1
    OMP_PROC_BIND=false
    KOKKOS_DISABLE_WARNINGS=1)

set(fanin_test_support_dir "${CMAKE_CURRENT_LIST_DIR}")

set(FANIN_WITH_HOST_TESTS ON)
if(FANIN_ENABLE_CUDA AND NOT FANIN_HOST_TESTS)
  set(FANIN_WITH_HOST_TESTS OFF)
endif()

function(_fanin_test_target target)
  target_link_libraries(${target} PRIVATE fanin::fanin ${ARGN})
  fanin_project_target(${target})
endfunction()

# nvcc with Clang as its host compiler, if it was found: what nvcc writes and Clang warns of is not ours.
function(fanin_compile_with_clang target)
  if(FANIN_CLANG)
    set(warnings -Xcompiler=-Wno-missing-braces,-Wno-sign-conversion,-Wno-gnu-designator --diag-suppress=177)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-ccbin=${FANIN_CLANG};${warnings}>")
  endif()
endfunction()

function(fanin_optimise_less)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Og>")
  endforeach()
endfunction()

function(fanin_compile_on_its_own)
  set_target_properties(${ARGN} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()

# Not with ccache, which has the unit and does not know what was precompiled.
set(FANIN_PRECOMPILES ON)
if(FANIN_ENABLE_CUDA OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(FANIN_PRECOMPILES OFF)
endif()

function(fanin_precompile name header) # <library>...
  if(NOT FANIN_PRECOMPILES)
    return()
  endif()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(MD5 key "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  string(SUBSTRING "${key}" 0 8 key)
  set(headers fanin_test_${header}_${key})
  if(NOT TARGET ${headers})
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/${headers}.cpp")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "// Has a precompiled header.\n")
    add_library(${headers} OBJECT "${unit}")
    _fanin_test_target(${headers} ${ARGN})
    target_include_directories(${headers} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_precompile_headers(${headers} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/${header}.hpp")
  endif()
  target_precompile_headers(${name} REUSE_FROM ${headers})
endfunction()

# One unit that includes the sources: nvcc reads what they share three times a unit, for 7 to 9 CPU seconds.
# (UNITY_BUILD does not know CUDA before CMake 3.31.)
function(fanin_join_sources out_unit name)
  set(includes "")
  foreach(source IN LISTS ARGN)
    get_filename_component(source "${source}" ABSOLUTE)
    string(APPEND includes "#include \"${source}\"\n")
  endforeach()
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/${name}_joined.cpp")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "${includes}")
  set(${out_unit} "${unit}" PARENT_SCOPE)
endfunction()

function(fanin_join_programs name)
  set(unit "")
  set(choices "")
  foreach(source IN LISTS ARGN)
    get_filename_component(source "${source}" ABSOLUTE)
    get_filename_component(program "${source}" NAME_WE)
    string(APPEND unit "#define main main_of_${program}\n#include \"${source}\"\n#undef main\n")
    string(APPEND choices "  if (name == \"${program}\") return main_of_${program}();\n")
  endforeach()
  string(APPEND unit "\n#include <string_view>\n\nint main(int, char** arguments) {\n"
                     "  const std::string_view name = arguments[1];\n${choices}  return 2;\n}\n")
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" CONTENT "${unit}" @ONLY)
  add_executable(${name} "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
endfunction()

function(fanin_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA;PORTABLE" "TIMEOUT;COST" "SOURCES;LIBS;LABELS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "fanin_add_test(${name}): no SOURCES, or unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_CUDA AND NOT FANIN_ENABLE_CUDA)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()

  list(LENGTH arg_SOURCES sources)
  if(FANIN_CUDA_COMPILED_ONLY AND (arg_CUDA OR arg_PORTABLE) AND sources GREATER 1)
    fanin_join_sources(arg_SOURCES ${name} ${arg_SOURCES})
  endif()

  add_executable(${name} ${arg_SOURCES})
  _fanin_test_target(${name} GTest::gtest GTest::gtest_main ${arg_LIBS})
  fanin_precompile(${name} precompiled GTest::gtest)
  if(arg_PORTABLE)
    fanin_target(${name})
  elseif(arg_CUDA)
    set_source_files_properties(${arg_SOURCES} PROPERTIES LANGUAGE CUDA)
    if(FANIN_CUDA_COMPILED_ONLY)
      fanin_compile_with_clang(${name})
    endif()
  endif()

  set(labels)
  if(arg_LABELS)
    set(labels LABELS "${arg_LABELS}")
  endif()
  if(arg_COST)
    list(APPEND labels COST ${arg_COST})
  endif()
  if(arg_ENVIRONMENT)
    list(APPEND labels ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  # PRE_TEST: the program lists its cases when ctest runs and not while building, so that a machine which
  # cannot run it can still build it.
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    TEST_PREFIX "${name}."
    PROPERTIES TIMEOUT ${arg_TIMEOUT} ${labels})
endfunction()

# Of nvcc's passes the one for the device alone, for one architecture: enough for what every pass sees.
function(fanin_compile_for_device_only target)
  list(GET CMAKE_CUDA_ARCHITECTURES 0 architecture)
  if(architecture MATCHES "^[0-9]+[af]?") # PTX is of one
    set_target_properties(${target} PROPERTIES CUDA_PTX_COMPILATION ON CUDA_ARCHITECTURES "${CMAKE_MATCH_0}-virtual")
  endif()
endfunction()

# An object library for one source that is compiled on its own. By nvcc, without Kokkos.
function(_fanin_add_compile_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;LANGUAGE" "LIBS;DEFINITIONS")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${arg_SOURCE}")
  set_target_properties(${name} PROPERTIES EXPORT_COMPILE_COMMANDS ON)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  _fanin_test_target(${name} ${arg_LIBS})
  if(arg_LANGUAGE STREQUAL "CUDA")
    fanin_without_kokkos(${name})
  endif()
  if(arg_LANGUAGE)
    # Not a property of the source: its twin in the other language may share the file.
    set(copy "${CMAKE_CURRENT_BINARY_DIR}/${name}.cu")
    if(arg_LANGUAGE STREQUAL "CUDA" AND arg_SOURCE MATCHES "\\.cpp$")
      get_filename_component(source "${arg_SOURCE}" ABSOLUTE)
      file(CONFIGURE OUTPUT "${copy}" CONTENT "#include \"${source}\"\n")
      set_target_properties(${name} PROPERTIES SOURCES "${copy}")
    endif()
  endif()
endfunction()

function(_fanin_add_compile_test name verdict)
  cmake_parse_arguments(PARSE_ARGV 2 arg "PRECOMPILED" "SOURCE;LANGUAGE" "LIBS;DEFINITIONS;EXPECT")
  if(arg_LANGUAGE STREQUAL "CUDA" AND NOT FANIN_ENABLE_CUDA)
    return()
  endif()
  _fanin_add_compile_target(
    ${name}
    SOURCE "${arg_SOURCE}"
    LANGUAGE "${arg_LANGUAGE}"
    LIBS ${arg_LIBS}
    DEFINITIONS ${arg_DEFINITIONS})
  if(arg_PRECOMPILED)
    fanin_precompile(${name} standard)
  endif()
  if(verdict STREQUAL "FAIL" AND arg_LANGUAGE STREQUAL "CUDA")
    fanin_compile_for_device_only(${name})
  endif()
  add_test(NAME ${name}
           COMMAND "${CMAKE_COMMAND}" "-DBUILD_DIR=${CMAKE_BINARY_DIR}" "-DTARGET=${name}"
                   "-DVERDICT=${verdict}" "-DEXPECT=${arg_EXPECT}" -P
                   "${fanin_test_support_dir}/FaninCompileTest.cmake")
  set_tests_properties(${name} PROPERTIES LABELS compile TIMEOUT 300)
endfunction()

function(fanin_add_compile_fail_test name)
  _fanin_add_compile_test(${name} FAIL ${ARGN})
endfunction()

function(fanin_add_compile_pass_test name)
  _fanin_add_compile_test(${name} PASS ${ARGN})
endfunction()

function(fanin_add_header_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCLUDE")
  get_target_property(directory ${target} FANIN_HEADER_DIR)
  file(
    GLOB_RECURSE headers
    RELATIVE "${directory}"
    CONFIGURE_DEPENDS "${directory}/*.hpp" "${directory}/*.cuh")

  foreach(regex IN LISTS arg_EXCLUDE)
    list(FILTER headers EXCLUDE REGEX "${regex}")
  endforeach()

  set(sources)
  foreach(header IN LISTS headers)
    set(extension cpp)
    if(header MATCHES "\\.cuh$" OR (FANIN_KOKKOS_NEEDS_CUDA AND target MATCHES "fanin.*kokkos"))
      set(extension cu)
    endif()
    string(MAKE_C_IDENTIFIER "${header}" unit)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/headers/${unit}.${extension}")
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include <${header}>\n#include <${header}>\n")
    list(APPEND sources "${source}")
  endforeach()

  if(sources)
    string(REPLACE "::" "_" name "${target}_headers")
    set(sources_of_nvcc ${sources})
    list(FILTER sources_of_nvcc INCLUDE REGEX "\\.cu$")
    list(FILTER sources EXCLUDE REGEX "\\.cu$")
    set(libraries)
    if(sources)
      add_library(${name} OBJECT ${sources})
      list(APPEND libraries ${name})
    endif()
    if(sources_of_nvcc)
      add_library(${name}_of_nvcc OBJECT ${sources_of_nvcc})
      fanin_compile_for_device_only(${name}_of_nvcc)
      list(APPEND libraries ${name}_of_nvcc)
    endif()
    fanin_project_target(${libraries})
    foreach(library IN LISTS libraries)
      target_link_libraries(${library} PRIVATE ${target})
    endforeach()
  endif()
endfunction()
