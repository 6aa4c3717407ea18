// SPDX-License-Identifier: Apache-2.0
#include "npy.hpp"

#include "npy_header.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <type_traits>

namespace fanin_perf {
namespace detail {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr std::uint32_t header_length_limit = 64 * 1024;
constexpr std::size_t widening_chunk = 64 * 1024;  // bytes; small enough for the second-level cache

bool starts_with(std::span<const std::byte> start, std::string_view magic) {
  return start.size() >= magic.size() && std::memcmp(start.data(), magic.data(), magic.size()) == 0;
}

class memory_source final : public byte_source {
 public:
  memory_source(std::string name, std::span<const std::byte> bytes)
      : byte_source(std::move(name), bytes.size()), rest_(bytes) {}

  std::size_t read(std::byte* to, std::size_t count) override {
    const std::size_t taken = std::min(count, rest_.size());
    std::copy_n(rest_.begin(), taken, to);
    rest_ = rest_.subspan(taken);
    return taken;
  }

 private:
  std::span<const std::byte> rest_;
};

struct file_closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, file_closer>;

class file_source final : public byte_source {
 public:
  /// Borrows `file`, whose position is its start.
  file_source(std::string name, std::FILE* file, std::uint64_t size)
      : byte_source(std::move(name), size), file_(file) {}

  std::size_t read(std::byte* to, std::size_t count) override {
    const std::size_t taken = std::fread(to, 1, count, file_);
    if (taken == 0 && std::ferror(file_) != 0) {
      fail(name(), text("reading failed (", std::strerror(errno), ")"), "look at the file system it is on");
    }
    return taken;
  }

 private:
  std::FILE* file_;
};

/// Reads `count` bytes of a source that declared at least that many.
void read_exactly(byte_source& from, std::byte* to, std::size_t count) {
  while (count != 0) {
    const std::size_t taken = from.read(to, count);
    if (taken == 0) {
      fail(from.name(), text("it ends before the ", from.size(), " bytes that were announced"),
           "get a whole copy of the file");
    }
    to += taken;
    count -= taken;
  }
}

/// The preamble and the header's text; `used` becomes the number of bytes before the data.
std::string read_header_text(byte_source& from, std::uint64_t& used) {
  constexpr std::size_t common = 8;  // magic and version
  const std::string_view whole_copy = "get a whole copy of the file";
  if (from.size() == 0) {
    fail(from.name(), "it is empty", "write it with numpy.save or numpy.savez");
  }
  std::array<std::byte, common> preamble{};
  const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(from.size(), common));
  read_exactly(from, preamble.data(), there);
  const std::size_t magic_there = std::min(there, npy_magic.size());
  if (std::memcmp(preamble.data(), npy_magic.data(), magic_there) != 0) {
    fail(from.name(), "it does not begin with the mark of a .npy file",
         "give a file that numpy.save or numpy.savez wrote");
  }
  const std::string inside_header = text("it ends after ", from.size(), " bytes, inside the npy header");
  if (there < common) {
    fail(from.name(), inside_header, whole_copy);
  }
  const auto major = std::to_integer<unsigned>(preamble[6]);
  const auto minor = std::to_integer<unsigned>(preamble[7]);
  if (major < 1 || major > 3 || minor != 0) {
    fail(from.name(), text("its npy format version ", major, ".", minor, " is not known"),
         "write it in version 1.0, 2.0 or 3.0");
  }
  std::array<std::byte, 4> length_bytes{};
  const std::size_t length_size = major == 1 ? 2 : 4;
  if (from.size() < common + length_size) {
    fail(from.name(), inside_header, whole_copy);
  }
  read_exactly(from, length_bytes.data(), length_size);
  std::uint32_t length = 0;
  for (std::size_t i = length_size; i-- > 0;) {
    length = (length << 8U) | std::to_integer<std::uint32_t>(length_bytes[i]);
  }
  if (length > header_length_limit) {
    fail(from.name(), text("its npy header of ", length, " bytes is longer than 64 KiB"),
         "write the file again with numpy.save");
  }
  used = common + length_size + length;
  if (from.size() < used) {
    fail(from.name(), inside_header, whole_copy);
  }
  std::string literal(length, '\0');
  read_exactly(from, reinterpret_cast<std::byte*>(literal.data()), literal.size());
  return literal;
}

template <class Bits>
Bits reversed(Bits bits) {
  std::uint64_t rest = bits;
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof(Bits); ++i, rest >>= 8U) {
    out = (out << 8U) | (rest & 0xffU);
  }
  return static_cast<Bits>(out);
}

