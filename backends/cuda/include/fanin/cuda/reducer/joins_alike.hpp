// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <type_traits>

#include <fanin/cuda/reducer/ordered.hpp>
#include <fanin/cuda/reducer/packed_sum.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/device/arithmetic.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>

/// Which joins may be left to the host, when a call's other form has the device do them: those that give the same bits
/// on both.
namespace fanin::detail {

/// sum<T, float> and prod<T, float> with joins that keep subnormal numbers in every unit. (Folding is as the unit is
/// compiled: only the device folds.)
template <class T>
struct keeping_sum : sum<T, float> {
  FANIN_FUNCTION constexpr void join(float& into, const float& from) const { into = keeping_add(into, from); }
};
template <class T>
struct keeping_prod : prod<T, float> {
  FANIN_FUNCTION constexpr void join(float& into, const float& from) const { into = keeping_multiply(into, from); }
};

/// Whether host and device join accumulators of a reducer, and make a result of one, to the same bits: what is made of
/// integers, of comparisons, and of floating-point operations that each round once. Not a product of complex numbers,
/// whose operations a device's compiler contracts and a host's may; and no reducer of a user's, which may do anything.
template <class R>
inline constexpr bool joins_alike = false;

/// Of numbers that a device treats as the host does, however a unit is compiled: see keeping_sum.
template <class T>
inline constexpr bool computes_alike = std::is_arithmetic_v<T> && !std::is_same_v<T, float>;

template <class T, class Acc>
inline constexpr bool joins_alike<sum<T, Acc>> = computes_alike<Acc> || std::is_same_v<Acc, std::complex<double>>;
template <class T, class Acc>
inline constexpr bool joins_alike<prod<T, Acc>> = computes_alike<Acc>;
template <class T>
inline constexpr bool joins_alike<keeping_sum<T>> = true;
template <class T>
inline constexpr bool joins_alike<keeping_prod<T>> = true;
template <class T>
inline constexpr bool joins_alike<min<T>> = computes_alike<T>;
template <class T>
inline constexpr bool joins_alike<max<T>> = computes_alike<T>;
template <class T>
inline constexpr bool joins_alike<min_loc<T>> = computes_alike<T>;
template <class T>
inline constexpr bool joins_alike<max_loc<T>> = computes_alike<T>;
template <class T>
inline constexpr bool joins_alike<min_max<T>> = computes_alike<T>;
template <class T>
inline constexpr bool joins_alike<min_max_loc<T>> = computes_alike<T>;
template <class T>
inline constexpr bool joins_alike<land<T>> = computes_alike<T>;
template <class T>
inline constexpr bool joins_alike<lor<T>> = computes_alike<T>;
template <class T>
inline constexpr bool joins_alike<band<T>> = true;
template <class T>
inline constexpr bool joins_alike<bor<T>> = true;

template <class T, class Acc>
inline constexpr bool joins_alike<packed_sum<T, Acc>> = true;
template <class T, bool Least>
inline constexpr bool joins_alike<ordered_extreme<T, Least>> = true;
template <class T, bool Least>
inline constexpr bool joins_alike<ordered_place<T, Least>> = true;
template <class T, bool Least>
inline constexpr bool joins_alike<handed_over_place<T, Least>> = true;
template <class Low, class High, class Result>
inline constexpr bool joins_alike<ordered_pair<Low, High, Result>> = joins_alike<Low> && joins_alike<High>;

template <class... R>
inline constexpr bool joins_alike<composite<R...>> = (joins_alike<R> && ...);

/// Whether this thread of the host rounds as a device does now: to nearest and once, without flushing to zero. A
/// program may have said otherwise (fesetround, the flags that -ffast-math sets at its start, -mfpmath=387).
inline bool rounds_as_device() {
#if defined(__FAST_MATH__)
  return false;  // sums may be done in another order
#else
  const volatile double one = 1;
  const volatile double below_half = 0x1p-54;
  const volatile double above_half = 0x1.002p-53;
  const volatile double least = 0x1p-1074;
  const volatile double down = one + below_half;
  const volatile double up = one + above_half;
  const volatile double twice = least + least;
  return down == 1 && up == 1 + 0x1p-52 && twice != 0;
#endif
}

}  // namespace fanin::detail
