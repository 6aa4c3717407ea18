// SPDX-License-Identifier: Apache-2.0

// What becomes of a tree whose last warp works without synchronisation, as two of the notes have it: the sum of 256
// ones by blocks of 256 threads, how often it is not 256. Build: nvcc -O3 -arch=native unsynchronised.cu Prints
// WRONG/RUNS for plain shared memory and for volatile.

#include <cstdio>
#include <vector>

template <class Shared>
__global__ void tree(int* out) {
  __shared__ int values[256];
  const unsigned t = threadIdx.x;
  values[t] = 1;
  __syncthreads();
  for (unsigned half = 128; half > 32; half /= 2) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
  if (t < 32) {
    Shared* const s = values;
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
  }
  if (t == 0) out[blockIdx.x] = values[0];
}

template <class Shared>
void count(const char* name) {
  const int runs = 100000;
  int* out = nullptr;
  if (cudaMalloc(&out, runs * sizeof(int)) != cudaSuccess) return;
  tree<Shared><<<runs, 256>>>(out);
  std::vector<int> sums(runs);
  if (cudaMemcpy(sums.data(), out, runs * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return;
  int wrong = 0;
  for (const int sum : sums) wrong += sum != 256;
  std::printf("%s %d/%d, the first sum %d\n", name, wrong, runs, sums[0]);
  cudaFree(out);
}

int main() {
  count<int>("plain");
  count<volatile int>("volatile");
}
