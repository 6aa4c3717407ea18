# SPDX-License-Identifier: Apache-2.0
# fanin_target(<target> [CXX_SOURCES <source>...])
#
# Makes an application's target ready for Fanin, whichever backends are enabled:
#   - links fanin::fanin (PRIVATE; to an INTERFACE library, INTERFACE);
#   - where a backend's functors are compiled by nvcc (the CUDA backend; Kokkos built with CUDA), gives
#     the target's C++ sources the language CUDA, and the target the CUDA architectures that Fanin was
#     built for. A target with a CUDA_ARCHITECTURES of its own keeps it; a project-wide
#     CMAKE_CUDA_ARCHITECTURES cannot be told from the compiler's default and is not kept.
#   - where Fanin's CUDA library is shared, has the target use the shared CUDA runtime, as it does.
# Where no backend needs nvcc it only links, and the project needs no CUDA compiler.
#
# CXX_SOURCES, named as the target names them, stay C++ in any case: units that use everything of the CUDA
# backend except functors, and that g++ shall compile.
#
# Call it after the target's sources were added, in the target's own directory (LANGUAGE belongs to a
# source in a directory: two targets of one directory share it). Works alike after find_package(fanin)
# and after add_subdirectory(fanin).

include_guard(GLOBAL)

function(fanin_target target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" CXX_SOURCES)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fanin_target(${target}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "fanin_target(${target}): there is no target of this name.")
  endif()

  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(${target} INTERFACE fanin::fanin)
  else()
    target_link_libraries(${target} PRIVATE fanin::fanin)
  endif()

  get_target_property(is_shared fanin::fanin FANIN_IS_SHARED)
  if(is_shared)
    set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
  endif()

  get_target_property(needs_cuda fanin::fanin FANIN_NEEDS_CUDA)
  if(needs_cuda)
    _fanin_compile_as_cuda(${target} ${arg_CXX_SOURCES})
  endif()
endfunction()

# Gives the target's C++ sources, except those of ARGN, the language CUDA.
function(_fanin_compile_as_cuda target)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "CUDA" IN_LIST languages)
    message(
      FATAL_ERROR
        "fanin_target(${target}): this Fanin has a backend whose functors nvcc compiles, and the language "
        "CUDA is not enabled. Add it: project(<name> LANGUAGES CXX CUDA). (A target of plain C++ units, "
        "without functors for that backend, may link fanin::fanin instead of calling fanin_target.)")
  endif()

  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.(cc|cpp|cxx|c\\+\\+|C)$" AND NOT source IN_LIST ARGN)
      set_source_files_properties("${source}" PROPERTIES LANGUAGE CUDA)
    endif()
  endforeach()

  get_target_property(architectures ${target} CUDA_ARCHITECTURES)
  if(NOT architectures OR architectures STREQUAL "${CMAKE_CUDA_ARCHITECTURES}")
    get_target_property(architectures fanin::fanin FANIN_CUDA_ARCHITECTURES)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
  endif()
endfunction()
