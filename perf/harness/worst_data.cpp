// SPDX-License-Identifier: Apache-2.0
#include "harness/worst_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "harness/host.hpp"

namespace fanin_perf {
namespace {

constexpr std::size_t kept = 6;  // from which the search goes on
constexpr int looks = 3;         // at each of those in the end

class changes {
 public:
  explicit changes(const search& how) : random_(how.seed), most_binades_(static_cast<double>(how.most_binades)) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  data_part any_part() {
    const auto shape = static_cast<data_shape>(below(data_shape_names.size()));
    data_part part = with_parameter(shape, spread(shape));
    part.weight = any_weight();
    return part;
  }

  void change(data_kind& kind) {
    data_part& one = kind.part[below(static_cast<std::uint64_t>(kind.parts))];
    switch (below(6)) {
      case 0: one = any_part(); break;
      case 1:
        if (kind.parts < data_kind::most_parts) kind.part[kind.parts++] = any_part();
        break;
      case 2:
        if (kind.parts > 1) {
          one = kind.part[--kind.parts];
          kind.part[kind.parts] = {};
        }
        break;
      case 3: one.weight = any_weight(); break;
      case 4: kind.run_bits = static_cast<int>(below(data_kind::most_run_bits / 2 + 1)); break;
      default: {
        const std::uint32_t weight = one.weight;
        one = with_parameter(one.shape, below(2) == 0 ? one.parameter * 2 : one.parameter / 2);
        one.weight = weight;
      }
    }
    if (kind.parts == 1) kind = {.part = {with_parameter(kind.part[0].shape, kind.part[0].parameter)}};
  }

 private:
  std::uint32_t any_weight() { return std::array<std::uint32_t, 5>{1, 3, 10, 100, 1000}[below(5)]; }

  // Each power of two of the range with the same chance.
  double spread(data_shape shape) {
    const auto range = parameters_of(shape);
    if (!range) return 0;
    const double part = static_cast<double>(below(1 << 20)) * 0x1p-20;
    return range->first * std::exp2(part * std::log2(range->second / range->first));
  }

  // What is outside of the range is its end.
  data_part with_parameter(data_shape shape, double parameter) const {
    const auto range = parameters_of(shape);
    if (!range) return make_data_part(shape);
    const double most = shape == data_shape::loguniform ? most_binades_ : range->second;
    if (shape != data_shape::lognormal) parameter = std::floor(parameter);
    return make_data_part(shape, std::clamp(parameter, range->first, most));
  }

  std::mt19937_64 random_;
  double most_binades_;
};

}  // namespace

found_data find_worst_data(const search& how, const std::function<double(const data_kind&)>& share_of) {
  const double until = host_seconds() + how.seconds;
  changes random(how);
  std::int64_t looked_at = 0;
  std::vector<std::pair<double, data_kind>> slowest;
  const auto look_at = [&](const data_kind& kind) {
    ++looked_at;
    slowest.emplace_back(share_of(kind), kind);
    std::stable_sort(slowest.begin(), slowest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (slowest.size() > kept) slowest.pop_back();
  };
  for (const char* const text : {"uniform", "anybits", "denormals", "scaled", "loguniform:64", "lognormal:2",
                                 "outliers:100", "outliers:1000000", "sparse:100", "cancelling", "sorted", "normal"}) {
    if (looked_at < how.most_kinds) look_at(parse_data_kind(text));
  }
  while (looked_at < how.most_kinds && host_seconds() < until) {
    data_kind next = slowest[random.below(slowest.size())].second;
    const data_kind before = next;
    random.change(next);
    if (random.below(2) == 0) random.change(next);
    if (next != before) look_at(next);
  }

  found_data worst;
  for (const auto& [share, kind] : slowest) {
    std::array<double, looks> shares{share, share_of(kind), share_of(kind)};
    std::sort(shares.begin(), shares.end());
    if (shares[looks / 2] < worst.share || &kind == &slowest.front().second) worst = {kind, shares[looks / 2], 0};
  }
  worst.looked_at = looked_at;
  return worst;
}

}  // namespace fanin_perf
