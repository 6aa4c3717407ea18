// SPDX-License-Identifier: Apache-2.0
#include "harness/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "harness/values.hpp"

namespace fanin_perf {
namespace {

// Elements as what their sum is accumulated in; of compound types one component: every `step`-th of an array or a
// pool that consists of components.
template <class T>
struct generated {
  data_kind kind;
  std::uint64_t seed;
  std::uint64_t position;
  std::uint64_t step = 1;
  sum_type<T> operator[](std::int64_t i) const {
    return static_cast<sum_type<T>>(value_at<T>(kind, seed, position + step * static_cast<std::uint64_t>(i)));
  }
};

template <class T>
struct stored {
  const T* values;
  std::int64_t step = 1;
  sum_type<T> operator[](std::int64_t i) const { return static_cast<sum_type<T>>(values[step * i]); }
};

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

template <class T>
bool comes_before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

// What one thread found in its part; parts are joined in the order of the array.
template <class T>
struct part {
  T value{};
  std::int64_t index = -1;
  long double exact = 0;
  long double magnitude = 0;
};

template <class T>
struct compensated {
  T total = 0;
  T lost = 0;
  void add(T term) {
    const T next = total + term;
    if (std::isfinite(next)) {
      lost += std::abs(total) >= std::abs(term) ? (total - next) + term : (term - next) + total;
    }
    total = next;
  }
  T value() const { return std::isfinite(total) ? total + lost : total; }
};

template <class T, operation Op, class X, class Y>
part<T> float_sum(const X& x, const Y& y, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t block = 1024;
  compensated<long double> exact;
  compensated<long double> magnitude;
  for (std::int64_t from = begin; from < end; from += block) {
    const std::int64_t to = std::min(end, from + block);
    long double block_exact = 0;
    long double block_magnitude = 0;
    for (std::int64_t i = from; i < to; ++i) {
      long double term = x[i];
      if constexpr (Op == operation::sum_of_squares) term *= x[i];
      if constexpr (Op == operation::dot) term *= y[i];
      block_exact += term;
      block_magnitude += std::abs(term);
    }
    exact.add(block_exact);
    magnitude.add(block_magnitude);
  }
  part<T> found;
  found.exact = exact.value();
  found.magnitude = magnitude.value();
  return found;
}

template <class T, operation Op, class X, class Y>
part<T> integer_sum(const X& x, const Y& y, std::int64_t begin, std::int64_t end) {
  part<T> found;
  for (std::int64_t i = begin; i < end; ++i) {
    T term = x[i];
    if constexpr (Op == operation::sum_of_squares) term = product(term, term);
    if constexpr (Op == operation::dot) term = product(term, static_cast<T>(y[i]));
    found.value = wrapping_sum(found.value, term);
  }
  return found;
}

template <class T, bool Least>
bool beats(T candidate, T best) {
  if (is_nan(best)) return false;
  if (is_nan(candidate)) return true;
  return Least ? comes_before(candidate, best) : comes_before(best, candidate);
}

template <class T, bool Least, class X>
part<T> extreme(const X& x, std::int64_t begin, std::int64_t end) {
  part<T> found;
  if (begin == end) return found;
  found.value = x[begin];
  found.index = begin;
  for (std::int64_t i = begin + 1; i < end; ++i) {
    const T candidate = x[i];
    if (beats<T, Least>(candidate, found.value)) {
      found.value = candidate;
      found.index = i;
    }
  }
  return found;
}

template <class T, operation Op, class X, class Y>
part<T> one_part(const X& x, const Y& y, std::int64_t begin, std::int64_t end) {
  if constexpr (is_sum(Op) && std::is_floating_point_v<T>) {
    return float_sum<T, Op>(x, y, begin, end);
  } else if constexpr (is_sum(Op)) {
    return integer_sum<T, Op>(x, y, begin, end);
  } else {
    return extreme < T, Op == operation::min || Op == operation::min_loc > (x, begin, end);
  }
}

template <class T, operation Op>
void join(part<T>& whole, const part<T>& next) {
  if constexpr (is_sum(Op)) {
    whole.exact += next.exact;
    whole.magnitude += next.magnitude;
    whole.value = wrapping_sum(whole.value, next.value);
  } else if (next.index >= 0 && (whole.index < 0 || beats < T,
                                 Op == operation::min || Op == operation::min_loc > (next.value, whole.value))) {
    whole = next;
  }
}

template <class T, operation Op, class X, class Y>
reference all_parts(const X& x, const Y& y, std::int64_t n) {
  const std::int64_t workers = n < (1 << 18) ? 1 : std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  std::vector<part<T>> parts(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  const auto work = [&](std::int64_t k) {
    parts[static_cast<std::size_t>(k)] =
        one_part<T, Op>(x, y, n / workers * k, k + 1 == workers ? n : n / workers * (k + 1));
  };
  for (std::int64_t k = 1; k < workers; ++k) threads.emplace_back(work, k);
  work(0);
  for (auto& thread : threads) thread.join();

  part<T> whole = parts.front();
  for (std::size_t k = 1; k < parts.size(); ++k) join<T, Op>(whole, parts[k]);

  reference right;
  right.exact = whole.exact;
  right.magnitude = whole.magnitude;
  if constexpr (is_sum(Op) && std::is_floating_point_v<T>) {
    right.value = answer::of(static_cast<double>(whole.exact));
  } else {
    right.value = answer::of(whole.value, has_index(Op) ? whole.index : -1);
  }
  right.has_nan = std::isnan(right.value.real);
  return right;
}

template <class T, operation Op>
reference right_of(const data_source& data, std::int64_t n) {
  if constexpr (!is_defined<T, Op>) {
    throw std::invalid_argument(fmt::format("{} is not defined on {}", name(Op), name(data.type)));
  } else if constexpr (is_compound<T>) {
    // Sums of the components, each of them an array with gaps.
    using part = component_type<T>;
    constexpr std::uint64_t count = component_count<T>;
    reference right;
    for (std::uint64_t k = 0; k < count; ++k) {
      reference found;
      if (data.array != nullptr) {
        const stored<part> x{reinterpret_cast<const part*>(data.array) + k, count};
        found = all_parts<part, Op>(x, x, n);
      } else {
        const generated<part> x{data.kind, data.seed, data.x_position * count + k, count};
        found = all_parts<part, Op>(x, x, n);
      }
      found.value.type = element_of<part>;
      if (k == 0) {
        right = std::move(found);
        right.value.type = data.type;
      } else {
        right.value.more.push_back(found.value);
        right.more.push_back(std::move(found));
      }
    }
    return right;
  } else if (data.array != nullptr) {
    const stored<T> array{reinterpret_cast<const T*>(data.array)};
    return all_parts<sum_type<T>, Op>(array, array, n);
  } else {
    return all_parts<sum_type<T>, Op>(generated<T>{data.kind, data.seed, data.x_position},
                                      generated<T>{data.kind, data.seed, data.y_position}, n);
  }
}

bool same_value(const answer& a, const answer& b) {
  if (!is_floating(a.type)) return a.word == b.word;
  if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && std::isnan(b.real);
  return a.real == b.real;
}

/// As far as the oracle knows the sum, which is all but 1100 * 2^-64 of its terms' magnitude.
bool is_rounded_once(const answer& got, const reference& right) {
  const auto rounded = [&](long double x) {
    return got.type == element::f32 ? double{static_cast<float>(x)} : static_cast<double>(x);
  };
  const long double doubt = 1100 * 0x1p-64L * right.magnitude;
  return got.real >= rounded(right.exact - doubt) && got.real <= rounded(right.exact + doubt);
}

answer element_at(const data_source& data, std::int64_t index) {
  return with_type(data.type, [&](auto t) {
    using value = typename decltype(t)::type;
    if (data.array != nullptr) {
      return answer::of(reinterpret_cast<const value*>(data.array)[index]);
    }
    return answer::of(value_at<value>(data.kind, data.seed, data.x_position + static_cast<std::uint64_t>(index)));
  });
}

}  // namespace

std::string to_text(const answer& a) {
  switch (a.type) {
    case element::f32: return fmt::format("{:.9g}", a.real);
    case element::f64: return fmt::format("{:.17g}", a.real);
    case element::u8:
    case element::u32:
    case element::u64: return fmt::format("{}", a.word);
    case element::c32:
    case element::c64:
    case element::s64: {
      std::string text = to_text(a.component(0));
      for (const answer& component : a.more) text += fmt::format(" {}", to_text(component));
      return text;
    }
    case element::f16:  // widened: see answer::of()
    case element::bf16:
    case element::i8:
    case element::i16:
    case element::i32:
    case element::i64: break;
  }
  return fmt::format("{}", static_cast<std::int64_t>(a.word));
}

reference right_answer(const data_source& data, operation op, std::int64_t n) {
  if (op == operation::several) {
    reference right = right_answer(data, several_operations[0], n);
    for (std::size_t k = 1; k < several_operations.size(); ++k) {
      right.more.push_back(right_answer(data, several_operations[k], n));
      right.value.more.push_back(right.more.back().value);
    }
    return right;
  }
  return with_type(data.type, [&](auto t) {
    return with_operation(op, [&](auto o) {
      // several never comes here.
      constexpr operation chosen = decltype(o)::value == operation::several ? operation::sum : decltype(o)::value;
      return right_of<typename decltype(t)::type, chosen>(data, n);
    });
  });
}

double error_bound(const contender& who, element type, operation op, std::int64_t n, long double magnitude) {
  if (op == operation::several) op = operation::sum;  // the first of them
  type = component_of(type);
  if (!is_floating(type) || !is_sum(op)) return 0;
  const double count = static_cast<double>(n);
  double depth = who.lanes > 1 ? count / who.lanes + who.joins : count;
  if (who.halving) depth = std::ceil(std::log2(std::max(count, 2.0))) + 1;
  if (op == operation::exact_sum && who.rounds_once) depth = 1;
  const bool of_products = op == operation::sum_of_squares || op == operation::dot;
  if (of_products) depth += 1;
  const double unit = type == element::f32 ? 0x1p-24 : 0x1p-53;
  const double smallest = type == element::f32 ? 0x1p-149 : 0x1p-1074;
  return depth * unit * static_cast<double>(magnitude) + (of_products ? count * smallest : 0.0);
}

std::string find_fault(const contender& who, const answer& got, const reference& right, const data_source& data,
                       operation op, std::int64_t n) {
  if (op == operation::several) {
    for (std::size_t k = 0; k < several_operations.size(); ++k) {
      if (got.more.size() != right.more.size()) return "not all values are there";
      const std::string fault = find_fault(who, k == 0 ? got : got.more[k - 1], k == 0 ? right : right.more[k - 1],
                                           data, several_operations[k], n);
      if (!fault.empty()) return fmt::format("{}: {}", name(several_operations[k]), fault);
    }
    return {};
  }
  const std::size_t components = component_count_of(data.type);
  if (components > 1) {
    if (got.more.size() + 1 != components) return "not all components are there";
    data_source part = data;
    part.type = component_of(data.type);
    for (std::size_t k = 0; k < components; ++k) {
      reference expected = k == 0 ? right : right.more[k - 1];
      if (k == 0) expected.value = right.value.component(0);
      const std::string fault = find_fault(who, got.component(k), expected, part, op, n);
      if (!fault.empty()) return fmt::format("component {}: {}", k, fault);
    }
    return {};
  }
  const element type = component_of(data.type);
  if (is_sum(op) && is_floating(type)) {
    if (!std::isfinite(right.value.real) || !std::isfinite(got.real)) {
      if (same_value(got, right.value)) return {};
      // A float sum may overflow where the exact one, of the oracle's type, does not.
      const long double largest =
          type == element::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
      const bool too_large = std::isinf(got.real) && std::abs(right.exact) > largest;
      // One that rounds may do so between its first and its last term, in either direction, and come to NaN.
      const bool is_exact = op == operation::exact_sum && who.rounds_once;
      if (too_large || (!is_exact && !std::isfinite(got.real) && right.magnitude > largest)) return {};
      return fmt::format("{} where {} is right", to_text(got), to_text(right.value));
    }
    if (op == operation::exact_sum && who.rounds_once && !is_rounded_once(got, right)) {
      return fmt::format("{} is not {} rounded once", to_text(got), to_text(right.value));
    }
    const double bound = error_bound(who, type, op, n, right.magnitude);
    const double error = static_cast<double>(std::abs(static_cast<long double>(got.real) - right.exact));
    if (error <= bound) return {};
    return fmt::format("{} where {} is right: off by {:.3g}, the bound of its order is {:.3g}", to_text(got),
                       to_text(right.value), error, bound);
  }
  if (!same_value(got, right.value)) {
    return fmt::format("{} where {} is right", to_text(got), to_text(right.value));
  }
  if (!has_index(op)) return {};
  if (got.index < 0 || got.index >= n) {
    return fmt::format("index {} is outside the array of {} elements", got.index, n);
  }
  if (who.smallest_index && got.index != right.value.index) {
    return fmt::format("index {} where {} is right", got.index, right.value.index);
  }
  if (!same_value(element_at(data, got.index), right.value)) {
    return fmt::format("index {} does not hold the value {}", got.index, to_text(right.value));
  }
  return {};
}

}  // namespace fanin_perf
