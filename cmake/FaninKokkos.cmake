# SPDX-License-Identifier: Apache-2.0
# Kokkos, for the Kokkos backend: the one that the enclosing project has added already, or an installed one
# (Kokkos_ROOT points to it), or else its sources from a Python package that carries them, checked against a hash
# and built along with Fanin.
#
# Afterwards: the target Kokkos::kokkos, Kokkos_VERSION, FANIN_KOKKOS_NEEDS_CUDA (0/1).

set(fanin_kokkos_version 4.7.0)

option(FANIN_KOKKOS_ANY_VERSION "Take a Kokkos of a version that Fanin was never built with" OFF)

# A Kokkos of another version or C++ standard is answered in words, not by a failure to compile. docs/install.md
# lists the versions that were tried.
function(fanin_check_found_kokkos)
  if((Kokkos_VERSION VERSION_LESS 4.0 OR NOT Kokkos_VERSION VERSION_LESS 5.0) AND NOT FANIN_KOKKOS_ANY_VERSION)
    message(
      FATAL_ERROR
        "Fanin takes Kokkos 4.0 to 4.7, and the one in ${Kokkos_DIR} is ${Kokkos_VERSION}, which it was never built "
        "with. Try it all the same (-DFANIN_KOKKOS_ANY_VERSION=ON), point Kokkos_ROOT to another one, let Fanin build "
        "its own (-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON), or configure with -DFANIN_ENABLE_KOKKOS=OFF.")
  endif()
  if(NOT Kokkos_CXX_STANDARD EQUAL 20)
    message(
      FATAL_ERROR
        "Fanin is C++20, and the Kokkos in ${Kokkos_DIR} was built as C++${Kokkos_CXX_STANDARD}; both must be "
        "built with the same standard. Build Kokkos with -DCMAKE_CXX_STANDARD=20, or let Fanin build its own "
        "(-DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON).")
  endif()
  if(Kokkos_ENABLE_CUDA AND NOT Kokkos_COMPILE_LANGUAGE STREQUAL "CUDA")
    message(
      FATAL_ERROR
        "The Kokkos in ${Kokkos_DIR} has CUDA on and was not built with "
        "-DKokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE=ON, which Fanin needs.")
  endif()
endfunction()

# Downloads and unpacks the sources once into FANIN_DEPS_DIR; gives their folder.
function(fanin_fetch_kokkos out_source_dir)
  set(source_dir "${FANIN_DEPS_DIR}/kokkos-${fanin_kokkos_version}")
  set(${out_source_dir} "${source_dir}" PARENT_SCOPE)
  if(EXISTS "${source_dir}/CMakeLists.txt")
    return()
  endif()

  file(MAKE_DIRECTORY "${FANIN_DEPS_DIR}")
  file(LOCK "${FANIN_DEPS_DIR}/kokkos.lock" GUARD FUNCTION TIMEOUT 600)
  if(EXISTS "${source_dir}/CMakeLists.txt")
    return()
  endif()

  find_package(Python3 3.8 COMPONENTS Interpreter)
  if(NOT Python3_FOUND)
    message(
      FATAL_ERROR
        "No Kokkos was found, and fetching its sources needs Python 3 with pip. Install python3 and "
        "python3-pip, point Kokkos_ROOT to an installed Kokkos, or configure with "
        "-DFANIN_ENABLE_KOKKOS=OFF.")
  endif()

  message(STATUS "Kokkos ${fanin_kokkos_version}: fetching its sources with pip")
  set(download_dir "${FANIN_DEPS_DIR}/kokkos-download")
  file(REMOVE_RECURSE "${download_dir}")
  file(MAKE_DIRECTORY "${download_dir}")
  # pip checks the hash before anything of the package runs.
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -m pip download --quiet --disable-pip-version-check --no-deps
            --no-binary pygenten --require-hashes -r "${PROJECT_SOURCE_DIR}/cmake/kokkos_source.txt" -d
            "${download_dir}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  file(GLOB archive "${download_dir}/*.tar.gz")
  if(NOT result EQUAL 0 OR NOT archive)
    message(
      FATAL_ERROR
        "Fetching Kokkos with pip failed:\n${output}\n"
        "Point Kokkos_ROOT to an installed Kokkos, or configure with -DFANIN_ENABLE_KOKKOS=OFF.")
  endif()

  file(
    ARCHIVE_EXTRACT
    INPUT "${archive}"
    DESTINATION "${download_dir}"
    PATTERNS "*/tpls/kokkos/*")
  file(GLOB unpacked "${download_dir}/*/tpls/kokkos")
  file(RENAME "${unpacked}" "${source_dir}")
  file(REMOVE_RECURSE "${download_dir}")
