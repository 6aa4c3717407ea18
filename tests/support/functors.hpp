// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/macros.hpp>
#include <fanin/tuple.hpp>

/// Functors as structs: nvcc refuses extended lambdas in GoogleTest's bodies. Lambdas have tests of their own.
namespace fanin_test {

/// f(i) = x[i].
template <class T>
struct at {
  const T* x;
  FANIN_FUNCTION T operator()(std::int64_t i) const { return x[i]; }
};

/// f(i, acc): acc += x[i].
template <class T>
struct add_at {
  const T* x;
  FANIN_FUNCTION void operator()(std::int64_t i, T& acc) const { acc += x[i]; }
};

/// f(i, state): state += x[i], of a reducer with a thread_state.
template <class Reducer>
struct add_to_state {
  const typename Reducer::value_type* x;
  FANIN_FUNCTION void operator()(std::int64_t i, typename Reducer::thread_state& state) const { state += x[i]; }
};

/// f(i) = i, as a 64-bit integer.
struct index_itself {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const { return i; }
};

/// f(i) = 1, and a mark at visits[i - first]: two visits of one index show as 2.
struct visit {
  std::uint8_t* visits;
  std::int64_t first;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const {
    visits[i - first] = static_cast<std::uint8_t>(visits[i - first] + 1);
    return 1;
  }
};

/// y[i] = value.
template <class T>
struct fill {
  T* y;
  T value;
  FANIN_FUNCTION void operator()(std::int64_t i) const { y[i] = value; }
};

/// f(x) = x * x; f(x, y) = x * y; f(x, y, z) = x * y + z.
struct multiply {
  template <class T>
  FANIN_FUNCTION T operator()(const T& x) const {
    return static_cast<T>(x * x);
  }
  template <class T>
  FANIN_FUNCTION T operator()(const T& x, const T& y) const {
    return static_cast<T>(x * y);
  }
  template <class T>
  FANIN_FUNCTION T operator()(const T& x, const T& y, const T& z) const {
    return static_cast<T>(x * y + z);
  }
};

}  // namespace fanin_test
