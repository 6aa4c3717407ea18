// SPDX-License-Identifier: Apache-2.0
#include "npy_header.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>

namespace fanin_perf::detail {
namespace {

constexpr std::size_t quoted_length_limit = 80;
constexpr std::size_t dimensions_limit = 64;  // numpy's own

struct known_format {
  std::string_view code;
  std::string_view name;
  element_type type;
};

constexpr std::array known_formats{
    known_format{"i1", "int8", element_type::int64},      known_format{"i2", "int16", element_type::int64},
    known_format{"i4", "int32", element_type::int64},     known_format{"i8", "int64", element_type::int64},
    known_format{"u1", "uint8", element_type::uint64},    known_format{"u2", "uint16", element_type::uint64},
    known_format{"u4", "uint32", element_type::uint64},   known_format{"u8", "uint64", element_type::uint64},
    known_format{"f4", "float32", element_type::float32}, known_format{"f8", "float64", element_type::float64},
};

constexpr std::string_view readable_types = "int8 to int64, uint8 to uint64, float32 or float64";

[[noreturn]] void refuse_structured(std::string_view source) {
  fail(source, "it holds a structured or subarray type", "save one of its fields as an array of its own");
}

/// Types that numpy writes and this reader does not take, each with its way out.
[[noreturn]] void refuse_type(std::string_view source, std::string_view descr, std::string_view code) {
  const char kind = code.empty() ? '\0' : code.front();
  const std::string type = text("its dtype is ", in_quotes(descr), ", ");
  switch (kind) {
    case 'O':
      fail(source, text(type, "Python objects, which only unpickling can read, and that can run any code"),
           "save it as a numeric array");
    case 'V': refuse_structured(source);
    case 'b': fail(source, text(type, "bool"), "save it with array.astype(numpy.uint8)");
    case 'f':
      if (code == "f2") {
        fail(source, text(type, "float16"), "save it with array.astype(numpy.float32)");
      }
      fail(source, text(type, "a float of a size that is not read"), "save it with array.astype(numpy.float64)");
    case 'c': fail(source, text(type, "complex numbers"), "save array.real and array.imag as arrays of their own");
    case 'S':
    case 'a':
    case 'U': fail(source, text(type, "text"), "save it as a numeric array");
    case 'M':
    case 'm': fail(source, text(type, "dates or durations"), "save it with array.astype(numpy.int64)");
    default: fail(source, text(type, "which is not known"), text("save it as ", readable_types));
  }
}

element_format parse_descr(std::string_view descr, std::string_view source) {
  if (descr.empty() || std::string_view("<>=|").find(descr.front()) == std::string_view::npos) {
    refuse_type(source, descr, descr);
  }
  const char order = descr.front();
  const std::string_view code = descr.substr(1);
  const auto* const known = std::ranges::find(known_formats, code, &known_format::code);
  if (known == known_formats.end()) {
    refuse_type(source, descr, code);
  }
  constexpr bool little = std::endian::native == std::endian::little;
  element_format format;
  format.type = known->type;
  format.stored_size = static_cast<std::size_t>(code[1] - '0');
  format.swapped = format.stored_size > 1 && ((order == '<' && !little) || (order == '>' && little));
  if (format.stored_size < size_of(format.type)) {
    format.note = text(known->name, " widened to ", to_string(format.type));
  }
  return format;
}

/// Element count; refuses what 63 bits do not hold, as numpy does also where one dimension is 0.
std::int64_t checked_count(const npy_header& header, std::string_view source) {
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  const auto widest = static_cast<std::int64_t>(std::max(header.format.stored_size, size_of(header.format.type)));
  std::int64_t bytes = widest;
  bool empty = false;
  for (const std::int64_t extent : header.shape) {
    if (extent == 0) {
      empty = true;
    } else if (bytes > limit / extent) {
      fail(source, text("the product of its shape ", shape_text(header.shape), " overflows"),
           "the header is damaged; write the file again with numpy.save");
    } else {
      bytes *= extent;
    }
  }
  return empty ? 0 : bytes / widest;
}

/// The three keys and the few kinds of value that they take; anything else is refused, not
/// evaluated. Text beyond ASCII (version 3.0 is UTF-8) can only stand in field names, so in types
/// that are refused.
class header_parser {
 public:
  header_parser(std::string_view literal, std::string_view source) : text_(literal), source_(source) {}