template <class Bits>
void reverse_each(std::byte* bytes, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i, bytes += sizeof(Bits)) {
    Bits value;
    std::memcpy(&value, bytes, sizeof(Bits));
    value = reversed(value);
    std::memcpy(bytes, &value, sizeof(Bits));
  }
}

/// Reads n elements of type Stored and stores them as Wide (of the same signedness).
template <class Stored, class Wide>
void read_widened(byte_source& from, std::byte* to, std::int64_t n, bool swapped) {
  using bits_type = std::make_unsigned_t<Stored>;
  std::array<std::byte, widening_chunk> chunk;
  while (n != 0) {
    const auto count = std::min<std::int64_t>(n, widening_chunk / sizeof(Stored));
    read_exactly(from, chunk.data(), static_cast<std::size_t>(count) * sizeof(Stored));
    for (std::int64_t i = 0; i < count; ++i, to += sizeof(Wide)) {
      bits_type bits;
      std::memcpy(&bits, chunk.data() + static_cast<std::size_t>(i) * sizeof(Stored), sizeof(Stored));
      if (swapped) {
        bits = reversed(bits);
      }
      const Wide wide = static_cast<Stored>(bits);
      std::memcpy(to, &wide, sizeof(Wide));
    }
    n -= count;
  }
}

void read_data(byte_source& from, const npy_header& header, aligned_bytes& to) {
  const element_format& format = header.format;
  if (format.stored_size < size_of(format.type)) {
    const bool is_signed = format.type == element_type::int64;
    switch (format.stored_size) {
      case 1:
        return is_signed ? read_widened<std::int8_t, std::int64_t>(from, to.data(), header.n, false)
                         : read_widened<std::uint8_t, std::uint64_t>(from, to.data(), header.n, false);
      case 2:
        return is_signed ? read_widened<std::int16_t, std::int64_t>(from, to.data(), header.n, format.swapped)
                         : read_widened<std::uint16_t, std::uint64_t>(from, to.data(), header.n, format.swapped);
      default:
        return is_signed ? read_widened<std::int32_t, std::int64_t>(from, to.data(), header.n, format.swapped)
                         : read_widened<std::uint32_t, std::uint64_t>(from, to.data(), header.n, format.swapped);
    }
  }
  read_exactly(from, to.data(), to.size());
  if (format.swapped) {
    format.stored_size == 4 ? reverse_each<std::uint32_t>(to.data(), header.n)
                            : reverse_each<std::uint64_t>(to.data(), header.n);
  }
}

file_handle open_file(const std::filesystem::path& path, const std::string& source, std::uint64_t& size) {
  // O_NONBLOCK: opening a pipe that nobody writes to must end in a sentence, not in waiting.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    fail(source, text("it cannot be opened (", std::strerror(errno), ")"), "give a file that is there and readable");
  }
  file_handle file(::fdopen(descriptor, "rb"));
  if (!file) {
    ::close(descriptor);
    fail(source, "it cannot be opened as a stream", "give a file that is there and readable");
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    fail(source, text("its size cannot be told (", std::strerror(errno), ")"), "give a regular file");
  }
  if (S_ISDIR(status.st_mode)) {
    fail(source, "it is a directory", "name a .npy or .npz file in it");
  }
  if (!S_ISREG(status.st_mode)) {
    fail(source, "it is a pipe or a device, whose size cannot be told", "give a regular file");
  }
  size = static_cast<std::uint64_t>(status.st_size);
  return file;
}

/// A foreign file is not spoken of here: decode_npy says what it is not.
void check_no_name(std::span<const std::byte> start, const std::string& source, std::string_view array_name) {
  if (!array_name.empty() && starts_with(start, npy_magic)) {
    fail(source, text("it is a .npy file, whose only array has no name, and ", in_quotes(array_name), " was asked for"),
         "leave the array's name away");
  }
}

}  // namespace

