// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: additions, merges and bytes of three exact accumulators against a plain big integer.
//   fanin_fuzz_exact_accumulator -max_total_time=60 build/corpus
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <fanin/exact_accumulator.hpp>

#include "big_integer.hpp"

namespace {

using fanin_fuzz::require;

struct input {
  const std::uint8_t* data;
  std::size_t size;

  template <class T>
  T take() {
    T value{};
    const std::size_t n = size < sizeof(T) ? size : sizeof(T);
    std::memcpy(&value, data, n);
    data += n;
    size -= n;
    return value;
  }
};

template <class Accumulator>
void check(const Accumulator& acc, const fanin_fuzz::big_integer& oracle) {
  require(oracle.rounds_to(std::bit_cast<std::uint64_t>(acc.value())));
  require(oracle.rounds_to(std::bit_cast<std::uint32_t>(acc.template value_as<float>())));
  const auto bytes = acc.serialise();
  require(Accumulator::deserialise(bytes).serialise() == bytes);
}

template <class Accumulator>
void run(input in) {
  Accumulator acc[3];
  fanin_fuzz::big_integer oracle[3];
  while (in.size > 0) {
    const auto op = in.take<std::uint8_t>();
    const std::size_t i = op % 3;
    const std::size_t j = op / 3 % 3;
    switch (op / 9 % 6) {
      case 0: {
        const auto x = in.take<double>();
        acc[i].add(x);
        oracle[i].add(x);
        break;
      }
      case 1: {
        const auto x = std::bit_cast<float>(in.take<std::uint32_t>());
        acc[i].add(x);
        oracle[i].add(static_cast<double>(x));
        break;
      }
      case 2:
        acc[i].merge(acc[j]);
        oracle[i].merge(fanin_fuzz::big_integer(oracle[j]));
        break;
      case 3: acc[i] = Accumulator::deserialise(acc[i].serialise()); break;
      case 4: acc[i].carry_shared(); break;
      default:
        if constexpr (Accumulator::lowest_exponent <= -2148) {
          const auto x = in.take<double>();
          const auto y = in.take<double>();
          acc[i].add_product(x, y);
          oracle[i].add_product(x, y);
        } else {
          const auto x = in.take<double>();
          acc[i].add_shared(std::bit_cast<std::uint64_t>(x));
          oracle[i].add(x);
        }
        break;
    }
  }
  for (int i = 0; i < 3; ++i) check(acc[i], oracle[i]);
  // The order in which they are merged does not matter.
  Accumulator forth = acc[0], back = acc[2];
  forth.merge(acc[1]);
  forth.merge(acc[2]);
  back.merge(acc[1]);
  back.merge(acc[0]);
  require(forth.serialise() == back.serialise());
}

/// Whatever bytes there are, they are refused, or written again as they were.
template <class Accumulator>
void read(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const auto again = Accumulator::deserialise(bytes).serialise();
    require(again.size() == size && std::memcmp(again.data(), data, size) == 0);
  } catch (const fanin::invalid_argument&) {
    // Any other exception is a find.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read<fanin::exact_accumulator>(data, size);
  read<fanin::exact_product_accumulator>(data, size);
  if (size > 300) return 0;
  run<fanin::exact_accumulator>({data, size});
  run<fanin::exact_product_accumulator>({data, size});
  return 0;
}
