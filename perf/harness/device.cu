// SPDX-License-Identifier: Apache-2.0
#include "harness/device.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/captured_calls.hpp"
#include "harness/cuda_check.hpp"
#include "harness/host.hpp"
#include "harness/numbers.hpp"
#include "harness/values.hpp"

namespace fanin_perf {
namespace {

constexpr int read_threads = 512;
constexpr int loads_in_flight = 4;
constexpr int blocks_per_multiprocessor = 4;
constexpr std::int64_t caches_to_read = 8;  // by time_cold(), in a pass
constexpr int most_cold_passes = 64;
constexpr int user_threads = 256;

template <class T>
__global__ void fill_kernel(T* values, std::int64_t count, data_kind kind, std::uint64_t seed) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    values[i] = value_at<T>(kind, seed, static_cast<std::uint64_t>(i));
  }
}

// Folds 16-byte words; `sink` is written only where the fold hits a chosen word, which keeps the
// loads alive and costs nothing. `count` is a multiple of the tile.
__global__ void __launch_bounds__(read_threads, blocks_per_multiprocessor)
    read_kernel(const uint4* words, std::int64_t count, unsigned* sink) {
  constexpr std::int64_t tile = read_threads * loads_in_flight;
  unsigned fold = 0;
  for (std::int64_t at = blockIdx.x * tile; at < count; at += gridDim.x * tile) {
    uint4 word[loads_in_flight];
#pragma unroll
    for (int k = 0; k < loads_in_flight; ++k) {
      word[k] = words[at + k * read_threads + threadIdx.x];
    }
#pragma unroll
    for (int k = 0; k < loads_in_flight; ++k) {
      fold ^= word[k].x ^ word[k].y ^ word[k].z ^ word[k].w;
    }
  }
  if (fold == 0x5EED5EEDu) *sink = fold;
}

__global__ void empty_kernel() {}

__global__ void small_kernel(unsigned* counts) { ++counts[threadIdx.x]; }

template <class T>
__global__ void axpy_kernel(T a, const T* x, T b, T* y, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = wrapping_sum(product(a, x[i]), product(b, y[i]));
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
  }
  return "unknown";
}

class cuda_device final : public device {
 public:
  cuda_device() {
    FANIN_PERF_CHECK(cudaSetDevice(0));
    cudaDeviceProp properties{};
    FANIN_PERF_CHECK(cudaGetDeviceProperties(&properties, 0));
    int driver = 0;
    int runtime = 0;
    FANIN_PERF_CHECK(cudaDriverGetVersion(&driver));
    FANIN_PERF_CHECK(cudaRuntimeGetVersion(&runtime));
    facts_.gpu = properties.name;
    facts_.driver = driver_version();
    facts_.cuda_driver = version_text(driver);
    facts_.cuda_runtime = version_text(runtime);
    facts_.multiprocessors = properties.multiProcessorCount;
    facts_.memory = static_cast<std::int64_t>(properties.totalGlobalMem);
    facts_.l2_bytes = properties.l2CacheSize;
    FANIN_PERF_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    FANIN_PERF_CHECK(cudaEventCreate(&begin_));
    FANIN_PERF_CHECK(cudaEventCreate(&end_));
    FANIN_PERF_CHECK(cudaMalloc(&sink_, sizeof(unsigned)));
    FANIN_PERF_CHECK(cudaMalloc(&counts_, user_threads * sizeof(unsigned)));
    FANIN_PERF_CHECK(cudaMemset(counts_, 0, user_threads * sizeof(unsigned)));
  }

