// SPDX-License-Identifier: Apache-2.0
// Serial alone: what it needs of Fanin's libraries is that of the loops.
#include <vector>

#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

int main() {
  const std::vector<double> x(1000, 0.5);
  return fanin::reduce(fanin::serial{}, x, fanin::sum<double>{}) == 500.0 ? 0 : 1;
}
