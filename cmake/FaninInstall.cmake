# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts into a prefix: headers, the host library, the CUDA library, the package's CMake files. A Kokkos
# that was built along with Fanin installs itself beside it.

include(CMakePackageConfigHelpers)

set(fanin_targets fanin fanin_device fanin_core fanin_host fanin_serial)
foreach(directory IN ITEMS device core backends backends/host backends/serial)
  list(APPEND fanin_header_dirs "${PROJECT_SOURCE_DIR}/${directory}/include/")
endforeach()
if(FANIN_ENABLE_KOKKOS)
  list(APPEND fanin_targets fanin_kokkos)
  list(APPEND fanin_header_dirs "${PROJECT_SOURCE_DIR}/backends/kokkos/include/")
endif()
if(FANIN_ENABLE_CUDA)
  list(APPEND fanin_targets fanin_cuda)
  list(APPEND fanin_header_dirs "${PROJECT_SOURCE_DIR}/backends/cuda/include/")
endif()
if(FANIN_ENABLE_MPI)
  list(APPEND fanin_targets fanin_mpi)
  list(APPEND fanin_header_dirs "${PROJECT_SOURCE_DIR}/backends/mpi/include/")
endif()
if(FANIN_ENABLE_NCCL)
  list(APPEND fanin_targets fanin_nccl)
  list(APPEND fanin_header_dirs "${PROJECT_SOURCE_DIR}/backends/nccl/include/")
endif()

install(DIRECTORY ${fanin_header_dirs} "${fanin_generated_include_dir}/"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(
  TARGETS ${fanin_targets}
  EXPORT fanin-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")

set(fanin_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fanin")
install(
  EXPORT fanin-targets
  NAMESPACE fanin::
  DESTINATION "${fanin_package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/fanin-config.cmake.in" "${PROJECT_BINARY_DIR}/fanin-config.cmake"
  INSTALL_DESTINATION "${fanin_package_dir}"
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Below 1.0 a minor version may break what went before; from 1.0 on: SameMajorVersion.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/fanin-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/fanin-config.cmake" "${PROJECT_BINARY_DIR}/fanin-config-version.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FaninTarget.cmake" "${PROJECT_SOURCE_DIR}/cmake/FaninNccl.cmake"
  DESTINATION "${fanin_package_dir}")

# pkg-config, for builds without CMake: what a unit of a C++ compiler needs. (Units for nvcc take their flags from
# fanin_target.)
set(fanin_pc_cflags "")
set(fanin_pc_libs "")
if(FANIN_ENABLE_KOKKOS AND NOT FANIN_KOKKOS_NEEDS_CUDA)
  if(Kokkos_DIR AND NOT fanin_kokkos_in_tree)
    get_filename_component(fanin_pc_kokkos "${Kokkos_DIR}/../../.." ABSOLUTE)
    string(APPEND fanin_pc_cflags " -I${fanin_pc_kokkos}/include")
    string(APPEND fanin_pc_libs " -L${fanin_pc_kokkos}/lib")
  else()
    string(APPEND fanin_pc_cflags " -I\${includedir}/kokkos")  # the one that was built along
  endif()
  string(APPEND fanin_pc_libs " -L\${libdir} -lkokkoscore -ldl")
  if(Kokkos_ENABLE_OPENMP)
    string(APPEND fanin_pc_cflags " ${OpenMP_CXX_FLAGS}")
    string(APPEND fanin_pc_libs " ${OpenMP_CXX_FLAGS}")
  endif()
endif()
if(FANIN_ENABLE_CUDA)
  list(GET CUDAToolkit_INCLUDE_DIRS 0 fanin_pc_cuda_include)
  string(APPEND fanin_pc_cflags " -I${fanin_pc_cuda_include}")
  string(APPEND fanin_pc_libs " -L\${libdir} -lfanin_cuda -L${CUDAToolkit_LIBRARY_DIR}")
  if(BUILD_SHARED_LIBS)
    string(APPEND fanin_pc_libs " -lcudart")
  else()
    string(APPEND fanin_pc_libs " -lcudart_static -ldl -lrt -lpthread")
  endif()
endif()
string(PREPEND fanin_pc_libs "-L\${libdir} -lfanin_host")
file(RELATIVE_PATH fanin_pc_to_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/fanin.pc.in" "${PROJECT_BINARY_DIR}/fanin.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/fanin.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