endfunction()

# Kokkos's name of the architecture that Fanin is built for.
function(fanin_kokkos_cuda_arch out_option)
  list(GET CMAKE_CUDA_ARCHITECTURES 0 architecture)
  string(REGEX REPLACE "[^0-9].*$" "" architecture "${architecture}")
  set(known
      70=VOLTA70
      72=VOLTA72
      75=TURING75
      80=AMPERE80
      86=AMPERE86
      87=AMPERE87
      89=ADA89
      90=HOPPER90
      100=BLACKWELL100
      120=BLACKWELL120)
  foreach(pair IN LISTS known)
    if(pair MATCHES "^${architecture}=(.*)$")
      set(${out_option} "Kokkos_ARCH_${CMAKE_MATCH_1}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(
    FATAL_ERROR
      "Kokkos ${fanin_kokkos_version} does not know the CUDA architecture ${architecture} (from "
      "CMAKE_CUDA_ARCHITECTURES). Choose one of ${known}, or configure with -DFANIN_ENABLE_KOKKOS=OFF.")
endfunction()

macro(fanin_kokkos_option name value)
  set(Kokkos_${name}
      ${value}
      CACHE BOOL "set by Fanin" FORCE)
endmacro()

# Two dozen short units, each of which reads all of Kokkos, as two, and that of the containers among them: a third to a
# half of the time. (UNITY_BUILD does not know CUDA before CMake 3.31.) Where they are only compiled, without the machine
# code that Kokkos has beside PTX.
function(fanin_join_kokkos_units)
  set(language CXX)
  if(FANIN_ENABLE_CUDA)
    set(language CUDA)
  endif()
  if(FANIN_CUDA_COMPILED_ONLY)
    set_target_properties(kokkoscore PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
  endif()
  set(left "")
  foreach(target IN ITEMS kokkoscore kokkoscontainers)
    get_target_property(sources ${target} SOURCES)
    get_target_property(directory ${target} SOURCE_DIR)
    foreach(source IN LISTS sources)
      get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${directory}")
      if(source MATCHES "\\.cpp$")
        list(APPEND left "${source}")
      endif()
    endforeach()
    list(FILTER sources EXCLUDE REGEX "\\.cpp$")
    set(sources_of_${target} ${sources})
  endforeach()
  set(number 0)
  while(left)
    list(SUBLIST left 0 13 some)
    list(REMOVE_ITEM left ${some})
    list(TRANSFORM some REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
    list(JOIN includes "" includes)
    math(EXPR number "${number} + 1")
    set(unit "${PROJECT_BINARY_DIR}/kokkos/units_${number}.cpp")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "${includes}")
    set_source_files_properties("${unit}" TARGET_DIRECTORY kokkoscore PROPERTIES LANGUAGE ${language})
    list(APPEND sources_of_kokkoscore "${unit}")
  endwhile()
  set_target_properties(kokkoscore PROPERTIES SOURCES "${sources_of_kokkoscore}")
  target_include_directories(kokkoscore PRIVATE "${fanin_kokkos_source_dir}/containers/src")
  set(empty "${PROJECT_BINARY_DIR}/kokkos/no_units.cpp")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "// What stood here is among the units of kokkoscore.\n")
  set_target_properties(kokkoscontainers PROPERTIES SOURCES "${sources_of_kokkoscontainers};${empty}")
endfunction()

