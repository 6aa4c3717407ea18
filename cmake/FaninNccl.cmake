# SPDX-License-Identifier: Apache-2.0
# Finds NCCL, 2.28 or later, as the target fanin_nccl_library: FANIN_NCCL_ROOT is the folder that has include/nccl.h and
# lib/libnccl.so.2, as that of the Python package nvidia-nccl-cu13 (site-packages/nvidia/nccl), whose library has no
# unversioned name. Sets FANIN_NCCL_VERSION, or fanin_nccl_why_not.

set(FANIN_NCCL_ROOT "" CACHE PATH "NCCL: the folder that has include/nccl.h and lib/libnccl.so.2")
set(fanin_nccl_why_not "")
if(NOT TARGET fanin_nccl_library)
  # The folder that was named alone, whatever else has an NCCL: headers and library are of one version.
  set(named "${FANIN_NCCL_ROOT}")
  if(NOT named)
    set(named "$ENV{NCCL_ROOT}")
  endif()
  set(only_there "")
  if(named)
    set(only_there NO_DEFAULT_PATH)
  endif()
  find_path(FANIN_NCCL_INCLUDE_DIR nccl.h HINTS "${named}" PATH_SUFFIXES include ${only_there})
  find_library(FANIN_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS "${named}" PATH_SUFFIXES lib ${only_there})
  mark_as_advanced(FANIN_NCCL_INCLUDE_DIR FANIN_NCCL_LIBRARY)
  if(NOT FANIN_NCCL_INCLUDE_DIR OR NOT FANIN_NCCL_LIBRARY)
    set(fanin_nccl_why_not
        "NCCL was not found. Set FANIN_NCCL_ROOT to the folder that has include/nccl.h and lib/libnccl.so.2 (of the Python package nvidia-nccl-cu13: site-packages/nvidia/nccl)."
    )
  else()
    file(STRINGS "${FANIN_NCCL_INCLUDE_DIR}/nccl.h" lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
    string(REGEX REPLACE "[^0-9;]" "" FANIN_NCCL_VERSION "${lines}")
    list(JOIN FANIN_NCCL_VERSION "." FANIN_NCCL_VERSION)
    if(FANIN_NCCL_VERSION VERSION_LESS 2.28)
      set(fanin_nccl_why_not
          "fanin::nccl needs NCCL 2.28 or later; ${FANIN_NCCL_INCLUDE_DIR}/nccl.h is of ${FANIN_NCCL_VERSION}.")
    else()
      add_library(fanin_nccl_library UNKNOWN IMPORTED)
      set_target_properties(fanin_nccl_library PROPERTIES IMPORTED_LOCATION "${FANIN_NCCL_LIBRARY}"
                                                          INTERFACE_INCLUDE_DIRECTORIES "${FANIN_NCCL_INCLUDE_DIR}")
    endif()
  endif()
endif()
