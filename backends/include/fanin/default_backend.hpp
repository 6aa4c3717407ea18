// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <fanin/buffer.hpp>
#include <fanin/config.hpp>
#include <fanin/execution.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>

/// What an application gets that names no execution object: the backend of -DFANIN_DEFAULT_BACKEND=serial|kokkos|cuda.
#if FANIN_DEFAULT_BACKEND == FANIN_BACKEND_CUDA
#include <fanin/cuda/cuda.hpp>
#elif FANIN_DEFAULT_BACKEND == FANIN_BACKEND_KOKKOS
#if FANIN_KOKKOS_NEEDS_CUDA && !defined(__CUDACC__)
#error \
    "fanin: the default backend is a Kokkos that was built with CUDA: compile this file as CUDA, with the CMake function fanin_target(<your target>)"
#endif
#include <fanin/kokkos/kokkos.hpp>
#else
#include <fanin/serial/serial.hpp>
#endif

namespace fanin {

#if FANIN_DEFAULT_BACKEND == FANIN_BACKEND_CUDA
using default_backend = cuda;
#elif FANIN_DEFAULT_BACKEND == FANIN_BACKEND_KOKKOS
using default_backend = kokkos<>;
#else
using default_backend = serial;
#endif

template <class T, class Exec = default_backend>
class buffer;

/// The default object: one per host thread (and device), made at first use.
inline default_backend& default_execution() { return backend<default_backend>::default_object(); }

/// [0, n) on the default object. Throws invalid_argument when n is negative or does not fit 64 bits.
template <detail::index_value N>
range_policy<default_backend> range(N n) {
  return range(default_execution(), n);
}

/// [first, last) on the default object. Throws invalid_argument when the extent is negative or does not fit 64 bits.
template <detail::index_value First, detail::index_value Last>
range_policy<default_backend> range(First first, Last last) {
  return range(default_execution(), first, last);
}

/// reduce on the default object.
template <detail::array X, class... Reducer>
detail::result_t<Reducer...> reduce(const X& xs, const Reducer&... reducers) {
  return reduce(default_execution(), xs, reducers...);
}

}  // namespace fanin
