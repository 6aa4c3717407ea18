// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <Kokkos_Core.hpp>
#include <fanin/fanin.hpp>

/// Why tests of this space cannot run on this machine, or null.
template <class Space>
const char* missing_device() {
#if defined(KOKKOS_ENABLE_CUDA)
  // Kokkos initialises all of its spaces, so that host spaces of a CUDA Kokkos need the device too.
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return "this Kokkos was built with CUDA and there is no CUDA device";
  }
#endif
  return nullptr;
}

/// Every space of this Kokkos once. Under AddressSanitizer one with threads, which takes Serial's ways, too.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FANIN_TEST_ONE_HOST_SPACE
#endif
#endif
#if defined(KOKKOS_ENABLE_SERIAL) && !defined(FANIN_TEST_ONE_HOST_SPACE)
using host_spaces = std::conditional_t<std::is_same_v<Kokkos::DefaultHostExecutionSpace, Kokkos::Serial>,
                                       testing::Types<Kokkos::Serial>,
                                       testing::Types<Kokkos::Serial, Kokkos::DefaultHostExecutionSpace>>;
#else
using host_spaces = testing::Types<Kokkos::DefaultHostExecutionSpace>;
#endif
#if defined(KOKKOS_ENABLE_CUDA)
using all_spaces = testing::Types<Kokkos::Serial, Kokkos::Cuda>;
#else
using all_spaces = host_spaces;
#endif

template <class Space>
class kokkos_case : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* why = missing_device<Space>()) GTEST_SKIP() << why;
  }
};

/// Host elements in the memory of an object's space.
template <class T, class Space>
fanin::buffer<T, fanin::kokkos<Space>> to_space(fanin::kokkos<Space>& exec, const std::vector<T>& host) {
  return {exec, std::span<const T>(host)};
}

template <class T, class Space>
T value_of(const fanin::buffer<T, fanin::kokkos<Space>>& one) {
  T value;
  one.copy_to(std::span<T>(&value, 1));
  return value;
}

template <class T>
struct load {
  const T* data;
  FANIN_FUNCTION T operator()(std::int64_t i) const { return data[i]; }
};

struct index_itself {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const { return i; }
};

/// The acc& form of any reducer without a thread_state.
template <class Reducer>
struct fold_in {
  const fanin::reducer_value_t<Reducer>* data;
  Reducer reducer;
  FANIN_FUNCTION void operator()(std::int64_t i, fanin::reducer_accumulator_t<Reducer>& acc) const {
    fanin::detail::fold_value(reducer, acc, data[i], i);
  }
};
