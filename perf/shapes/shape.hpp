// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reductions over two dimensions, behind an interface that can be timed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/contender.hpp"
#include "harness/elements.hpp"

namespace fanin_perf::shapes {

/// A sum of each row, of each column, of all but a halo of one around them (of two or three dimensions), of the squares
/// of a stencil within it, along the middle axis of three, or of each row again: by offsets, and by keys that are equal
/// in it. By offsets also of n segments of m elements on average, whose lengths are as a power law has them, or all of
/// whose elements are in one. The product of a sparse matrix and a vector. And one sum of what stands in or below a
/// matrix's diagonal, of which an index has a row: uneven work.
enum class kind { rows, columns, md, stencil, middle, segments, powerlaw, giant, runs, spmv, triangle };
inline constexpr std::string_view kind_names[] = {"rows",     "columns", "md",   "stencil", "middle",  "segments",
                                                  "powerlaw", "giant",   "runs", "spmv",    "triangle"};

/// What no extents say, under the name it was asked for by.
struct pattern {
  std::string name;
  std::vector<std::int64_t> offsets;    ///< where segments or a matrix's rows begin, and the last one ends
  std::vector<std::int32_t> columns{};  ///< of a matrix's elements
};

/// How many elements of row i of n x m stand in or below the diagonal.
FANIN_PERF_FUNCTION inline std::int64_t in_triangle(std::int64_t i, std::int64_t n, std::int64_t m) {
  return 1 + i * m / n;
}

/// Of an array of n rows of m elements, which follow each other; of the middle axis of n x m x inner; of n segments
/// whose offsets are given; of a matrix of n rows and columns, whose elements these are.
struct shape {
  kind what = kind::rows;
  std::int64_t n = 1;
  std::int64_t m = 1;
  std::int64_t inner = 1;
  std::shared_ptr<const pattern> given{};

  /// Of an array; given offsets may begin behind its first ones.
  std::int64_t elements() const { return given != nullptr ? given->offsets.back() : n * m * inner; }
  bool is_box() const { return what == kind::md || what == kind::stencil; }
  std::int64_t results() const {
    return is_box() || what == kind::triangle ? 1 : what == kind::columns ? m : n * inner;
  }
  bool has_offsets() const { return what == kind::segments || what == kind::powerlaw || what == kind::giant; }
  /// Where segments begin, and the last one ends.
  std::vector<std::int64_t> offsets() const;
  /// The same of a matrix's rows, as sparse libraries have them.
  std::vector<std::int32_t> row_offsets() const {
    std::vector<std::int32_t> all;
    for (std::size_t row = 0; what == kind::spmv && row < given->offsets.size(); ++row) {
      all.push_back(static_cast<std::int32_t>(given->offsets[row]));
    }
    return all;
  }
  /// A key for each element of so many arrays.
  std::vector<std::int32_t> keys(std::int64_t arrays) const {
    std::vector<std::int32_t> all;
    for (std::int64_t k = 0; what == kind::runs && k < arrays * elements(); ++k) {
      all.push_back(static_cast<std::int32_t>(k % elements() / m));
    }
    return all;
  }
  /// Elements from the columns of one array to those of the next: whole lines of memory.
  std::int64_t columns_stride() const { return what == kind::spmv ? (elements() + 63) / 64 * 64 : 0; }
  /// Read and written, the vector once.
  double bytes(std::size_t size) const {
    const std::int64_t of_offsets = has_offsets() ? (n + 1) * std::int64_t{sizeof(std::int64_t)} : 0;
    const std::int64_t of_keys = what == kind::runs ? (elements() + n) * std::int64_t{sizeof(std::int32_t)} : 0;
    const std::int64_t of_matrix = what == kind::spmv ? (elements() + n + 1) * std::int64_t{sizeof(std::int32_t)} : 0;
    const std::int64_t of_vector = what == kind::spmv ? n * std::int64_t(size) : 0;
    std::int64_t passed_over = given != nullptr ? given->offsets.front() : 0;
    for (std::int64_t i = 0; what == kind::triangle && i < n; ++i) passed_over += m - in_triangle(i, n, m);
    return static_cast<double>((elements() - passed_over + results()) * std::int64_t(size) + of_offsets + of_keys +
                               of_matrix + of_vector);
  }
  std::string text() const;
};

/// f(i, j) = x[i][j].
template <class T>
struct element_at {
  const T* x;
  std::int64_t m;
  FANIN_PERF_FUNCTION T operator()(std::int64_t i, std::int64_t j) const { return x[i * m + j]; }
};

/// f(i, j, k) = x[i][j][k].
template <class T>
struct element_of_three {
  const T* x;
  std::int64_t m;
  std::int64_t inner;
  FANIN_PERF_FUNCTION T operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return x[(i * m + j) * inner + k];
  }
};

