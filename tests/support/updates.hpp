// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/buffer.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/finished.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>

/// Functors that write, each index or element exactly once, and results that g finishes once on the device: of any
/// strategy, on a GPU or a simulated one. A check waits, and says what was wrong, or nothing.
namespace fanin_test {

using update_check = std::function<std::string()>;

/// f(i): r[i] += 3 q[i], and gives the new r[i].
struct update_at {
  std::int64_t* r;
  const std::int64_t* q;
  std::uint8_t* visits;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const {
    visits[i] = static_cast<std::uint8_t>(visits[i] + 1);
    r[i] += 3 * q[i];
    return r[i];
  }
};

/// f(x), f(x, y): a visit of element number x.
struct visit_element {
  std::uint8_t* visits;
  FANIN_FUNCTION std::int32_t operator()(std::int32_t x) const {
    visits[x] = static_cast<std::uint8_t>(visits[x] + 1);
    return x;
  }
  FANIN_FUNCTION std::int32_t operator()(std::int32_t x, std::int32_t) const { return (*this)(x); }
};

struct update_result {
  std::int64_t sum;
  std::int64_t least_at;
  friend bool operator==(const update_result&, const update_result&) = default;
};

/// g: with what an earlier call left, and how often it was called.
struct finish_update {
  const std::int64_t* earlier;
  std::int32_t* calls;
  FANIN_FUNCTION update_result operator()(std::int64_t sum, const fanin::value_index<std::int64_t>& least) const {
    ++*calls;
    return {sum - *earlier, least.index};
  }
};

template <class T>
fanin::buffer<T, fanin::cuda> on_gpu(const fanin::cuda& gpu, const std::vector<T>& values) {
  fanin::buffer<T, fanin::cuda> memory(gpu, values.size());
  memory.copy_from(values);
  return memory;
}

template <class T>
std::vector<T> on_host(const fanin::buffer<T, fanin::cuda>& memory) {
  std::vector<T> values(memory.size());
  memory.copy_to(values);
  return values;
}

/// Empty if every one of n was visited once.
inline std::string visited_once(const fanin::buffer<std::uint8_t, fanin::cuda>& visits) {
  const auto seen = on_host(visits);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] != 1) return "index " + std::to_string(i) + " was visited " + std::to_string(seen[i]) + " times";
  }
  return "";
}

/// What one call of an update leaves: lives until its check.
struct update_memory {
  update_memory(const fanin::cuda& gpu, const std::vector<std::int64_t>& elements)
      : q{on_gpu(gpu, elements)},
        r{on_gpu(gpu,
                 [&] {
                   std::vector<std::int64_t> values(elements.size());
                   std::iota(values.begin(), values.end(), -5);
                   return values;
                 }())},
        visits{on_gpu(gpu, std::vector<std::uint8_t>(elements.size(), 0))},
        earlier{on_gpu(gpu, std::vector<std::int64_t>{-1})},
        calls{on_gpu(gpu, std::vector<std::int32_t>{0})},
        out{on_gpu(gpu, std::vector<update_result>{{-1, -1}})},
        sum{on_gpu(gpu, std::vector<std::int64_t>{-1})} {}

  update_at functor() { return {r.data(), q.data(), visits.data()}; }

  fanin::buffer<std::int64_t, fanin::cuda> q, r;
  fanin::buffer<std::uint8_t, fanin::cuda> visits;
  fanin::buffer<std::int64_t, fanin::cuda> earlier;
  fanin::buffer<std::int32_t, fanin::cuda> calls;
  fanin::buffer<update_result, fanin::cuda> out;
  fanin::buffer<std::int64_t, fanin::cuda> sum;
};