  npy_header parse() {
    expect('{');
    while (!take('}')) {
      parse_item();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) {
      malformed("there is text after the closing brace");
    }
    if (!descr_ || !fortran_order_ || !shape_) {
      malformed(text("the key ", !descr_ ? "'descr'" : !fortran_order_ ? "'fortran_order'" : "'shape'", " is missing"));
    }
    npy_header header;
    header.descr = std::move(*descr_);
    header.format = parse_descr(header.descr, source_);
    header.fortran_order = *fortran_order_;
    header.shape = std::move(*shape_);
    header.n = checked_count(header, source_);
    return header;
  }

 private:
  [[noreturn]] void malformed(std::string_view what) const {
    fail(source_, text("its npy header is malformed at byte ", at_, ": ", what),
         "write the file again with numpy.save");
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r\f").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) {
      malformed(text("'", std::string_view(&c, 1), "' is expected"));
    }
  }

  std::string parse_string() {
    skip_space();
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      malformed("a quoted string is expected");
    }
    const std::size_t first = at_ + 1;
    const std::size_t last = text_.find_first_of(quote == '"' ? "\"\\\n" : "'\\\n", first);
    if (last == std::string_view::npos || text_[last] != quote) {
      malformed("a string does not end, or has an escape in it");
    }
    at_ = last + 1;
    return std::string(text_.substr(first, last - first));
  }

  bool parse_bool() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    malformed("True or False is expected");
  }

  std::int64_t parse_extent() {
    skip_space();
    if (peek() == '-') {
      malformed("a dimension is negative");
    }
    const std::size_t first = at_;
    std::int64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      const std::int64_t digit = peek() - '0';
      if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10) {
        malformed("a dimension overflows 64 bits");
      }
      value = 10 * value + digit;
    }
    if (at_ == first) {
      malformed("a dimension is expected");
    }
    if (text_[first] == '0' && at_ - first > 1) {
      malformed("a dimension has a leading zero");
    }
    if (peek() == 'L') {  // written by Python 2
      ++at_;
    }
    return value;
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    if (take(')')) {
      return shape;
    }
    while (true) {
      shape.push_back(parse_extent());
      if (shape.size() > dimensions_limit) {
        malformed("the shape has more than 64 dimensions");
      }
      const bool comma = take(',');
      if (take(')')) {
        if (!comma && shape.size() == 1) {
          malformed("the shape is a number in parentheses, not a tuple");
        }
        return shape;
      }
      if (!comma) {
        malformed("',' or ')' is expected");
      }
    }
  }

  void parse_item() {
    const std::string key = parse_string();
    expect(':');
    skip_space();
    const auto store = [&](auto& to, auto parsed) {
      if (to) {
        malformed(text("the key ", in_quotes(key), " stands twice"));
      }
      to = std::move(parsed);
    };
    if (key == "descr") {
      if (peek() == '[' || peek() == '(' || peek() == '{') {
        refuse_structured(source_);
      }
      store(descr_, parse_string());
    } else if (key == "fortran_order") {
      store(fortran_order_, parse_bool());
    } else if (key == "shape") {
      store(shape_, parse_shape());
    } else {
      malformed(text("the key ", in_quotes(key), " is not known"));
    }
  }

  std::string_view text_;
  std::string_view source_;
  std::size_t at_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

}  // namespace

void fail(std::string_view source, std::string_view problem, std::string_view advice) {
  throw input_error(text("cannot read ", source, ": ", problem, "; ", advice));
}

std::string in_quotes(std::string_view raw) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "'";
  bool after_c2 = false;  // U+0080 to U+009F, controls as well, are c2 80 to c2 9f in UTF-8
  for (const char c : raw.substr(0, quoted_length_limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (after_c2 && byte >= 0x80 && byte < 0xa0)) {
      out.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    } else {
      out.append(1, c);
    }
    after_c2 = byte == 0xc2;
  }
  return out.append(raw.size() > quoted_length_limit ? "...'" : "'");
}

npy_header parse_npy_header(std::string_view literal, std::string_view source) {
  return header_parser(literal, source).parse();
}

}  // namespace fanin_perf::detail