/// What row i has in the triangle.
template <class T>
struct sum_in_triangle {
  const T* x;
  std::int64_t n;
  std::int64_t m;
  FANIN_PERF_FUNCTION T operator()(std::int64_t i) const {
    const std::int64_t count = in_triangle(i, n, m);
    T sum = 0;
    for (std::int64_t j = 0; j < count; ++j) sum += x[i * m + j];
    return sum;
  }
};
/// How many of them a thread takes at once.
inline constexpr std::int64_t chunk_of_triangle = 64;

/// The k-th of all elements, whichever segment's it is.
template <class T>
struct element_of_segment {
  const T* x;
  FANIN_PERF_FUNCTION T operator()(std::int64_t, std::int64_t k) const { return x[k]; }
};

/// f(i, k) = a[k] x[column[k]], of the k-th of all elements.
template <class T>
struct product_at {
  const T* a;
  const std::int32_t* column;
  const T* x;
  FANIN_PERF_FUNCTION T operator()(std::int64_t, std::int64_t k) const { return a[k] * x[column[k]]; }
};

/// What a call has beside elements and results: of segments, of runs, and of a matrix.
struct beside {
  const std::int64_t* offsets = nullptr;
  const std::int32_t* keys = nullptr;  ///< of all arrays
  std::int32_t* to_keys = nullptr;
  std::int64_t* count = nullptr;
  const std::int32_t* row_offsets = nullptr;
  const std::int32_t* columns = nullptr;  ///< of all arrays

  /// Of the array that begins at x.
  template <class Problem, class T>
  const std::int32_t* keys_of(const Problem& of, const T* x) const {
    return keys + of.array_of(x) * of.of.elements();
  }
  template <class Problem, class T>
  const std::int32_t* columns_of(const Problem& of, const T* a) const {
    return columns + of.array_of(a) * of.of.columns_stride();
  }
};

/// Arrays behind each other, so that calls rotate over more memory than caches hold, and room for results.
template <class T>
struct problem {
  shape of;
  const T* pool;
  std::int64_t stride;  ///< elements from one array to the next
  std::int64_t arrays;
  T* out;
  void* stream;          ///< cudaStream_t; null on the host
  const T* x = nullptr;  ///< the vector that a matrix is multiplied by

  std::int64_t array_of(const T* begin) const { return (begin - pool) / stride; }
  element_at<T> element(std::int64_t array) const { return {pool + array % arrays * stride, of.m}; }
};

/// Plain Kokkos has none of runs.
inline const std::vector<kind> kinds_of_kokkos{kind::rows,   kind::columns,  kind::md,       kind::stencil,
                                               kind::middle, kind::segments, kind::powerlaw, kind::giant,
                                               kind::spmv,   kind::triangle};

/// What a contender did before its calls, whose times do not hold it.
struct preparation {
  std::string what{};  ///< empty: nothing
  double us = 0;       ///< 0: not timed
};

/// A library has `reduce(problem, element_at, out)`, which enqueues one call, and read(to, from, n), which waits; it
/// may have before(), a preparation.
template <class T, class Library>
class reduction final : public call {
 public:
  explicit reduction(const problem<T>& given) : problem_(given), library_(given) {}