# Builds the fetched Kokkos as a part of this project.
macro(fanin_add_kokkos)
  fanin_fetch_kokkos(fanin_kokkos_source_dir)

  find_package(OpenMP QUIET COMPONENTS CXX)
  option(FANIN_KOKKOS_OPENMP "Build Kokkos with OpenMP" ${OpenMP_CXX_FOUND})

  fanin_kokkos_option(ENABLE_SERIAL ON)
  fanin_kokkos_option(ENABLE_OPENMP ${FANIN_KOKKOS_OPENMP})
  fanin_kokkos_option(ENABLE_CUDA ${FANIN_ENABLE_CUDA})
  fanin_kokkos_option(ENABLE_TESTS OFF)
  fanin_kokkos_option(ENABLE_EXAMPLES OFF)
  fanin_kokkos_option(ENABLE_BENCHMARKS OFF)
  fanin_kokkos_option(ENABLE_DEPRECATION_WARNINGS OFF)
  if(FANIN_ENABLE_CUDA)
    # The settings with which Kokkos 4.7.0 builds and runs with CUDA 13: nvcc as CMake's CUDA language, and
    # the earlier View, since the new one, captured in a lambda under C++20, writes out of bounds.
    fanin_kokkos_option(ENABLE_COMPILE_AS_CMAKE_LANGUAGE ON)
    fanin_kokkos_option(ENABLE_IMPL_VIEW_LEGACY ON)
    fanin_kokkos_cuda_arch(fanin_kokkos_arch)
    set(${fanin_kokkos_arch}
        ON
        CACHE BOOL "set by Fanin" FORCE)
  endif()

  # Kokkos takes its C++ standard from this variable.
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_EXTENSIONS OFF)
  # Beside tests under sanitizers, which are not optimised either.
  set(fanin_kept_flags "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  if(FANIN_SANITIZE)
    string(REPLACE "-Og" "-O0" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  endif()
  add_subdirectory("${fanin_kokkos_source_dir}" "${PROJECT_BINARY_DIR}/kokkos" SYSTEM)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "${fanin_kept_flags}")
  unset(CMAKE_CXX_STANDARD)
  unset(CMAKE_CXX_EXTENSIONS)
  foreach(target IN ITEMS kokkoscore kokkoscontainers kokkossimd)
    if(FANIN_ENABLE_CUDA)
      # -std, since Kokkos drops CMAKE_CUDA_STANDARD; the headers say for themselves why they are needed.
      set(compat "${PROJECT_SOURCE_DIR}/backends/kokkos/compat")
      target_compile_options(
        ${target}
        PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>"
                "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-include ${compat}/kokkos_cuda13.hpp>"
                "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-include ${compat}/kokkos_driver_entry.hpp>")
    endif()
    if(FANIN_SANITIZE)
      target_compile_options(${target} PRIVATE "-fsanitize=${FANIN_SANITIZE}")
    endif()
  endforeach()
  if(PROJECT_IS_TOP_LEVEL AND FANIN_ENABLE_TESTS)
    fanin_join_kokkos_units()
  endif()
  set(Kokkos_VERSION ${fanin_kokkos_version})
endmacro()

# The enclosing project's Kokkos, added by add_subdirectory: it has written what its package says of an installed one.
macro(fanin_use_kokkos_of_project)
  include("${Kokkos_BINARY_DIR}/KokkosConfigVersion.cmake")
  set(Kokkos_VERSION "${PACKAGE_VERSION}")
  include("${Kokkos_BINARY_DIR}/KokkosConfigCommon.cmake")
  set(Kokkos_DIR "${Kokkos_SOURCE_DIR}")
  set(Kokkos_FOUND ON)
endmacro()

set(CMAKE_CXX_EXTENSIONS OFF) # Kokkos's package warns otherwise
set(fanin_kokkos_in_tree OFF)
if(TARGET Kokkos::kokkos)
  get_target_property(fanin_kokkos_imported Kokkos::kokkos IMPORTED)
  if(NOT fanin_kokkos_imported)
    set(fanin_kokkos_in_tree ON)
  endif()
endif()
if(fanin_kokkos_in_tree)
  fanin_use_kokkos_of_project()
else()
  find_package(Kokkos QUIET CONFIG)
endif()
unset(CMAKE_CXX_EXTENSIONS)
if(Kokkos_FOUND)
  message(STATUS "Kokkos ${Kokkos_VERSION}: ${Kokkos_DIR}")
  fanin_check_found_kokkos()
  if(Kokkos_ENABLE_CUDA)
    set(FANIN_KOKKOS_NEEDS_CUDA 1)
    if(NOT FANIN_ENABLE_CUDA)
      set(CMAKE_CUDA_ARCHITECTURES ${Kokkos_CUDA_ARCHITECTURES})
      fanin_enable_cuda_language("The Kokkos in ${Kokkos_DIR} has CUDA on")
    endif()
  endif()
else()
  fanin_add_kokkos()
  if(FANIN_ENABLE_CUDA)
    set(FANIN_KOKKOS_NEEDS_CUDA 1)
  endif()
endif()
