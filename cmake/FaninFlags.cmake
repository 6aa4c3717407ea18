# SPDX-License-Identifier: Apache-2.0
# fanin_project_target(<target>...)
#
# Warnings, warnings as errors and sanitizers for Fanin's own targets: libraries with sources, tests,
# fanin-perf, examples. Nothing of it reaches a consumer.
#
# What is only tested, under sanitizers or where nvcc's units are only compiled, is linked by lld where that is: a program
# of 240 MB in 1.5 CPU seconds rather than 7. Everything else has the linker that users have.
#
# fanin_without_kokkos(<target>...)
#
# For targets of Fanin's own that use no Kokkos: nvcc would read its headers three times a unit, for 5 CPU seconds. Where
# a C++ compiler reads them, and where the default backend is Kokkos, nothing changes.

if(FANIN_SANITIZE OR FANIN_CUDA_COMPILED_ONLY)
  find_program(FANIN_LLD ld.lld DOC "The linker of what is only tested")
  mark_as_advanced(FANIN_LLD)
endif()

function(fanin_project_target)
  set(warnings -Wall -Wextra -Wconversion -Wshadow)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # fanin::tuple{a, b} has bases, each of which Clang wants in braces; with g++ conversions of a sign are apart.
    list(APPEND warnings -Wno-missing-braces -Wno-sign-conversion)
  endif()
  list(JOIN warnings "," warnings_for_nvcc)
  foreach(target IN LISTS ARGN)
    target_compile_options(
      ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
                        "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${warnings_for_nvcc}>")
    if(FANIN_LLD)
      target_link_options(${target} PRIVATE "$<HOST_LINK:-fuse-ld=lld>")
    endif()
    if(FANIN_WARNINGS_AS_ERRORS)
      target_compile_options(
        ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Werror>"
                          "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Werror>")
    endif()
    if(FANIN_SANITIZE)
      target_compile_options(
        ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${FANIN_SANITIZE}>"
                          "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>"
                          "$<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>")
      if(FANIN_SANITIZE MATCHES "thread")
        # GCC's warning that ThreadSanitizer does not follow fences; Kokkos's headers hold some.
        target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>")
      endif()
      target_link_options(${target} PRIVATE "-fsanitize=${FANIN_SANITIZE}")
    endif()
  endforeach()
endfunction()

function(fanin_without_kokkos)
  if(FANIN_KOKKOS_NEEDS_CUDA AND NOT FANIN_DEFAULT_BACKEND STREQUAL "kokkos")
    foreach(target IN LISTS ARGN)
      target_compile_definitions(${target} PRIVATE FANIN_WITHOUT_KOKKOS)
    endforeach()
  endif()
endfunction()