  void run(std::int64_t first, std::int64_t count) override {
    for (std::int64_t k = first; k < first + count; ++k) library_.reduce(problem_, problem_.element(k), problem_.out);
  }
  answer last() override { return answer::of(results().front()); }
  preparation before() const {
    if constexpr (requires { library_.before(); }) {
      return library_.before();
    } else {
      return {};
    }
  }
  std::vector<T> results() {
    std::vector<T> found(static_cast<std::size_t>(problem_.of.results()));
    library_.read(found.data(), problem_.out, problem_.of.results());
    return found;
  }

 private:
  problem<T> problem_;
  Library library_;
};

/// What a contender makes of a problem.
template <class T>
struct prepared {
  std::unique_ptr<call> calls;
  std::function<std::vector<T>()> results;
  preparation before;
};
template <class T>
using maker = std::function<prepared<T>(const problem<T>&)>;

struct contender {
  std::string name;
  bool is_peer = true;  ///< that Fanin's rows get a ratio to
  bool waits = true;    ///< each call has ended when it returns
  std::vector<kind> kinds{kind::rows,     kind::columns, kind::md,   kind::stencil, kind::middle,  kind::segments,
                          kind::powerlaw, kind::giant,   kind::runs, kind::spmv,    kind::triangle};
  maker<float> f32{};
  maker<double> f64{};

  bool offers(kind what) const { return std::find(kinds.begin(), kinds.end(), what) != kinds.end(); }
  template <class T>
  const maker<T>& makes() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};

/// Those in the host's memory.
struct host_indices {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> keys;
  std::vector<std::int32_t> to_keys;
  std::int64_t count = 0;
  std::vector<std::int32_t> row_offsets;
  std::vector<std::int32_t> columns;

  template <class T>
  explicit host_indices(const problem<T>& of)
      : offsets(of.of.offsets()),
        keys(of.of.keys(of.arrays)),
        to_keys(keys.empty() ? 0 : static_cast<std::size_t>(of.of.results())),
        row_offsets(of.of.row_offsets()),
        columns(static_cast<std::size_t>(of.arrays * of.of.columns_stride())) {
    for (std::size_t at = 0; at < columns.size(); at += static_cast<std::size_t>(of.of.columns_stride())) {
      std::copy(of.of.given->columns.begin(), of.of.given->columns.end(), columns.begin() + std::ptrdiff_t(at));
    }
  }
  beside more() { return {offsets.data(), keys.data(), to_keys.data(), &count, row_offsets.data(), columns.data()}; }
};

/// Of a library whose results are in the host's memory.
template <class T>
struct on_host {
  explicit on_host(const problem<T>& of) : indices(of) {}
  void read(T* to, const T* from, std::int64_t n) const { std::copy_n(from, n, to); }
  host_indices indices;
};

template <class T, class Library>
prepared<T> prepare(const problem<T>& given) {
  auto made = std::make_unique<reduction<T, Library>>(given);
  auto* const alone = made.get();
  preparation before = made->before();
  return {std::move(made), [alone] { return alone->results(); }, std::move(before)};
}

/// Completes a contender: Library<T> for each type.
template <template <class> class Library>
contender of_library(contender described) {
  described.f32 = prepare<float, Library<float>>;
  described.f64 = prepare<double, Library<double>>;
  return described;
}

struct registry {
  std::vector<contender> contenders;
  std::map<std::string, std::string> versions{};
  std::vector<std::string> without{};             ///< of peers of matrices that are not there, in words
  std::vector<std::shared_ptr<void>> runtimes{};  ///< what must live while contenders run
};

void add_host(registry& to);
void add_kokkos_host(registry& to);
void add_openmp(registry& to);
void add_fanin_cuda(registry& to);
void add_cub(registry& to);
void add_cub_wheel(registry& to);
void add_cusparse(registry& to);
void add_kokkos_cuda(registry& to);

/// Those of the GPU, or those of the host.
registry all_contenders(bool on_gpu);

}  // namespace fanin_perf::shapes
