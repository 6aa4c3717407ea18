// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fanin/cuda/backend.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>

#include "support/user_reducers.hpp"

/// One kernel of every kind, for scripts/kernels-same.sh to compare with those of an earlier commit: every row, every
/// grid stage and every kind of reducer. It calls Fanin as users do, so that it compiles with both. Not linked, and
/// never run.
namespace {

using namespace fanin::cuda_strategy;

struct data {
  fanin::cuda& gpu;
  std::int64_t n;
  const float* f32;
  const double* f64;
  const std::int32_t* i32;
  const std::uint32_t* u32;
};

template <class T>
struct element {
  const T* x;
  FANIN_FUNCTION T operator()(std::int64_t i) const { return x[i]; }
};
template <class Reducer>
struct element_in {
  const typename Reducer::value_type* x;
  FANIN_FUNCTION void operator()(std::int64_t i, auto& acc) const { Reducer{}.join(acc, x[i]); }
};
struct product {
  const double* x;
  const double* y;
  FANIN_FUNCTION double operator()(std::int64_t i) const { return x[i] * y[i]; }
};
struct times {
  FANIN_FUNCTION double operator()(double x, double y) const { return x * y; }
};

template <class Strategy, class T, class... Reducer>
void spans(const data& d, const T* x, const Reducer&... reducers) {
  fanin::reduce(d.gpu.with<Strategy>(), std::span<const T>(x, static_cast<std::size_t>(d.n)), reducers...);
}
template <class Strategy, class F, class... Reducer>
void indices(const data& d, const F& f, const Reducer&... reducers) {
  fanin::parallel_reduce(fanin::range(d.gpu.with<Strategy>(), d.n), f, reducers...);
}

const fanin::sum<double> sum;
const fanin::sum<float> sum_of_floats;
const fanin::min_loc<double> least;
const fanin::exact_sum<double> exact;
const fanin::exact_sum<float> exact_of_floats;

}  // namespace

void every_row(const data& d) {
  fanin::cuda_catalogue::for_each([&]<class Strategy>(Strategy) {
    spans<Strategy>(d, d.f64, sum);
    indices<Strategy>(d, element<double>{d.f64}, sum);
  });
}

void every_grid_stage(const data& d) {
  spans<finished_by<one_pass, grid::last_block>>(d, d.f64, sum);
  spans<finished_by<one_pass, grid::host_finish>>(d, d.f64, sum);
  spans<finished_by<cluster, grid::last_block>>(d, d.f64, sum);
  spans<finished_by<shared_interleaved, grid::last_block>>(d, d.f64, sum);
  spans<finished_by<shared_interleaved, grid::watching_block>>(d, d.f64, sum);
  spans<finished_by<global_interleaved, grid::watching_block>>(d, d.f64, sum);
  spans<finished_by<global_neighbored, grid::last_block>>(d, d.f64, sum);
}

void every_reducer(const data& d) {
  spans<one_pass>(d, d.f32, sum_of_floats);
  spans<one_pass>(d, d.f32, fanin::min<float>{});
  spans<one_pass>(d, d.f64, fanin::max<double>{});
  spans<one_pass>(d, d.i32, fanin::sum<std::int32_t>{});
  spans<one_pass>(d, d.f32, fanin::min_max_loc<float>{});
  spans<one_pass>(d, d.f64, least, sum);
  indices<one_pass>(d, element_in<fanin::min<double>>{d.f64}, fanin::min<double>{});
  indices<one_pass>(d, product{d.f64, d.f64}, sum);
  const std::span<const double> x(d.f64, static_cast<std::size_t>(d.n));
  fanin::transform_reduce(d.gpu, x, x, times{}, sum);
}

void large_accumulators(const data& d) {
  spans<one_pass>(d, d.u32, fanin_test::wide_counts{});
  spans<finished_by<one_pass, grid::host_finish>>(d, d.u32, fanin_test::wide_counts{});
  spans<shared_interleaved>(d, d.u32, fanin_test::wide_counts{});
  spans<one_pass>(d, d.u32, fanin_test::histogram{});
  spans<finished_by<one_pass, grid::last_block>>(d, d.u32, fanin_test::histogram{});
  spans<global_interleaved>(d, d.u32, fanin_test::histogram{});
  spans<one_pass>(d, d.u32, fanin_test::small_tally{});
  spans<one_pass>(d, d.u32, fanin_test::tally<71>{});
  spans<cluster>(d, d.u32, fanin_test::small_tally{});
  spans<finished_by<one_pass, grid::second_pass>>(d, d.u32, fanin_test::small_tally{});
  spans<shared_interleaved>(d, d.u32, fanin_test::small_tally{});
}

void exact_sums(const data& d) {
  spans<one_pass>(d, d.f32, exact_of_floats);
  spans<one_pass>(d, d.f64, exact);
  spans<one_pass>(d, d.f64, sum, exact);
  spans<one_pass_bulk>(d, d.f64, exact);
  spans<cluster>(d, d.f64, exact);
  spans<finished_by<one_pass, grid::last_block>>(d, d.f64, exact);
  spans<finished_by<one_pass, grid::host_finish>>(d, d.f64, exact);
  spans<thread_partials>(d, d.f64, exact);
  spans<shared_shuffle>(d, d.f64, exact);
  spans<global_halving>(d, d.f64, exact);
}

void exact_sums_among_others(const data& d) {
  spans<one_pass>(d, d.f64, exact, least);
  spans<one_pass>(d, reinterpret_cast<const std::complex<double>*>(d.f64), fanin::exact_sum<std::complex<double>>{});
  spans<one_pass>(d, reinterpret_cast<const std::complex<float>*>(d.f32), fanin::exact_sum<std::complex<float>>{});
  indices<one_pass>(d, element<double>{d.f64}, sum, exact);
}
