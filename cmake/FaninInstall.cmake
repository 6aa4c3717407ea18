# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts into a prefix: headers, the CUDA library, the package's CMake files. A Kokkos
# that was built along with Fanin installs itself beside it.

include(CMakePackageConfigHelpers)

set(fanin_targets fanin fanin_core fanin_serial)
foreach(directory IN ITEMS core backends backends/serial)
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

install(DIRECTORY ${fanin_header_dirs} "${fanin_generated_include_dir}/"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(
  TARGETS ${fanin_targets}
  EXPORT fanin-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")

set(fanin_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/fanin")
install(
  EXPORT fanin-targets
  NAMESPACE fanin::
  DESTINATION "${fanin_package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/fanin-config.cmake.in" "${PROJECT_BINARY_DIR}/fanin-config.cmake"
  INSTALL_DESTINATION "${fanin_package_dir}"
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/fanin-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/fanin-config.cmake" "${PROJECT_BINARY_DIR}/fanin-config-version.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FaninTarget.cmake"
  DESTINATION "${fanin_package_dir}")
