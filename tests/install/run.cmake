# SPDX-License-Identifier: Apache-2.0
# One step of the install tests, run by ctest (see CMakeLists.txt). Everything happens in a folder outside
# the source and the build tree, so that their paths in an installed file or a consumer's build show.

cmake_minimum_required(VERSION 3.25)

if(DEFINED ENV{TMPDIR})
  set(stage "$ENV{TMPDIR}/fanin-install-${KEY}")
else()
  set(stage "/tmp/fanin-install-${KEY}")
endif()
set(prefix "${stage}/moved")
set(sources "${stage}/sources")

# Runs a command, prints its output, and stops the test when it fails.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  message("${output}")
  set(output "${output}" PARENT_SCOPE)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "This command failed (${result}): ${command}")
  endif()
endfunction()

# Stops when a text file under a folder mentions the source or the build tree.
function(check_no_paths folder)
  foreach(path IN ITEMS "${BUILD_DIR}" "${SOURCE_DIR}")
    execute_process(COMMAND grep -rIlF -e "${path}" "${folder}" OUTPUT_VARIABLE files)
    if(files)
      message(FATAL_ERROR "These files mention ${path}:\n${files}")
    endif()
  endforeach()
endfunction()

# Configures a project, which may fail: gives `configured` and `output`, its words on one line.
function(configure source build)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${build}" -G "${GENERATOR}"
            "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" ${ARGN}
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
    RESULT_VARIABLE result)
  message("${output}")
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(output "${output}" PARENT_SCOPE)
  set(configured OFF PARENT_SCOPE)
  if(result EQUAL 0)
    set(configured ON PARENT_SCOPE)
  endif()
endfunction()

# Configures and builds a consumer against the moved prefix.
function(build_consumer name)
  set(build "${stage}/build-${name}")
  set(arguments "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
                -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
  if(CUDA_COMPILER)
    list(APPEND arguments "-DCMAKE_CUDA_COMPILER=${CUDA_COMPILER}")
  endif()
  run("${CMAKE_COMMAND}" -S "${sources}/${name}" -B "${build}" -G "${GENERATOR}" ${arguments} ${ARGN})
  run("${CMAKE_COMMAND}" --build "${build}")
  set(build "${build}" PARENT_SCOPE)
endfunction()

function(find_gpu out)
  execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE gpus ERROR_QUIET RESULT_VARIABLE result)
  if(result EQUAL 0 AND gpus MATCHES "GPU")
    set(${out} ON PARENT_SCOPE)
  else()
    set(${out} OFF PARENT_SCOPE)
  endif()
endfunction()

if(STEP STREQUAL "prefix")
  file(REMOVE_RECURSE "${stage}")
  run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${stage}/installed" --config "${CONFIG}")
  file(RENAME "${stage}/installed" "${prefix}")
  check_no_paths("${prefix}")
  foreach(consumer IN ITEMS application plain ranks subdirectory)
    file(COPY "${SOURCE_DIR}/tests/install/${consumer}" DESTINATION "${sources}")
  endforeach()

elseif(STEP STREQUAL "cleanup")
  file(REMOVE_RECURSE "${stage}")

elseif(STEP STREQUAL "plain")
  build_consumer(plain)
  check_no_paths("${build}")
  find_gpu(gpu)
  if(HAS_CUDA AND gpu)
    run("${build}/plain" gpu)
  else()
    run("${build}/plain")
  endif()

elseif(STEP STREQUAL "application")
  build_consumer(application -DWITH_CUDA=${NEEDS_CUDA} -DFANIN_DEFAULT_BACKEND=${BACKEND})
  check_no_paths("${build}")
  find_gpu(gpu)
  # A Kokkos with CUDA starts on a machine with a GPU only.
  if(BACKEND STREQUAL "cuda" OR (BACKEND STREQUAL "kokkos" AND NEEDS_CUDA))
    if(NOT gpu)
      message("Built. Not run: skipped: there is no GPU.")
      return()
    endif()
  endif()
  run("${build}/application")
  if(NOT output MATCHES "backend: ${BACKEND}")
    message(FATAL_ERROR "Configured for ${BACKEND}, the application did not say so.")
  endif()

elseif(STEP STREQUAL "ranks")
  build_consumer(ranks)
  check_no_paths("${build}")
  file(READ "${build}/mpiexec" mpiexec)
  run("${mpiexec}" -n 3 "${build}/ranks")

elseif(STEP STREQUAL "unknown_backend")
  configure("${sources}/plain" "${stage}/build-unknown" "-DCMAKE_PREFIX_PATH=${prefix}"
            -DFANIN_DEFAULT_BACKEND=abacus)
  if(configured OR NOT output MATCHES "FANIN_DEFAULT_BACKEND is \"abacus\"; the Fanin in .* was built with: serial")
    message(FATAL_ERROR "An unknown backend must be refused in words.")
  endif()

elseif(STEP STREQUAL "subdirectory")
  # CUDA is not switched off: in a project of C++ alone it must be by itself.
  build_consumer(subdirectory "-DFANIN_SOURCE_DIR=${SOURCE_DIR}" -DFANIN_ENABLE_KOKKOS=OFF)
  run("${build}/application")
  # What it installs, another project finds, with the serial backend and nothing else.
  run("${CMAKE_COMMAND}" --install "${build}" --prefix "${stage}/serial_only")
  set(prefix "${stage}/serial_only")
  file(REMOVE_RECURSE "${sources}/serial_only")
  file(COPY "${sources}/plain/" DESTINATION "${sources}/serial_only")
  build_consumer(serial_only)
  run("${build}/plain")
  configure("${sources}/ranks" "${stage}/build-serial_ranks" "-DCMAKE_PREFIX_PATH=${prefix}")
  if(configured OR NOT output MATCHES "The component mpi is wanted; the Fanin in .* was built without it")
    message(FATAL_ERROR "A component that was not built must be refused in words.")
  endif()