/// An update whose results are finished on the device, or, by strategies that finish on the host, a sum of it. Where it
/// is blocking and there are an odd number of elements, the result is got later.
template <class Strategy>
update_check run_update(const fanin::cuda& gpu, const fanin::cuda_tuning& tuning,
                        const std::vector<std::int64_t>& elements, bool blocking) {
  const auto memory = std::make_shared<update_memory>(gpu, elements);
  const auto view = gpu.with<Strategy>(tuning);
  const auto n = static_cast<std::int64_t>(elements.size());
  std::int64_t sum = 0;
  std::int64_t earlier = 0;
  fanin::value_index<std::int64_t> least{0, -1};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t q = elements[static_cast<std::size_t>(i)];
    const std::int64_t value = i - 5 + 3 * q;
    earlier += q;
    sum += value;
    if (least.index < 0 || value < least.value) least = {value, i};
  }

  update_result got{};
  if constexpr (fanin::is_stream_ordered(Strategy::recipe)) {
    const auto finished = fanin::finished(finish_update{memory->earlier.data(), memory->calls.data()},
                                          fanin::sum<std::int64_t>{}, fanin::min_loc<std::int64_t>{});
    fanin::reduce_into(memory->earlier.data(), gpu, memory->q, fanin::sum<std::int64_t>{});
    if (blocking && n % 2 == 0) {
      got = fanin::parallel_reduce(fanin::range(view, n), memory->functor(), finished);
    } else if (blocking) {
      got = fanin::parallel_reduce_async(fanin::range(view, n), memory->functor(), finished).get();
    } else {
      fanin::parallel_reduce_into(memory->out.data(), fanin::range(view, n), memory->functor(), finished);
    }
  } else {
    got.sum = fanin::parallel_reduce(fanin::range(view, n), memory->functor(), fanin::sum<std::int64_t>{}) - earlier;
    got.least_at = least.index;
  }
  return [memory, blocking, got, expected = update_result{sum - earlier, least.index}]() -> std::string {
    if (std::string wrong = visited_once(memory->visits); !wrong.empty()) return wrong;
    constexpr bool finishes = fanin::is_stream_ordered(Strategy::recipe);
    const auto calls = on_host(memory->calls)[0];
    if (calls != (finishes ? 1 : 0)) return "g was called " + std::to_string(calls) + " times";
    const update_result result = finishes && !blocking ? on_host(memory->out)[0] : got;
    if (result == expected) return "";
    return "got " + std::to_string(result.sum) + " and " + std::to_string(result.least_at) + ", expected " +
           std::to_string(expected.sum) + " and " + std::to_string(expected.least_at);
  };
}

/// transform_reduce over one array from its element `start` on, or two: the sum, or the greatest, which takes tiles.
template <class Strategy>
update_check run_visit(const fanin::cuda& gpu, const fanin::cuda_tuning& tuning, std::size_t start, std::size_t n,
                       bool two) {
  std::vector<std::int32_t> numbers(start + n);
  for (std::size_t k = 0; k < n; ++k) numbers[start + k] = static_cast<std::int32_t>(k);
  const auto memory = std::make_shared<fanin::buffer<std::int32_t, fanin::cuda>>(on_gpu(gpu, numbers));
  const auto visits =
      std::make_shared<fanin::buffer<std::uint8_t, fanin::cuda>>(on_gpu(gpu, std::vector<std::uint8_t>(n, 0)));
  const std::span<const std::int32_t> xs(memory->data() + start, n);
  const auto view = gpu.with<Strategy>(tuning);
  const visit_element f{visits->data()};
  const auto reduce = [&](const auto& reducer) -> std::int64_t {
    return two ? fanin::transform_reduce(view, xs, xs, f, reducer) : fanin::transform_reduce(view, xs, f, reducer);
  };
  const bool by_tiles = start % 2 == 1;
  const std::int64_t got =
      by_tiles ? reduce(fanin::max<std::int32_t>{}) : reduce(fanin::sum<std::int32_t, std::int64_t>{});
  const auto count = static_cast<std::int64_t>(n);
  const std::int64_t greatest = count == 0 ? std::numeric_limits<std::int32_t>::min() : count - 1;
  return [memory, visits, got, expected = by_tiles ? greatest : count * (count - 1) / 2]() -> std::string {
    if (std::string wrong = visited_once(*visits); !wrong.empty()) return wrong;
    return got == expected ? "" : "got " + std::to_string(got) + ", expected " + std::to_string(expected);
  };
}

}  // namespace fanin_test
