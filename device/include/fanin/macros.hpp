// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

/// Marks a function that a backend may call on the host and on a device: reducers' members, functors' call operators.
/// A host-only reducer or functor does not compile on the CUDA backend.
#if defined(__CUDACC__)
#define FANIN_FUNCTION __host__ __device__
#else
#define FANIN_FUNCTION
#endif

/// Begins a portable functor that captures by copy: FANIN_LAMBDA(std::int64_t i, double& acc) { acc += x[i]; }.
/// Under nvcc an extended lambda: it cannot stand in a private member function or in one with a deduced return type.
#define FANIN_LAMBDA [=] FANIN_FUNCTION

/// The same inside a member function: captures a copy of *this, so that members are reachable on a device.
#define FANIN_CLASS_LAMBDA [ =, *this ] FANIN_FUNCTION

/// For what is rarely called, so that its code stands once and callers keep their registers.
#if defined(__CUDACC__)
#define FANIN_DETAIL_NOINLINE __noinline__
#elif defined(__GNUC__)
#define FANIN_DETAIL_NOINLINE __attribute__((noinline))
#elif defined(_MSC_VER)
#define FANIN_DETAIL_NOINLINE __declspec(noinline)
#else
#define FANIN_DETAIL_NOINLINE
#endif

/// In front of a loop that a device runs once: unrolled a little there, as code that is run through once costs more
/// than what it does (on an H200 some 6 cycles an instruction), and loads of one step after the other wait.
#if defined(__CUDA_ARCH__)
#define FANIN_DETAIL_UNROLLED_LITTLE _Pragma("unroll 8")
#else
#define FANIN_DETAIL_UNROLLED_LITTLE
#endif

/// Whether this unit computes doubles in a wider type, or may: g++ for 32-bit x86, and -mfpmath=387 or both. (The
/// compiler's own name, since FLT_EVAL_METHOD is there only after <cfloat>.)
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 2 || __FLT_EVAL_METHOD__ < 0)
#define FANIN_DETAIL_EXCESS_PRECISION 1
#else
#define FANIN_DETAIL_EXCESS_PRECISION 0
#endif

/// Whether exact sums cannot be had in this unit.
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || FANIN_DETAIL_EXCESS_PRECISION
#define FANIN_DETAIL_REFUSES_EXACT_SUMS 1
#else
#define FANIN_DETAIL_REFUSES_EXACT_SUMS 0
#endif
