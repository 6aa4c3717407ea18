// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

/// Everything of Fanin that this build has: one parallel_reduce, and every backend that was enabled. A Kokkos that was
/// built with CUDA is left out of units that no CUDA compiler reads: give such a target fanin_target(). Define
/// FANIN_WITHOUT_KOKKOS for units that use no Kokkos, and Kokkos's headers are not read. Units with and without it make
/// one program.

// What units may be compiled with that warns here of what is meant: indices for functors that take unsigned ones, and
// floating-point numbers that are compared with 0.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wfloat-equal"
// Macros of C headers: min and max, and I of <complex.h>.
#pragma push_macro("I")
#pragma push_macro("max")
#pragma push_macro("min")
#undef I
#undef max
#undef min

#include <fanin/buffer.hpp>
#include <fanin/build_info.hpp>
#include <fanin/config.hpp>
#include <fanin/error.hpp>
#include <fanin/finished.hpp>
#include <fanin/macros.hpp>
#if FANIN_DETAIL_REFUSES_EXACT_SUMS
#include <fanin/detail/exact_refused.hpp>
#else
#include <fanin/exact_sum.hpp>
#endif
#include <fanin/axes.hpp>
#include <fanin/md_range.hpp>
#include <fanin/merge.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/pending.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>
#include <fanin/serial/serial.hpp>
#include <fanin/tuple.hpp>
#include <fanin/view.hpp>
#if FANIN_HAS_CUDA
#include <fanin/cuda/cuda.hpp>
#endif
#if FANIN_HAS_KOKKOS && !defined(FANIN_WITHOUT_KOKKOS) && (!FANIN_KOKKOS_NEEDS_CUDA || defined(__CUDACC__))
#include <fanin/kokkos/kokkos.hpp>
#endif
#include <fanin/default_backend.hpp>

#pragma pop_macro("min")
#pragma pop_macro("max")
#pragma pop_macro("I")
#pragma GCC diagnostic pop
