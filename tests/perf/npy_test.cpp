// SPDX-License-Identifier: Apache-2.0
#include "npy.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>

#include "npy_bytes.hpp"

namespace {

std::size_t largest_allocation = 0;

}  // namespace

void* operator new(std::size_t size, std::align_val_t alignment) {
  largest_allocation = std::max(largest_allocation, size);
  const auto boundary = static_cast<std::size_t>(alignment);
  void* const block = std::aligned_alloc(boundary, (size + boundary - 1) / boundary * boundary);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

std::size_t npy_bytes::take_largest_allocation() { return std::exchange(largest_allocation, 0); }

namespace {

using fanin_perf::element_type;
using fanin_perf::input_array;
using npy_bytes::elements_of;
using npy_bytes::expect_file_refused;
using npy_bytes::expect_refused;
using npy_bytes::header;
using npy_bytes::npy;
using npy_bytes::parse;
using npy_bytes::values;

template <class Stored, class Read>
void expect_type(std::string_view code, element_type type, std::string_view note) {
  const std::initializer_list<Stored> stored = {std::numeric_limits<Stored>::lowest(), Stored{1}, Stored{0},
                                                Stored{100}, std::numeric_limits<Stored>::max()};
  const std::vector<Read> expected(stored.begin(), stored.end());
  for (const char order : {'<', '>', '=', '|'}) {
    const std::string descr = std::string(1, order).append(code);
    const input_array read =
        parse(npy(header(descr, "(5,)"), values(stored, order == '>' ? std::endian::big : std::endian::little)));
    EXPECT_EQ(elements_of<Read>(read), expected) << descr;
    EXPECT_EQ(read.type, type) << descr;
    EXPECT_EQ(read.note, note) << descr;
    EXPECT_EQ(read.dtype, descr);
    EXPECT_EQ(read.n, 5);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.data.data()) % 64, 0U);
  }
}

TEST(npy, reads_every_type_in_every_byte_order) {
  expect_type<std::int8_t, std::int64_t>("i1", element_type::int64, "int8 widened to int64");
  expect_type<std::int16_t, std::int64_t>("i2", element_type::int64, "int16 widened to int64");
  expect_type<std::int32_t, std::int64_t>("i4", element_type::int64, "int32 widened to int64");
  expect_type<std::int64_t, std::int64_t>("i8", element_type::int64, "");
  expect_type<std::uint8_t, std::uint64_t>("u1", element_type::uint64, "uint8 widened to uint64");
  expect_type<std::uint16_t, std::uint64_t>("u2", element_type::uint64, "uint16 widened to uint64");
  expect_type<std::uint32_t, std::uint64_t>("u4", element_type::uint64, "uint32 widened to uint64");
  expect_type<std::uint64_t, std::uint64_t>("u8", element_type::uint64, "");
  expect_type<float, float>("f4", element_type::float32, "");
  expect_type<double, double>("f8", element_type::float64, "");
}

