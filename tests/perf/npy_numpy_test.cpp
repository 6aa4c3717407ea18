// SPDX-License-Identifier: Apache-2.0
// Reads what numpy writes, and compares with what numpy says of it. Needs a Python with numpy: the
// environment's FANIN_PYTHON, or the one that CMake was given; with matplotlib in it, its sample
// grids too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "npy.hpp"
#include "npy_bytes.hpp"

#ifndef FANIN_PYTHON
#define FANIN_PYTHON ""
#endif

namespace {

using fanin_perf::input_array;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
  return fields;
}

template <class T>
T parsed(const std::string& text) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(std::strtod(text.c_str(), nullptr));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(std::strtoll(text.c_str(), nullptr, 10));
  } else {
    return static_cast<T>(std::strtoull(text.c_str(), nullptr, 10));
  }
}

/// fields: file, name, dtype, type, shape, order, crc, and where there are elements sum, min, max,
/// argmin, argmax.
template <class T>
void expect_numpy_s_answers(const input_array& read, std::span<const T> all, const std::vector<std::string>& fields) {
  ASSERT_EQ(fields.size(), 12U);
  const auto low = std::ranges::min_element(all) - all.begin();
  const auto high = std::ranges::max_element(all) - all.begin();
  EXPECT_EQ(all[static_cast<std::size_t>(low)], parsed<T>(fields[8]));
  EXPECT_EQ(all[static_cast<std::size_t>(high)], parsed<T>(fields[9]));
  EXPECT_EQ(std::to_string(numpy_flat_index(read, low)), fields[10]);
  EXPECT_EQ(std::to_string(numpy_flat_index(read, high)), fields[11]);
  long double sum = 0;
  long double size = 0;
  for (const T value : all) {
    sum += static_cast<long double>(value);
    size += std::fabs(static_cast<long double>(value));
  }
  // Serial summation: n - 1 roundings, each of half a unit of 2^-63 of a partial sum no larger than
  // `size`.
  const long double bound = size * static_cast<long double>(all.size()) * 0x1p-63L + std::fabs(sum) * 0x1p-53L;
  EXPECT_LE(std::fabs(sum - std::strtold(fields[7].c_str(), nullptr)), bound);
}

void check_line(const std::filesystem::path& directory, const std::string& text) {
  SCOPED_TRACE(text);
  const std::vector<std::string> fields = split(text);
  ASSERT_GE(fields.size(), 4U);
  const std::filesystem::path path = directory / fields[0];
  if (fields[2] == "refused") {
    npy_bytes::expect_refused([&] { static_cast<void>(fanin_perf::load_array(path, fields[1])); },
                              {path.string(), fields[3]});
    return;
  }
  ASSERT_GE(fields.size(), 7U);
  const input_array read = fanin_perf::load_array(path, fields[1]);
  EXPECT_EQ(read.dtype, fields[2]);
  EXPECT_EQ(to_string(read.type), fields[3]);
  EXPECT_EQ(fanin_perf::shape_text(read.shape), fields[4]);
  EXPECT_EQ(read.fortran_order, fields[5] == "1");
  const std::string_view bytes(reinterpret_cast<const char*>(read.data.data()), read.data.size());
  EXPECT_EQ(std::to_string(npy_bytes::crc32(bytes)), fields[6]);
  if (read.n == 0) {
    EXPECT_EQ(fields.size(), 7U);
  } else {
    visit_elements(read, [&](auto all) { expect_numpy_s_answers(read, all, fields); });
  }
}

TEST(npy, agrees_with_numpy) {
  const char* const given = std::getenv("FANIN_PYTHON");
  const std::string python = given != nullptr ? given : FANIN_PYTHON;
  if (python.empty()) {
    GTEST_SKIP() << "no Python with numpy: set FANIN_PYTHON to one";
  }
  if (std::system(("'" + python + "' -c 'import numpy'").c_str()) != 0) {
    GTEST_SKIP() << python << " has no numpy";
  }
  const std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) / ("fanin_npy_numpy_" + std::to_string(::getpid()));
  const std::string command = "'" + python + "' '" FANIN_NPY_FIXTURES "' '" + directory.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;

  std::ifstream manifest(directory / "manifest.tsv");
  int lines = 0;
  for (std::string text; std::getline(manifest, text); ++lines) check_line(directory, text);
  EXPECT_GE(lines, 150);
  std::filesystem::remove_all(directory);
}

}  // namespace
