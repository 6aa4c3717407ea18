// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>

#include <fanin/buffer.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/nccl/nccl.hpp>
#include <fanin/nccl/over.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reducers.hpp>

// Two ranks of NCCL's, processes with a GPU each, of which one is killed between calls: the other one's next call ends
// in nccl_error, in time, and its GPU works on. In each form, in one launch and by NCCL's kernels; not _into by those,
// which wait until a host gives up, and of an _into form none waits. Without MPI, which would end both ranks.

namespace {

constexpr std::chrono::milliseconds patience{1'500};
constexpr std::chrono::milliseconds in_time{4'000};
constexpr std::int64_t n = 100'000;
constexpr int skipped = 77;  // CTest's, too
constexpr int not_needed = 78;

struct itself {
  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return i; }
};

enum class form { now, later, into };
constexpr const char* names[] = {"blocking", "async", "into"};

std::int64_t reduce(const fanin::nccl& comm, const fanin::cuda& gpu, form how) {
  const auto range = fanin::over(comm, fanin::range(gpu, n * comm.rank(), n * (comm.rank() + 1)));
  const fanin::sum<std::int64_t> sum;
  switch (how) {
    case form::now: return fanin::parallel_reduce(range, itself{}, sum);
    case form::later: return fanin::parallel_reduce_async(range, itself{}, sum).get();
    default: break;
  }
  fanin::buffer<std::int64_t, fanin::cuda> out(gpu, 1);
  fanin::parallel_reduce_into(out.data(), range, itself{}, sum);
  comm.check();  // looks; the wait is synchronize()'s
  gpu.synchronize();
  comm.check();
  std::int64_t value = 0;
  out.copy_to(std::span<std::int64_t>(&value, 1));
  return value;
}

/// 0 where it is as it should be.
int be_rank(int rank, const fanin::nccl_id& id, form how, bool one_launch) {
  cudaSetDevice(rank);
  const fanin::nccl comm(id, rank, 2, {.patience = patience, .one_launch = one_launch});
  if (comm.is_one_launch() != one_launch) return not_needed;
  const fanin::cuda gpu;
  constexpr std::int64_t expected = n * (2 * n - 1);
  for (int call = 0; call < 5; ++call) {
    if (reduce(comm, gpu, how) != expected) return 2;
  }
  if (rank == 1) {
    gpu.synchronize();
    raise(SIGKILL);
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
  bool is_told = false;
  try {
    reduce(comm, gpu, how);
  } catch (const fanin::nccl_error&) {
    is_told = true;
  }
  const bool is_in_time = passed() < in_time;
  const fanin::cuda other;
  const bool works =
      fanin::parallel_reduce(fanin::range(other, n), itself{}, fanin::sum<std::int64_t>{}) == n * (n - 1) / 2;
  std::printf("%s, %s: %s after %.2f s, the GPU %s\n", one_launch ? "one launch" : "by NCCL's kernels",
              names[static_cast<int>(how)], is_told ? "nccl_error" : "no error",
              std::chrono::duration<double>(passed()).count(), works ? "works on" : "does not work any more");
  std::fflush(stdout);
  _exit(is_told && is_in_time && works ? 0 : 3);  // what the communicator's end would wait for is not asked here
}

/// One rank, in a process of its own, which knows the other by a pipe.
pid_t start_rank(int rank, const int (&pipe_of_id)[2], form how, bool one_launch) {
  const pid_t process = fork();
  if (process != 0) return process;
  alarm(60);
  int status = 4;
  try {
    fanin::nccl_id id{};
    if (rank == 0) {
      id = fanin::nccl::make_id();
      if (write(pipe_of_id[1], id.data(), id.size()) != static_cast<ssize_t>(id.size())) _exit(5);
    } else if (read(pipe_of_id[0], id.data(), id.size()) != static_cast<ssize_t>(id.size())) {
      _exit(5);
    }
    status = be_rank(rank, id, how, one_launch);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  _exit(status);
}

int run(form how, bool one_launch) {
  int pipe_of_id[2];
  if (pipe(pipe_of_id) != 0) return 5;
  const pid_t other = start_rank(1, pipe_of_id, how, one_launch);
  const pid_t watched = start_rank(0, pipe_of_id, how, one_launch);
  int status = 0;
  waitpid(watched, &status, 0);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  close(pipe_of_id[0]);
  close(pipe_of_id[1]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 6;
}

/// In a process of its own: after it there is a context, and none may be there before a fork.
int count_gpus() {
  const pid_t process = fork();
  if (process == 0) {
    int gpus = 0;
    _exit(cudaGetDeviceCount(&gpus) == cudaSuccess ? gpus : 0);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

}  // namespace

int main() {
  if (const int gpus = count_gpus(); gpus < 2) {
    std::printf("skipped: two ranks need two GPUs; here are %d\n", gpus);
    return skipped;
  }
  int wrong = 0;
  for (const bool one_launch : {true, false}) {
    for (const form how : {form::now, form::later, form::into}) {
      if (how == form::into && !one_launch) continue;
      const int status = run(how, one_launch);
      if (status == not_needed) {
        std::printf("skipped: %s, as ranks do not reach each other's memory\n", names[static_cast<int>(how)]);
      } else if (status != 0) {
        std::printf("%s, %s: wrong (%d)\n", one_launch ? "one launch" : "by NCCL's kernels",
                    names[static_cast<int>(how)], status);
        ++wrong;
      }
    }
  }
  return wrong;
}
