// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/config.hpp>

#pragma GCC visibility push(default)

namespace fanin {

/// How a Fanin was configured. Strings of static lifetime; empty for what is not there.
struct build_options {
  const char* version;   ///< "0.2.0"
  const char* backends;  ///< "serial, kokkos, cuda"
  const char*
      default_backend;   ///< unless the application has chosen another: fanin::backend<fanin::default_backend>::name
  const char* compiler;  ///< "GNU 12.2.0"
  const char* kokkos;    ///< version
  const char* cuda;      ///< version of the toolkit
  bool is_shared;        ///< whether fanin::cuda is a shared library
};

namespace detail {

inline constexpr build_options options_of_headers{
    FANIN_VERSION_STRING, FANIN_BUILT_BACKENDS, FANIN_BUILT_DEFAULT_BACKEND, FANIN_BUILT_COMPILER,
    FANIN_BUILT_KOKKOS,   FANIN_BUILT_CUDA,     FANIN_BUILT_SHARED};

}  // namespace detail

#if FANIN_HAS_CUDA
/// Of the library that is linked; FANIN_VERSION_STRING is of the headers.
const char* version() noexcept;
build_options build_info() noexcept;
#else
/// Without the CUDA backend these are the headers' own.
inline const char* version() noexcept { return detail::options_of_headers.version; }
inline build_options build_info() noexcept { return detail::options_of_headers; }
#endif

}  // namespace fanin

#pragma GCC visibility pop