  // Freeing can only fail after an error that was reported before.
  ~cuda_device() override {
    cudaFree(counts_);
    cudaFree(sink_);
    cudaFree(copy_);
    cudaFree(pool_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }

  const device_facts& facts() const override { return facts_; }
  void* stream() override { return stream_; }

  std::byte* pool(std::int64_t bytes) override { return at_least(bytes, pool_, pool_bytes_); }

  std::byte* copy_pool() override {
    std::byte* const copy = at_least(pool_bytes_, copy_, copy_bytes_);
    const auto bytes = static_cast<std::size_t>(pool_bytes_);
    FANIN_PERF_CHECK(cudaMemcpyAsync(copy, pool_, bytes, cudaMemcpyDeviceToDevice, stream_));
    return copy;
  }

  void fill(element type, const data_kind& kind, std::uint64_t seed) override {
    with_type(type, [&](auto t) {
      using value = typename decltype(t)::type;
      fill_kernel<value><<<static_cast<unsigned>(facts_.multiprocessors * 8), 256, 0, stream_>>>(
          static_cast<value*>(pool_), pool_bytes_ / size_of(type), kind, seed);
      FANIN_PERF_CHECK(cudaGetLastError());
    });
    FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
  }

  void fill_copies(const std::byte* source, std::int64_t bytes, std::int64_t stride) override {
    auto* to = static_cast<std::byte*>(pool_);
    const auto size = static_cast<std::size_t>(bytes);
    FANIN_PERF_CHECK(cudaMemsetAsync(to, 0, static_cast<std::size_t>(std::min(stride, pool_bytes_)), stream_));
    FANIN_PERF_CHECK(cudaMemcpyAsync(to, source, size, cudaMemcpyHostToDevice, stream_));
    // What is there doubles with each copy.
    for (std::int64_t filled = stride; filled < pool_bytes_;) {
      const std::int64_t more = std::min(filled, pool_bytes_ - filled);
      FANIN_PERF_CHECK(
          cudaMemcpyAsync(to + filled, to, static_cast<std::size_t>(more), cudaMemcpyDeviceToDevice, stream_));
      filled += more;
    }
    FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
  }

  void enqueue_small() override {
    small_kernel<<<1, user_threads, 0, stream_>>>(counts_);
    FANIN_PERF_CHECK(cudaGetLastError());
  }

  void enqueue_axpy(element type, int a, const std::byte* x, int b, std::byte* y, std::int64_t n) override {
    with_type(type, [&](auto t) {
      using value = typename decltype(t)::type;
      if constexpr (has_all_operations<value>) {
        const auto blocks = static_cast<unsigned>((n + user_threads - 1) / user_threads);
        axpy_kernel<value><<<blocks, user_threads, 0, stream_>>>(static_cast<value>(a),
                                                                 reinterpret_cast<const value*>(x),
                                                                 static_cast<value>(b), reinterpret_cast<value*>(y), n);
        FANIN_PERF_CHECK(cudaGetLastError());
      } else {
        throw std::runtime_error("there is no axpy of " + std::string(name(type)));
      }
    });
  }

  double time(const std::function<void()>& enqueue) override {
    FANIN_PERF_CHECK(cudaEventRecord(begin_, stream_));
    enqueue();
    FANIN_PERF_CHECK(cudaEventRecord(end_, stream_));
    FANIN_PERF_CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0;
    FANIN_PERF_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return static_cast<double>(milliseconds) * 1e-3;
  }

  double time_cold(const std::function<void()>& enqueue) override {
    const std::int64_t bytes = std::min(pool_bytes_ * 3 / 4, caches_to_read * facts_.l2_bytes);
    for (int passes = 1;; passes *= 2) {
      // From a quarter of the pool on: graphs read what is before and at its end.
      for (int pass = 0; pass < passes; ++pass) enqueue_read(pool_bytes_ / 4, bytes);
      bool late = false;
      const double seconds = time([&] {
        enqueue();
        const cudaError_t begun = cudaEventQuery(begin_);
        late = begun == cudaSuccess;
        if (begun == cudaErrorNotReady) {
          (void)cudaGetLastError();
        } else {
          FANIN_PERF_CHECK(begun);
        }
      });
      // The device waited for the host; reading longer gives the host more time.
      if (!late || passes >= most_cold_passes) return seconds;
    }
  }

  std::unique_ptr<call> capture(std::unique_ptr<call> prepared, std::int64_t first, std::int64_t count) override {
    return std::make_unique<captured_calls>(std::move(prepared), first, count, stream_);
  }

  double measure_read() override {
    double best = 0;
    for (int pass = 0; pass < 12; ++pass) {
      std::int64_t bytes = 0;
      const double seconds = time([&] { bytes = enqueue_read(0, pool_bytes_); });
      // The first passes wake the device.
      if (pass > 1) best = std::max(best, static_cast<double>(bytes) / seconds * 1e-9);
    }
    return best;
  }

  double measure_blocking_floor() override {
    std::vector<double> seconds;
    for (int pass = 0; pass < 1000; ++pass) {
      const double begin = host_seconds();
      empty_kernel<<<1, 32, 0, stream_>>>();
      FANIN_PERF_CHECK(cudaGetLastError());
      FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
      seconds.push_back(host_seconds() - begin);
    }
    return median(seconds);
  }

 private:
  std::byte* at_least(std::int64_t bytes, void*& memory, std::int64_t& size) {
    if (bytes > size) {
      FANIN_PERF_CHECK(cudaStreamSynchronize(stream_));
      FANIN_PERF_CHECK(cudaFree(memory));
      memory = nullptr;
      size = 0;
      FANIN_PERF_CHECK(cudaMalloc(&memory, static_cast<std::size_t>(bytes)));
      size = bytes;
    }
    return static_cast<std::byte*>(memory);
  }

  // As many of the bytes as fill tiles, from a multiple of 256 on; returns how many these are.
  std::int64_t enqueue_read(std::int64_t from, std::int64_t bytes) {
    constexpr std::int64_t tile_bytes = read_threads * loads_in_flight * 16;
    const std::int64_t read = bytes / tile_bytes * tile_bytes;
    const auto blocks = static_cast<unsigned>(facts_.multiprocessors * blocks_per_multiprocessor);
    const auto* words = reinterpret_cast<const uint4*>(static_cast<const std::byte*>(pool_) + from / 256 * 256);
    read_kernel<<<blocks, read_threads, 0, stream_>>>(words, read / 16, sink_);
    FANIN_PERF_CHECK(cudaGetLastError());
    return read;
  }

  device_facts facts_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  void* pool_ = nullptr;
  void* copy_ = nullptr;
  unsigned* sink_ = nullptr;
  unsigned* counts_ = nullptr;
  std::int64_t pool_bytes_ = 0;
  std::int64_t copy_bytes_ = 0;
};

}  // namespace

std::unique_ptr<device> open_device(std::string& why_not) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    why_not = status == cudaSuccess ? "no GPU is visible" : std::string("no usable GPU: ") + cudaGetErrorString(status);
    return nullptr;
  }
  return std::make_unique<cuda_device>();
}

}  // namespace fanin_perf
