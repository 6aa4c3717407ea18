// SPDX-License-Identifier: Apache-2.0
// Answers the cases that oracle_test.py writes: oracle_program FILE. A case is a line "kind n" and n (of a dot product
// 2 n) elements in their bytes. Prints the bits of the answer in hexadecimal, in every way in which a host gets it: one
// line a case, one word where all agree.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ways.hpp"

namespace {

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

std::set<std::uint64_t> seen;

template <class T>
void note(T x) {
  // Of a NaN only that it is one.
  seen.insert(x != x ? ~std::uint64_t{0} : bits(x));
}

template <class T>
std::vector<T> read(std::ifstream& file, std::size_t n) {
  std::vector<T> x(n);
  file.read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(n * sizeof(T)));
  if (!file) throw std::runtime_error("the file ends within a case");
  return x;
}

template <class T, class Result>
void sum(const std::vector<T>& x) {
  for (const auto& answer : fanin_test::ask_all<fanin::exact_sum<T, Result>>(x, {})) note(answer.second);
  note(fanin_test::merged_pieces<T>(x, x.size()).template value_as<Result>());
}

template <class Exec, class T>
void dot_on(Exec& exec, const std::vector<T>& x, const std::vector<T>& y, bool of_itself) {
  note(of_itself ? fanin::exact_norm2_squared(exec, x) : fanin::exact_dot(exec, x, y));
}

template <class T>
void dot(const std::vector<T>& x, const std::vector<T>& y, bool of_itself) {
  fanin::serial by_default;
  dot_on(by_default, x, y, of_itself);
  if (x.size() <= fanin_test::most_for_halving) {
    fanin::serial halving(fanin::serial_order::recursive_halving);
    dot_on(halving, x, y, of_itself);
  }
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
  fanin::kokkos<Kokkos::DefaultHostExecutionSpace> kokkos;
  dot_on(kokkos, x, y, of_itself);
#endif
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: oracle_program FILE\n";
    return 2;
  }
#if FANIN_HAS_KOKKOS && !FANIN_KOKKOS_NEEDS_CUDA
  fanin::kokkos<Kokkos::DefaultHostExecutionSpace> kokkos;
  std::cout << "threads " << kokkos.space().concurrency() << "\n";
#else
  std::cout << "threads 1\n";
#endif
  std::ifstream file(argv[1], std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string kind;
    std::size_t n = 0;
    if (!(fields >> kind >> n)) throw std::runtime_error("no case: " + line);
    seen.clear();
    if (kind == "sum64") {
      sum<double, double>(read<double>(file, n));
    } else if (kind == "sum64to32") {
      sum<double, float>(read<double>(file, n));
    } else if (kind == "sum32") {
      sum<float, float>(read<float>(file, n));
    } else if (kind == "dot64") {
      const auto x = read<double>(file, n);
      dot(x, read<double>(file, n), false);
    } else if (kind == "norm64") {
      const auto x = read<double>(file, n);
      dot(x, x, true);
    } else if (kind == "dot32") {
      const auto x = read<float>(file, n);
      dot(x, read<float>(file, n), false);
    } else {
      throw std::runtime_error("no kind: " + kind);
    }
    std::cout << std::hex;
    for (const std::uint64_t word : seen) std::cout << word << ' ';
    std::cout << std::dec << '\n';
  }
  return 0;
} catch (const std::exception& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
