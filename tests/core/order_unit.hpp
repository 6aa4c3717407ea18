// SPDX-License-Identifier: Apache-2.0
// Calls whose order serial states, in a namespace for each unit that includes this, so that what one unit's flags made
// of a template is not taken for the other's. FANIN_TEST_UNIT is its name.
#include <complex>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/md_range.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>
#include <fanin/serial/serial.hpp>

namespace fanin_test::FANIN_TEST_UNIT {

/// Bytes of all results, one behind the other.
class results {
 public:
  template <class T>
  void add(const T& result) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &result, sizeof(T));
  }
  std::vector<unsigned char> all() const { return bytes_; }

 private:
  std::vector<unsigned char> bytes_;
};

/// f(i) = x[i] * y[i], which a compiler may contract with the sum that takes it.
template <class T>
struct product {
  const T* x;
  const T* y;
  T operator()(std::int64_t i) const { return x[i] * y[i]; }
};
template <class T>
struct product_in_plane {
  product<T> f;
  std::int64_t m;
  T operator()(std::int64_t i, std::int64_t j) const { return f(i * m + j); }
};
template <class T>
struct product_of_segment {
  product<T> f;
  T operator()(std::int64_t, std::int64_t k) const { return f(k); }
};
template <class T>
struct both {
  product<T> f;
  auto operator()(std::int64_t i) const { return fanin::tuple<T, T>{{{f(i)}, {T{1} + f(i)}}}; }
};
struct multiply {
  template <class T>
  T operator()(const T& x, const T& y) const {
    return x * y;
  }
};
struct same {
  template <class T>
  T operator()(const T& x) const {
    return x;
  }
};

template <class T, class... Reducer>
void add_many(results& to, const fanin::serial& exec, const product<T>& f, std::int64_t n, std::int64_t m,
              const Reducer&... reducers) {
  std::vector<T> out(static_cast<std::size_t>(n > m ? n : m));
  const product_in_plane<T> in_plane{f, m};
  const auto add = [&](std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) to.add(out[static_cast<std::size_t>(k)]);
  };
  const auto each = [&](const auto& reducer) {
    fanin::parallel_reduce_into(out.data(), fanin::rows(exec, n, m), in_plane, reducer);
    add(n);
    fanin::parallel_reduce_into(out.data(), fanin::columns(exec, n, m), in_plane, reducer);
    add(m);
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i <= n; ++i) offsets.push_back(i * m);
    fanin::parallel_reduce_into(out.data(), fanin::segments(exec, offsets), product_of_segment<T>{f}, reducer);
    add(n);
    to.add(fanin::parallel_reduce(fanin::md_range(exec, {n, m}), in_plane, reducer));
    std::vector<std::int64_t> keys;
    for (std::int64_t k = 0; k < n * m; ++k) keys.push_back(k / m);
    std::vector<std::int64_t> to_keys(static_cast<std::size_t>(n));
    fanin::parallel_reduce(fanin::runs_to(to_keys, out.data()), fanin::runs(exec, keys), f, reducer);
    add(n);
  };
  (each(reducers), ...);
}

template <class T>
void add_of_numbers(results& to, fanin::serial_order order, const std::vector<T>& x, const std::vector<T>& y) {
  const fanin::serial exec(order);
  const fanin::sum<T> sum;
  const fanin::prod<T> prod;
  const fanin::sum<T, double> wide;
  for (const std::int64_t n : {1, 2, 31, 127, 128, 1'000}) {
    const product<T> f{x.data(), y.data()};
    const auto count = static_cast<std::size_t>(n);
    const std::span<const T> xs(x.data(), count);
    const std::span<const T> ys(y.data(), count);
    to.add(fanin::parallel_reduce(fanin::range(exec, n), f, sum));
    to.add(fanin::parallel_reduce(fanin::range(exec, n), f, prod));
    to.add(fanin::parallel_reduce(fanin::range(exec, n), f, wide));
    const auto [first, second] = fanin::parallel_reduce(fanin::range(exec, n), both<T>{f}, sum, prod);
    to.add(first);
    to.add(second);
    to.add(fanin::transform_reduce(exec, xs, ys, multiply{}, sum));
    to.add(fanin::transform_reduce(exec, xs, same{}, sum));
  }
  for (const std::int64_t m : {3, 9, 31, 100, 300}) {
    const product<T> f{x.data(), y.data()};
    add_many(to, exec, f, 5, m, sum, prod);
    add_many(to, exec, f, m, 5, sum);
  }
}

template <class T>
void add_of_complex(results& to, fanin::serial_order order, const std::vector<std::complex<T>>& x,
                    const std::vector<std::complex<T>>& y) {
  const fanin::serial exec(order);
  const fanin::sum<std::complex<T>> sum;
  const fanin::prod<std::complex<T>> prod;
  for (const std::int64_t n : {2, 31, 300}) {
    // Not f's own products: what the language makes of x * y under these flags is its own.
    const std::span<const std::complex<T>> xs(x.data(), static_cast<std::size_t>(n));
    to.add(fanin::transform_reduce(exec, xs, same{}, sum));
    to.add(fanin::transform_reduce(exec, xs, same{}, prod));
  }
  std::vector<std::complex<T>> out(30);
  const auto at = [&](std::int64_t i, std::int64_t j) { return y[static_cast<std::size_t>(i * 30 + j)]; };
  fanin::parallel_reduce_into(out.data(), fanin::columns(exec, 10, 30), at, prod);
  for (const auto& one : out) to.add(one);
  fanin::parallel_reduce_into(out.data(), fanin::rows(exec, 10, 30), at, sum);
  for (int k = 0; k < 10; ++k) to.add(out[static_cast<std::size_t>(k)]);
}

inline std::vector<unsigned char> bytes_of(fanin::serial_order order, const std::vector<double>& x,
                                           const std::vector<double>& y) {
  results to;
  const auto as = [&]<class T>(const std::vector<double>& of, T) {
    std::vector<T> made;
    for (const double one : of) made.push_back(T(static_cast<float>(one)));
    return made;
  };
  add_of_numbers<double>(to, order, x, y);
  add_of_numbers<float>(to, order, as(x, float{}), as(y, float{}));
  std::vector<std::complex<double>> cx;
  std::vector<std::complex<double>> cy;
  for (std::size_t i = 0; i < x.size(); ++i) {
    cx.emplace_back(x[i], y[i]);
    cy.emplace_back(y[i], -x[i]);
  }
  add_of_complex<double>(to, order, cx, cy);
  return to.all();
}

}  // namespace fanin_test::FANIN_TEST_UNIT
