# SPDX-License-Identifier: Apache-2.0
# What a user may choose, and the values that follow from it:
#   FANIN_HAS_KOKKOS, FANIN_HAS_CUDA, FANIN_KOKKOS_NEEDS_CUDA (0/1)   for config.hpp
#   FANIN_DEFAULT_BACKEND_MACRO                                       FANIN_BACKEND_<NAME>
#   fanin_built_...                                                   what fanin::build_info() tells

include(CheckLanguage)

option(FANIN_ENABLE_KOKKOS "Build the Kokkos backend" ON)

# On its own Fanin has the CUDA backend where a CUDA compiler is; inside of another project, which may know nothing of
# CUDA, only when it is asked for. Asked once, then the cache decides.
set(fanin_cuda_found OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED FANIN_ENABLE_CUDA)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(fanin_cuda_found ON)
  endif()
endif()
option(FANIN_ENABLE_CUDA "Build the CUDA backend (needs nvcc)" ${fanin_cuda_found})
unset(fanin_cuda_found)

option(FANIN_ENABLE_MPI "Build fanin::mpi, reductions over the ranks of MPI" OFF)
option(FANIN_ENABLE_NCCL "Build fanin::nccl, reductions over the ranks of NCCL (with CUDA; FANIN_NCCL_ROOT says where that is)" OFF)

set(FANIN_DEFAULT_BACKEND
    serial
    CACHE STRING "Backend of fanin::range(n): serial, kokkos or cuda")
set_property(CACHE FANIN_DEFAULT_BACKEND PROPERTY STRINGS serial kokkos cuda)