elseif(STEP STREQUAL "subdirectory_with_cuda")
  configure("${sources}/subdirectory" "${stage}/build-subdirectory_with_cuda" "-DFANIN_SOURCE_DIR=${SOURCE_DIR}"
            -DFANIN_ENABLE_KOKKOS=OFF -DFANIN_ENABLE_CUDA=ON)
  if(configured OR NOT output MATCHES "FANIN_ENABLE_CUDA is ON, and Fanin is a subdirectory .* enable_language.CUDA.")
    message(FATAL_ERROR "CUDA in a project without that language must be refused in words.")
  endif()

elseif(STEP STREQUAL "subdirectory_with_kokkos")
  # Configured only: which Kokkos it is shows then.
  set(build "${stage}/build-subdirectory_with_kokkos")
  configure("${sources}/subdirectory" "${build}" "-DFANIN_SOURCE_DIR=${SOURCE_DIR}"
            "-DKOKKOS_SOURCE_DIR=${KOKKOS_SOURCE_DIR}")
  if(NOT configured OR NOT output MATCHES "Fanin [0-9.]+: backends serial, kokkos")
    message(FATAL_ERROR "Fanin must use the Kokkos that its project has already.")
  endif()
  configure("${sources}/subdirectory" "${build}" -DCMAKE_CXX_STANDARD=17)
  if(configured OR NOT output MATCHES "Fanin is C..20, and the Kokkos in .* was built as C..17")
    message(FATAL_ERROR "A Kokkos of C++17 must be refused in words.")
  endif()

elseif(STEP STREQUAL "pkg_config")
  find_program(PKG_CONFIG pkg-config)
  if(NOT PKG_CONFIG)
    message("skipped: there is no pkg-config here.")
    return()
  endif()
  file(GLOB_RECURSE folder "${prefix}/fanin.pc")
  get_filename_component(folder "${folder}" DIRECTORY)
  run("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${folder}" "${PKG_CONFIG}" --cflags --libs fanin)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run("${CXX_COMPILER}" "${sources}/plain/plain.cpp" -o "${stage}/plain_by_pkg_config" ${flags})
  run("${stage}/plain_by_pkg_config")

elseif(STEP STREQUAL "cuda_runtime")
  # One CUDA runtime: the application's, static unless it asks for the shared one.
  foreach(runtime IN ITEMS Static Shared)
    build_consumer(plain -DCMAKE_CUDA_RUNTIME_LIBRARY=${runtime})
    run(ldd "${build}/plain")
    string(REGEX MATCH "libcudart" has_Shared "${output}")
    run(nm "${build}/plain")
    string(REGEX MATCH "[0-9a-f] [tT] cudaMalloc" has_Static "${output}")
    if(NOT has_${runtime} OR (has_Shared AND has_Static))
      message(FATAL_ERROR "Asked for the ${runtime} CUDA runtime, the application has not this one alone: "
                          "shared \"${has_Shared}\", static \"${has_Static}\".")
    endif()
  endforeach()

elseif(STEP STREQUAL "shared_library")
  run("${CMAKE_COMMAND}" --build "${BUILD_DIR}" --target fanin_uses_shared)
  run(nm -D -C --defined-only "${LIBRARY}")
  if(NOT output MATCHES "fanin::build_info" OR output MATCHES "fanin::detail::(cuda_state|reduce_kernel|cuda_pool)")
    message(FATAL_ERROR "The shared library must show what public headers declare, and nothing else.")
  endif()

elseif(STEP STREQUAL "shared_host_library")
  run("${CMAKE_COMMAND}" --build "${BUILD_DIR}" --target fanin_host_as_shared)
  run(nm -D -C --defined-only "${LIBRARY}")
  if(NOT output MATCHES "fanin::detail::host::loops_of" OR output MATCHES "(baseline_table|best)")
    message(FATAL_ERROR "The shared library must show what its header declares, and nothing else.")
  endif()
  # What it shows is all that a program needs.
  run("${CXX_COMPILER}" -std=c++20 "-I${prefix}/include" "${sources}/plain/host_loops.cpp" "${LIBRARY}" -o
      "${stage}/with_shared_host_library")
  get_filename_component(folder "${LIBRARY}" DIRECTORY)
  run("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${folder}" "${stage}/with_shared_host_library")

elseif(STEP STREQUAL "other_kokkos")
  foreach(version IN ITEMS 3.7.2 5.0.0)
    set(package "${stage}/kokkos-${version}")
    file(WRITE "${package}/KokkosConfig.cmake" "set(Kokkos_CXX_STANDARD 20)\n")
    file(WRITE "${package}/KokkosConfigVersion.cmake" "set(PACKAGE_VERSION ${version})\n")
    configure("${SOURCE_DIR}" "${stage}/build-other_kokkos" "-DKokkos_DIR=${package}" -DFANIN_ENABLE_CUDA=OFF
              -DFANIN_ENABLE_TESTS=OFF -DFANIN_ENABLE_PERF=OFF -DFANIN_ENABLE_EXAMPLES=OFF)
    if(configured OR NOT output MATCHES "Fanin takes Kokkos .*, and the one in .* is ${version}")
      message(FATAL_ERROR "Kokkos ${version} must be refused in words.")
    endif()
  endforeach()

else()
  message(FATAL_ERROR "There is no step \"${STEP}\".")
endif()