TEST(npy, keeps_the_bits_of_nan_and_negative_zero) {
  const double nan = std::bit_cast<double>(0x7ff8dead'beef0001U);
  const input_array read = parse(npy(header(">f8", "(2,)"), values({nan, -0.0}, std::endian::big)));
  const std::vector<double> got = elements_of<double>(read);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(got[0]), 0x7ff8dead'beef0001U);
  EXPECT_TRUE(std::signbit(got[1]));
}

TEST(npy, widens_more_than_one_chunk) {
  std::string data;
  for (int i = 0; i < 200'001; ++i) {
    data += values({static_cast<std::int16_t>(i * 7919)}, std::endian::big);
  }
  const std::vector<std::int64_t> got = elements_of<std::int64_t>(parse(npy(header(">i2", "(200001,)"), data)));
  ASSERT_EQ(got.size(), 200'001U);
  for (int i = 0; i < 200'001; ++i) {
    ASSERT_EQ(got[static_cast<std::size_t>(i)], static_cast<std::int16_t>(i * 7919)) << i;
  }
}

TEST(npy, reads_the_three_versions) {
  for (const int major : {1, 2, 3}) {
    const std::string data = values<std::int32_t>({4, 5});
    EXPECT_EQ(elements_of<std::int64_t>(parse(npy(header("<i4", "(2,)"), data, major))),
              (std::vector<std::int64_t>{4, 5}))
        << major;
  }
  expect_file_refused(npy(header("<i4", "()"), "1234", 4), {"'input'", "version 4.0 is not known"});
  expect_file_refused(npy(header("<i4", "()"), "1234", 0), {"version 0.0 is not known"});
  std::string minor = npy(header("<i4", "()"), "1234");
  minor[7] = 1;
  expect_file_refused(minor, {"version 1.1 is not known"});
}

TEST(npy, reads_shapes) {
  const std::string six = values<std::int32_t>({1, 2, 3, 4, 5, 6});
  const auto shape_of = [&](std::string_view shape, std::size_t count) {
    const input_array read = parse(npy(header("<i4", shape), six.substr(0, 4 * count)));
    EXPECT_EQ(read.n, static_cast<std::int64_t>(count)) << shape;
    return fanin_perf::shape_text(read.shape);
  };
  EXPECT_EQ(shape_of("()", 1), "()");
  EXPECT_EQ(shape_of("( )", 1), "()");
  EXPECT_EQ(shape_of("(6,)", 6), "(6,)");
  EXPECT_EQ(shape_of("(2, 3)", 6), "(2, 3)");
  EXPECT_EQ(shape_of("(2,3,)", 6), "(2, 3)");
  EXPECT_EQ(shape_of("(2L, 3L)", 6), "(2, 3)");
  EXPECT_EQ(shape_of("( 1 , 2,\t3 , 1 )", 6), "(1, 2, 3, 1)");
  EXPECT_EQ(shape_of("(0,)", 0), "(0,)");
  EXPECT_EQ(shape_of("(3, 0, 2)", 0), "(3, 0, 2)");
}

TEST(npy, an_empty_array_has_no_data) {
  const input_array read = parse(npy(header("<f8", "(0, 4)", true), ""));
  EXPECT_EQ(read.n, 0);
  EXPECT_EQ(read.data.data(), nullptr);
  EXPECT_TRUE(fanin_perf::elements<double>(read).empty());
  EXPECT_EQ(numpy_flat_index(read, -1), -1);
  EXPECT_THROW(static_cast<void>(numpy_flat_index(read, 0)), std::out_of_range);
}

TEST(npy, reads_the_header_s_keys_in_any_order_and_spacing) {
  for (const std::string text : {
           "{'shape': (2,), 'descr': '<u2', 'fortran_order': False}",
           "{'fortran_order':False,'shape':(2,),'descr':'<u2',}",
           " { \"descr\" : \"<u2\" ,\n \"fortran_order\" : False , \"shape\" : ( 2 , ) , } \n\n",
       }) {
    EXPECT_EQ(elements_of<std::uint64_t>(parse(npy(text, values<std::uint16_t>({7, 65535})))),
              (std::vector<std::uint64_t>{7, 65535}))
        << text;
  }
}

TEST(npy, refuses_malformed_headers) {
  const auto refused = [](const std::string& text, std::string_view why) {
    expect_file_refused(npy(text, "12345678"), {"'input'", why});
  };
  const std::string start = "{'descr': '<i4', 'fortran_order': False, ";
  refused("", "'{' is expected");
  refused("{}", "'descr' is missing");
  refused("{'descr': '<i4', 'shape': (2,)}", "'fortran_order' is missing");
  refused("{'descr': '<i4', 'fortran_order': False}", "'shape' is missing");
  refused(start + "'shape': (2,), 'more': 1}", "'more' is not known");
  refused(start + "'shape': (2,), 'shape': (2,)}", "'shape' stands twice");
  refused(start + "'shape': (2,)", "'}' is expected");
  refused(start + "'shape': (2,)} + {}", "text after");
  refused(start + "'shape': (2,)}" + std::string(1, '\0'), "text after");
  refused(start + ", 'shape': (2,)}", "a quoted string is expected");
  refused(start + "'shape' (2,)}", "':' is expected");
  refused(start + "'shape': (2)}", "not a tuple");
  refused(start + "'shape': 2}", "'(' is expected");
  refused(start + "'shape': [2]}", "'(' is expected");
  refused(start + "'shape': (,)}", "a dimension is expected");
  refused(start + "'shape': (2,,)}", "a dimension is expected");
  refused(start + "'shape': (1 2)}", "',' or ')' is expected");
  refused(start + "'shape': (-2,)}", "negative");
  refused(start + "'shape': (02,)}", "leading zero");
  refused(start + "'shape': (2.0,)}", "',' or ')' is expected");
  refused(start + "'shape': (0x2,)}", "',' or ')' is expected");
  refused(start + "'shape': (True, 2)}", "a dimension is expected");
  refused(start + "'shape': (__import__('os').getpid(),)}", "a dimension is expected");
  refused(start + "'shape': (9223372036854775808,)}", "overflows 64 bits");
  refused("{'descr': '<i4', 'fortran_order': 0, 'shape': (2,)}", "True or False");
  refused("{'descr': '<i4', 'fortran_order': Falsehood, 'shape': (2,)}", "'}' is expected");
  refused("{'descr': '<i4', 'fortran_order': false, 'shape': (2,)}", "True or False");
  refused("{'descr': '<i4, 'fortran_order': False, 'shape': (2,)}", "'}' is expected");
  refused("{'descr': '<i\\x34', 'fortran_order': False, 'shape': (2,)}", "escape");
  refused("{'descr': u'<i4', 'fortran_order': False, 'shape': (2,)}", "a quoted string is expected");
  refused("{descr: '<i4'}", "a quoted string is expected");
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  refused(start + "'shape': " + many + ")}", "more than 64 dimensions");
}

TEST(npy, refuses_other_types_in_words) {
  const auto refused = [](std::string_view descr, std::initializer_list<std::string_view> why) {
    expect_file_refused(npy(header(descr, "(1,)"), std::string(16, '\0')), why);
  };
  refused("|O", {"'|O'", "unpickling"});
  refused("|b1", {"bool", "numpy.uint8"});
  refused("<f2", {"float16", "numpy.float32"});
  refused("<f16", {"'<f16'", "numpy.float64"});
  refused("<c8", {"complex", "array.real"});
  refused("|S4", {"text"});
  refused("<U4", {"text"});
  refused("<M8[D]", {"dates", "numpy.int64"});
  refused("<m8[ns]", {"durations"});
  refused("|V16", {"structured"});
  refused("<i3", {"'<i3'", "not known"});
  refused("<i44", {"not known"});
  refused("i4", {"'i4'", "not known"});
  refused("!i4", {"not known"});
  refused("<", {"not known"});
  refused("", {"not known"});
  refused("<i4\x1b[31m\xc2\x9b", {"'<i4\\x1b[31m\xc2\\x9b'"});
  const auto descr_refused = [](std::string_view descr) {
    const std::string text = "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (1,)}";
    expect_file_refused(npy(text, "12345678", 3), {"structured or subarray", "fields"});
  };
  descr_refused("[('x', '<f4'), ('y', '<f4')]");
  descr_refused("('<f4', (2,))");
  descr_refused("[('h\xc3\xb6he', '<f8')]");
}

TEST(npy, refuses_sizes_that_do_not_fit_before_it_allocates) {
  npy_bytes::take_largest_allocation();
  const auto refused = [](std::string_view descr, std::string_view shape, std::string_view why) {
    expect_file_refused(npy(header(descr, shape), "12345678"), {"'input'", why});
  };
  refused("<f8", "(1152921504606846976,)", "overflows");
  refused("<f8", "(4294967296, 4294967296)", "overflows");
  refused("<f8", "(0, 4294967296, 4294967296)", "overflows");
  refused("<f8", "(9223372036854775807, 9223372036854775807, 2)", "overflows");
  refused("|i1", "(1152921504606846976,)", "overflows");  // 2^60 widened is 2^63 bytes
  refused("|i1", "(1152921504606846975,)", "truncated");  // the largest that does not
  refused("<f8", "(1152921504606846975,)", "truncated");
  refused("<f8", "(17179869184,)", "takes 137438953472 bytes and 8 are there");
  refused("<f8", "(2,)", "truncated: shape (2,) of dtype '<f8' takes 16 bytes and 8 are there");
  refused("<f4", "()", "bytes follow the array: shape () of dtype '<f4' takes 4 bytes and 8 are there");
  refused("<f4", "(0,)", "bytes follow");
  EXPECT_EQ(npy_bytes::take_largest_allocation(), 0U);
  EXPECT_EQ(parse(npy(header("<f8", "(1,)"), "12345678")).n, 1);
  EXPECT_EQ(npy_bytes::take_largest_allocation(), 8U);
}

TEST(npy, refuses_a_file_cut_anywhere) {
  for (const int major : {1, 2}) {
    const std::string whole = npy(header("<i2", "(3,)"), values<std::int16_t>({1, 2, 3}), major);
    for (std::size_t length = 1; length < whole.size(); ++length) {
      const bool in_data = length >= whole.size() - 6;
      expect_file_refused(whole.substr(0, length), {in_data ? "truncated" : "inside the npy header", "whole copy"});
    }
    expect_file_refused(whole + '\0', {"bytes follow the array"});
  }
  expect_file_refused("", {"'input'", "empty"});
}

TEST(npy, takes_headers_up_to_64_kib) {
  const auto with_length = [](std::size_t length, int major) {
    std::string text = header("<i4", "()");
    text.resize(length, ' ');
    const std::string size = npy_bytes::little(length, major == 1 ? 2 : 4);
    return "\x93NUMPY" + std::string(1, static_cast<char>(major)) + '\0' + size + text + "abcd";
  };
  EXPECT_EQ(parse(with_length(65535, 1)).n, 1);
  EXPECT_EQ(parse(with_length(65536, 2)).n, 1);
  expect_file_refused(with_length(65537, 2), {"header of 65537 bytes is longer than 64 KiB"});
  const std::string huge = std::string("\x93NUMPY\x03\x00\xff\xff\xff\xff", 12) + "{}";
  expect_file_refused(huge, {"header of 4294967295 bytes"});
}

TEST(npy, refuses_foreign_files) {
  for (const std::string text : {"a,b\n1,2\n", "N", "\x89HDF\r\n\x1a\n", "\x1f\x8b\x08", "PK", "PKWARE", "\x93NUMPX"}) {
    expect_file_refused(text, {"does not begin with the mark of a .npy file", "numpy.save"});
  }
  expect_file_refused(npy(header("<i4", "()"), "abcd"), {"'other'", "has no name"}, "other");
}

TEST(npy, converts_indices_of_fortran_order) {
  // numpy.asfortranarray(numpy.arange(24).reshape(2, 3, 4)): each element is its own index in C
  // order.
  std::string data;
  for (std::int32_t k = 0; k < 4; ++k) {
    for (std::int32_t j = 0; j < 3; ++j) {
      for (std::int32_t i = 0; i < 2; ++i) data += values({(i * 3 + j) * 4 + k});
    }
  }
  const input_array fortran = parse(npy(header("<i4", "(2, 3, 4)", true), data));
  EXPECT_TRUE(fortran.fortran_order);
  const std::vector<std::int64_t> stored = elements_of<std::int64_t>(fortran);
  for (std::int64_t i = 0; i < fortran.n; ++i) {
    EXPECT_EQ(numpy_flat_index(fortran, i), stored[static_cast<std::size_t>(i)]) << i;
  }
  EXPECT_EQ(numpy_flat_index(fortran, -1), -1);
  EXPECT_THROW(static_cast<void>(numpy_flat_index(fortran, 24)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(numpy_flat_index(fortran, -2)), std::out_of_range);

  const input_array c_order = parse(npy(header("<i4", "(2, 3, 4)"), data));
  for (std::int64_t i = 0; i < c_order.n; ++i) EXPECT_EQ(numpy_flat_index(c_order, i), i);
  EXPECT_EQ(numpy_flat_index(parse(npy(header("<i4", "()", true), "abcd")), 0), 0);
}

TEST(npy, gives_elements_in_their_own_type_only) {
  const input_array read = parse(npy(header("<u4", "(2,)"), values<std::uint32_t>({1, 2})));
  EXPECT_THROW(static_cast<void>(fanin_perf::elements<float>(read)), std::invalid_argument);
  EXPECT_EQ(visit_elements(read, [](auto all) { return static_cast<double>(all[0] + all[1]); }), 3.0);
}

class npy_file : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) / ("fanin_npy_file_" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::filesystem::path written(std::string_view name, std::string_view content) const {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static void expect_path_refused(const std::filesystem::path& path, std::initializer_list<std::string_view> parts) {
    expect_refused([&] { static_cast<void>(fanin_perf::load_array(path)); }, parts);
  }

  std::filesystem::path directory_;
};

TEST_F(npy_file, is_read_whatever_its_suffix) {
  const std::string array = npy(header(">i2", "(2, 1)", true), values<std::int16_t>({-1, 2}, std::endian::big));
  const std::string archive = npy_bytes::zip({{.name = "a.npy", .content = array}});
  for (const auto& [name, content, array_name] : {
           std::tuple("x.npy", array, ""),
           std::tuple("x.npz", array, ""),
           std::tuple("y.npz", archive, ""),
           std::tuple("y.npy", archive, "a"),
           std::tuple("y", archive, "a.npy"),
       }) {
    const std::filesystem::path path = written(name, content);
    const input_array read = fanin_perf::load_array(path, array_name);
    EXPECT_EQ(elements_of<std::int64_t>(read), (std::vector<std::int64_t>{-1, 2})) << name;
    EXPECT_EQ(fanin_perf::shape_text(read.shape), "(2, 1)");
    EXPECT_NE(read.source.find(path.string()), std::string::npos) << read.source;
  }
}

TEST_F(npy_file, refuses_what_is_no_readable_file) {
  expect_path_refused(directory_ / "missing.npy", {"missing.npy", "No such file"});
  expect_path_refused(directory_, {directory_.string(), "is a directory"});
  expect_path_refused("", {"No such file"});
  expect_path_refused("/dev/null", {"/dev/null", "device"});
  const std::filesystem::path pipe = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_path_refused(pipe, {"pipe or a device"});
}

TEST_F(npy_file, names_the_file_in_every_refusal) {
  const std::string array = npy(header("<f8", "(4,)"), values({1.0, 2.0, 3.0, 4.0}));
  expect_path_refused(written("empty.npy", ""), {"empty.npy'", "it is empty", "numpy.save"});
  expect_path_refused(written("cut.npy", array.substr(0, array.size() - 1)), {"cut.npy'", "truncated", "31 are there"});
  expect_path_refused(written("more.npy", array + "x"), {"more.npy'", "33 are there"});
  expect_path_refused(written("table.csv", "a,b\n"), {"table.csv'", "numpy.save"});
  expect_path_refused(written("no.zip", "PK\x05\x06 but no archive"), {"no.zip'", "zip archive is damaged"});
}

}  // namespace