input_array decode_npy(byte_source& from) {
  std::uint64_t used = 0;
  const std::string literal = read_header_text(from, used);
  npy_header header = parse_npy_header(literal, from.name());
  const std::uint64_t needed = static_cast<std::uint64_t>(header.n) * header.format.stored_size;
  const std::uint64_t there = from.size() - used;
  const std::string difference = text("shape ", shape_text(header.shape), " of dtype ", in_quotes(header.descr),
                                      " takes ", needed, " bytes and ", there, " are there");
  if (there < needed) {
    fail(from.name(), text("it is truncated: ", difference), "get a whole copy of the file");
  }
  if (there > needed) {
    fail(from.name(), text("bytes follow the array: ", difference),
         "save each array to a file of its own, or use .npz");
  }
  input_array out;
  try {
    out.data = aligned_bytes(static_cast<std::size_t>(header.n) * size_of(header.format.type));
  } catch (const std::bad_alloc&) {
    fail(from.name(), text("memory for its ", header.n, " elements cannot be had"),
         "use a smaller array or a machine with more memory");
  }
  read_data(from, header, out.data);
  std::byte extra{};
  if (from.read(&extra, 1) != 0) {
    fail(from.name(), text("more bytes came than the ", from.size(), " that were announced"),
         "get a fresh copy of the file");
  }
  out.source = from.name();
  out.dtype = std::move(header.descr);
  out.type = header.format.type;
  out.note = std::move(header.format.note);
  out.shape = std::move(header.shape);
  out.fortran_order = header.fortran_order;
  out.n = header.n;
  return out;
}

bool is_zip(std::span<const std::byte> start) noexcept {
  // A local entry, or the end record that an archive without entries begins with.
  return starts_with(start, "PK\x03\x04") || starts_with(start, "PK\x05\x06");
}

}  // namespace detail

std::string_view to_string(element_type type) noexcept {
  switch (type) {
    case element_type::int64: return "int64";
    case element_type::uint64: return "uint64";
    case element_type::float32: return "float32";
    case element_type::float64: return "float64";
  }
  return "unknown";
}

std::size_t size_of(element_type type) noexcept {
  switch (type) {
    case element_type::float32: return 4;
    case element_type::int64:
    case element_type::uint64:
    case element_type::float64: break;
  }
  return 8;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
  }
  return out.append(shape.size() == 1 ? ",)" : ")");
}

input_array load_array(const std::filesystem::path& path, std::string_view array_name) {
  const std::string source = detail::text("'", path.string(), "'");
  std::uint64_t size = 0;
  detail::file_handle file = detail::open_file(path, source, size);
  std::array<std::byte, 8> start{};
  const std::size_t there = std::fread(start.data(), 1, start.size(), file.get());
  std::rewind(file.get());
  if (detail::is_zip(std::span(start).first(there))) {
    return detail::read_npz(file.release(), size, source, array_name);
  }
  detail::check_no_name(std::span(start).first(there), source, array_name);
  detail::file_source bytes(source, file.get(), size);
  return detail::decode_npy(bytes);
}

input_array parse_array(std::span<const std::byte> bytes, std::string_view name, std::string_view array_name) {
  if (detail::is_zip(bytes)) {
    return parse_npz(bytes, name, array_name);
  }
  detail::check_no_name(bytes, detail::text("'", name, "'"), array_name);
  return parse_npy(bytes, name);
}

input_array parse_npy(std::span<const std::byte> bytes, std::string_view name) {
  detail::memory_source from(detail::text("'", name, "'"), bytes);
  return detail::decode_npy(from);
}

std::int64_t numpy_flat_index(const input_array& from, std::int64_t storage_index) {
  if (storage_index < -1 || storage_index >= from.n) {
    throw std::out_of_range(detail::text("the index ", storage_index, " is not in the array ", from.source));
  }
  if (storage_index == -1 || !from.fortran_order) {
    return storage_index;
  }
  // The first subscript runs fastest in storage; in C order it weighs the product of all others.
  std::int64_t flat = 0;
  std::int64_t rest = storage_index;
  std::int64_t weight = from.n;
  for (const std::int64_t extent : from.shape) {
    weight /= extent;
    flat += rest % extent * weight;
    rest /= extent;
  }
  return flat;
}

}  // namespace fanin_perf