option(FANIN_ENABLE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(FANIN_HOST_TESTS "With CUDA: also the tests that a configuration without CUDA has in the same form" ON)
option(FANIN_CUDA_COMPILED_ONLY "With CUDA, to be built where no GPU is: of what would skip there, enough to see that it compiles" OFF)
set(FANIN_TEST_FOLDERS
    ""
    CACHE STRING "Folders of tests/ to build, of those that the configuration has; empty: all of them")
option(FANIN_ENABLE_PERF "Build fanin-perf" ${PROJECT_IS_TOP_LEVEL})
option(FANIN_ENABLE_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(FANIN_ENABLE_FUZZ "Build the fuzzers (needs Clang)" OFF)
option(FANIN_INSTALL "Add Fanin to the install target" ON)
option(FANIN_WARNINGS_AS_ERRORS "Treat warnings in Fanin's own code as errors"
       ${PROJECT_IS_TOP_LEVEL})
set(FANIN_SANITIZE
    ""
    CACHE STRING "Sanitizers for Fanin's own code, as in -fsanitize=: address,undefined or thread")
set(FANIN_DEPS_DIR
    "${PROJECT_BINARY_DIR}/_deps"
    CACHE PATH "Where fetched sources (Kokkos) are kept; several build trees may share it")

# --- Build type ------------------------------------------------------------------------------------
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE
      Release
      CACHE STRING "Build type" FORCE)
endif()

# --- CUDA ------------------------------------------------------------------------------------------
# Without a choice: the visible GPU's architecture, or Hopper's where there is none. A number and not
# `native`, since Kokkos must be built for the same one.
function(fanin_choose_cuda_architectures)
  if(DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT CMAKE_CUDA_ARCHITECTURES STREQUAL "native")
    return()
  endif()
  set(architecture 90)
  find_program(FANIN_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(FANIN_NVIDIA_SMI)
  if(FANIN_NVIDIA_SMI)
    execute_process(
      COMMAND "${FANIN_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE capability
      RESULT_VARIABLE result
      ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(result EQUAL 0 AND capability MATCHES "^([0-9]+)\\.([0-9]+)")
      set(architecture "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES
      ${architecture}
      CACHE STRING "CUDA architectures" FORCE)
endfunction()

# A language that is enabled here is known here and below: in an enclosing project no target with a CUDA unit could be
# generated. So that project enables it first.
macro(fanin_enable_cuda_language reason)
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CUDA_COMPILER_LOADED)
    message(
      FATAL_ERROR
        "${reason}, and Fanin is a subdirectory of a project without the language CUDA. In that project call "
        "enable_language(CUDA), or project(<name> LANGUAGES CXX CUDA), before add_subdirectory of Fanin.")
  endif()
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(
      FATAL_ERROR
        "${reason}, and no CUDA compiler was found. Put nvcc on PATH, set CMAKE_CUDA_COMPILER, or configure with "
        "-DFANIN_ENABLE_CUDA=OFF.")
  endif()
  enable_language(CUDA)
endmacro()

if(FANIN_ENABLE_CUDA)
  fanin_choose_cuda_architectures()
  fanin_enable_cuda_language("FANIN_ENABLE_CUDA is ON")
  find_package(CUDAToolkit REQUIRED)
  if(BUILD_SHARED_LIBS AND NOT DEFINED CMAKE_CUDA_RUNTIME_LIBRARY)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  endif()
  if(BUILD_SHARED_LIBS AND NOT CMAKE_CUDA_RUNTIME_LIBRARY STREQUAL "Shared")
    message(
      FATAL_ERROR
        "BUILD_SHARED_LIBS is ON and CMAKE_CUDA_RUNTIME_LIBRARY is \"${CMAKE_CUDA_RUNTIME_LIBRARY}\": a shared Fanin and "
        "its application use one CUDA runtime, which then is the shared one. Leave it unset, or build Fanin static.")
  endif()
  if(CUDAToolkit_VERSION VERSION_LESS 12.3)
    message(FATAL_ERROR "Fanin needs CUDA 12.3 or newer (16-byte accesses of PTX 8.3); this is ${CUDAToolkit_VERSION}.")
  endif()
endif()

# --- The default backend ---------------------------------------------------------------------------
set(fanin_enabled_backends serial)
if(FANIN_ENABLE_KOKKOS)
  list(APPEND fanin_enabled_backends kokkos)
endif()
if(FANIN_ENABLE_CUDA)
  list(APPEND fanin_enabled_backends cuda)
endif()
list(JOIN fanin_enabled_backends ", " fanin_enabled_backends_text)

if(NOT FANIN_DEFAULT_BACKEND MATCHES "^(serial|kokkos|cuda)$")
  message(FATAL_ERROR "FANIN_DEFAULT_BACKEND is \"${FANIN_DEFAULT_BACKEND}\", which is no backend. "
                      "The backends are: serial, kokkos, cuda.")
endif()
if(NOT FANIN_DEFAULT_BACKEND IN_LIST fanin_enabled_backends)
  string(TOUPPER "${FANIN_DEFAULT_BACKEND}" upper)
  message(
    FATAL_ERROR
      "FANIN_DEFAULT_BACKEND is ${FANIN_DEFAULT_BACKEND}, and that backend is off. Enabled are: "
      "${fanin_enabled_backends_text}. Configure with -DFANIN_ENABLE_${upper}=ON or choose another.")
endif()

# --- What config.hpp says --------------------------------------------------------------------------
set(FANIN_HAS_KOKKOS 0)
set(FANIN_HAS_CUDA 0)
set(FANIN_KOKKOS_NEEDS_CUDA 0)
if(FANIN_ENABLE_CUDA)
  set(FANIN_HAS_CUDA 1)
endif()
if(FANIN_ENABLE_KOKKOS)
  set(FANIN_HAS_KOKKOS 1)
  include(FaninKokkos) # finds or fetches Kokkos; sets FANIN_KOKKOS_NEEDS_CUDA
endif()
string(TOUPPER "FANIN_BACKEND_${FANIN_DEFAULT_BACKEND}" FANIN_DEFAULT_BACKEND_MACRO)
set(fanin_built_kokkos "")
if(FANIN_ENABLE_KOKKOS)
  set(fanin_built_kokkos "${Kokkos_VERSION}")
endif()
set(fanin_built_cuda "")
set(fanin_built_shared false)
if(FANIN_ENABLE_CUDA)
  set(fanin_built_cuda "${CUDAToolkit_VERSION}")
  if(BUILD_SHARED_LIBS)
    set(fanin_built_shared true)
  endif()
endif()

message(STATUS "Fanin ${PROJECT_VERSION}: backends ${fanin_enabled_backends_text}; "
               "default ${FANIN_DEFAULT_BACKEND}")
