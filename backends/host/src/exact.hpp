// SPDX-License-Identifier: Apache-2.0
// Exact sums: a part of level.hpp. Now and then the range of the elements is looked at: those that fit a few bins are
// added in vectors, and what does not fit one by one; where too many would not, all go to a table.

/// While it lives, this thread rounds to nearest and keeps denormals.
class standard_arithmetic {
 public:
  standard_arithmetic(const standard_arithmetic&) = delete;
  standard_arithmetic& operator=(const standard_arithmetic&) = delete;
#if defined(__x86_64__)
  standard_arithmetic() : before_{__builtin_ia32_stmxcsr()} { __builtin_ia32_ldmxcsr(0x1f80); }
  ~standard_arithmetic() { __builtin_ia32_ldmxcsr(before_); }

 private:
  unsigned before_;
#else
  standard_arithmetic() {
    fegetenv(&before_);
    fesetenv(FE_DFL_ENV);
  }
  ~standard_arithmetic() { fesetenv(&before_); }

 private:
  fenv_t before_;
#endif
};

inline constexpr std::int64_t look_every = 1 << 17;
inline constexpr std::int64_t worth_a_look = 256;
/// After so many elements what the bins have not taken decides whether to look before that.
inline constexpr std::int64_t piece = 4096;

inline exact_vector empty_bin(int unit) {
  return exact_vector{} + __builtin_bit_cast(double, static_cast<std::uint64_t>(unit + 52 + 1023) << 52 | 1ULL << 51);
}
template <class Source>
constexpr int unit_of(int top, int k) {
  return top - Source::bin_width * (k + 1);
}
template <class Source>
constexpr int lowest_of(int bins, int top) {
  return unit_of<Source>(top, bins - 1) + Source::digits - 1;
}

/// What is held, to the digits; it is written anew before it is used again.
template <class Source, class State>
void empty_bins(State& state) {
  for (int k = 0; k < state.bins; ++k) {
    __int128 sum = 0;
    for (int lane = 0; lane < Source::vectors * width<double>; ++lane) {
      sum += state.held[k][lane];
    }
    add_sum(state.digits, sum, unit_of<Source>(state.top, k));
  }
}

/// What is in the table, to the digits; it keeps it.
template <class Source, class State>
void read_table(State& state) {
  using table = typename Source::table;
  const std::uint64_t* const of = state.table;
  if (of == nullptr || state.in_table == 0) return;
  __int128 sum = 0;
  for (int at = 0; at < table::sums; at += 32) {
    std::uint64_t digit = 0;
    for (int k = 0; k < 32; k += table::at_once) {
      if (at + k < table::sums) sum += table::sum(of, at + k);
      digit |= (static_cast<std::uint64_t>(sum) & ((1 << table::at_once) - 1)) << k;
      sum >>= table::at_once;
    }
    add_sum(state.digits, digit, table::lowest + at);
  }
  add_sum(state.digits, sum, table::lowest + (table::sums + 31) / 32 * 32);
  state.in_table = 0;
}

/// The exponents of some elements.
template <class Source>
struct sample {
  static constexpr int most = 64;
  static constexpr int none = -100'000;
  int exponent[most];  ///< none: of an element that is 0, or that no bins take
  int count = 0;       ///< of those that are not 0

  sample(const Source& from, std::int64_t n) {
    for (int k = 0; k < most; ++k) {
      const parts x = parts_of(from.number(n * k / most));
      const int first = x.field - 1023;
      exponent[k] = x.magnitude != 0 && first < Source::highest && first >= Source::least ? first : none;
      count += x.magnitude != 0 ? 1 : 0;
    }
  }

  /// How many of them are in the best window of so many exponents, and from where to where they are.
  struct coverage {
    int count = 0;
    int first = 0;
    int last = 0;
  };
  coverage best_window(int width) const {
    coverage best;
    for (const int& first : exponent) {
      int covered = 0;
      for (const int& other : exponent)
        covered += static_cast<int>(other <= first) & static_cast<int>(other > first - width);
      if (first != none && covered > best.count) best = {covered, first, first};
    }
    for (const int& other : exponent) {
      if (other > best.first - width && other < best.last) best.last = other;
    }
    return best;
  }
};

/// Chooses how the next elements are taken, by a sample of them: by no fewer bins than are said.
template <class Source, class State>
void look(State& state, const Source& from, std::int64_t n, int least_bins) {
  empty_bins<Source>(state);
  carry(state.digits);
  state.until_look = look_every;
  state.missed = 0;
  state.bins = 0;
  if (!Source::has_bins || least_bins > Source::most_bins) return;
  const sample<Source> of(from, n);
  for (int bins = least_bins; bins <= Source::most_bins; ++bins) {
    const int range = -lowest_of<Source>(bins, 0);
    const auto found = of.best_window(range);
    const int left = of.count - found.count;
    if (left > (bins < Source::most_bins ? 1 : 3)) continue;
    const int top = found.first + 1 + (range - (found.first - found.last + 1)) / 2;
    const int least = Source::lowest + Source::bin_width * bins;
    state.bins = bins;
    state.top = top > Source::highest ? Source::highest : (top < least ? least : top);
    break;
  }
  for (int k = 0; k < state.bins; ++k) {
    for (std::int64_t& lane : state.held[k]) lane = 0;
  }
}

/// Elements of a group that the bins have not taken.
template <class Source, class State>
__attribute__((noinline)) void take_left_out(State& state, const Source& from,
                                             const number_range<typename Source::number_type>& range) {
  using T = typename Source::number_type;
  constexpr int group = group_of<typename Source::element>;
  std::uint64_t which = 0;
  for (int i = 0; i < group; i += width<T>) which |= std::uint64_t{bits_of_mask<T>(from.left_out(i, range))} << i;
  for (; which != 0; which &= which - 1) {
    from.add_one(state.digits, __builtin_ctzll(which));
    ++state.missed;
  }
}

template <int Bins, class Source, class State>
__attribute__((noinline)) void take_in_bins(State& state, Source from, std::int64_t n) {
  constexpr int vectors = Source::vectors;
  constexpr int lanes = vectors * width<double>;
  constexpr int group = group_of<typename Source::element>;
  constexpr int rounds = group / lanes;
  constexpr std::int64_t most_groups = bin_room(Source::bin_width) / rounds;
  const number_range<typename Source::number_type> range(lowest_of<Source>(Bins, state.top), state.top);
  exact_vector bin[Bins][vectors];
  for (int k = 0; k < Bins; ++k) {
    for (int v = 0; v < vectors; ++v) bin[k][v] = empty_bin(unit_of<Source>(state.top, k));
  }
  while (n >= group) {
    const std::int64_t most = n / group < most_groups ? n / group : most_groups;
    for (std::int64_t at = 0; at < most; ++at) {
      from.prefetch();
      exact_bits left_out = {};
#pragma GCC unroll 16
      for (int k = 0; k < rounds; ++k) from.add(bin, k * lanes, range, left_out);
      if (has_number<typename Source::number_type>(left_out)) [[unlikely]]
        take_left_out(state, from, range);
      from.skip(group);
    }
    n -= most * group;
    for (int k = 0; k < Bins; ++k) {
      const exact_vector empty = empty_bin(unit_of<Source>(state.top, k));
      for (int v = 0; v < vectors; ++v) {
        std::int64_t* const held = state.held[k] + v * width<double>;
        exact_bits sum;
        __builtin_memcpy(&sum, held, sizeof(sum));
        sum += reinterpret_cast<exact_bits>(bin[k][v]) - reinterpret_cast<exact_bits>(empty);
        __builtin_memcpy(held, &sum, sizeof(sum));
        bin[k][v] = empty;
      }
    }
  }
  for (std::int64_t i = 0; i < n; ++i) from.add_one(state.digits, i);
}

/// Infinities and NaN that have got into the table among these elements are counted instead.
template <class Source, class State>
void take_specials_out(State& state, const Source& from, std::int64_t n) {
  using table = typename Source::table;
  constexpr int positive = table::fields - 1;
  constexpr int negative = positive + table::fields;
  if ((table::numbers(state.table, positive) | table::numbers(state.table, negative)) == 0) return;
  for (std::int64_t i = 0; i < n; ++i) {
    if (parts_of(from.number(i)).field == 2047) from.add_one(state.digits, i);
  }
  table::clear(state.table, positive);
  table::clear(state.table, negative);
}

/// Elements of any range.
template <class Source, class State>
__attribute__((noinline)) void take_in_table(State& state, Source from, std::int64_t n) {
  using table = typename Source::table;
  constexpr int group = group_of<typename Source::element>;
  if (state.table == nullptr && state.in_table + n >= table::worth) {
    state.table = static_cast<std::uint64_t*>(std::calloc(table::words, sizeof(std::uint64_t)));
    state.in_table = 0;
  }
  if (state.table != nullptr && state.in_table + n > table_room) {
    read_table<Source>(state);
    __builtin_memset(state.table, 0, table::words * sizeof(std::uint64_t));
  }
  state.in_table += n;
  const std::int64_t in_groups = state.table != nullptr ? n / group * group : 0;
  for (std::int64_t i = in_groups; i < n; ++i) from.add_one(state.digits, i);
  const Source all = from;
  for (std::int64_t i = 0; i < in_groups; i += group) {
    from.prefetch();
    from.add_group_to_table(state.table, state.digits);
    from.skip(group);
  }
  if constexpr (table::takes_specials) {
    if (in_groups > 0) take_specials_out(state, all, in_groups);
  }
}

template <int Bins, class Source, class State>
void take_as_chosen(State& state, const Source& from, std::int64_t n) {
  if constexpr (Bins > Source::most_bins) {
    take_in_table(state, from, n);
  } else if (state.bins == Bins) {
    take_in_bins<Bins>(state, from, n);
  } else {
    take_as_chosen<Bins + 1>(state, from, n);
  }
}

/// Up to so many elements are few.
inline constexpr std::int64_t most_few = 512;

/// Few elements as two sums of integers, if their exponents lie near enough to each other. False: they do not, or there
/// are others than numbers.
template <class Source, class State>
bool take_few(State& state, const Source& from, std::int64_t n) {
  constexpr std::int64_t no_sign = INT64_MAX;
  constexpr int lower_bits = State::bits_of_few;
  static_assert(53 + 9 < 63 && lower_bits + 9 < 63 && most_few <= 1 << 9);
  const auto bits_of = [&](std::int64_t i) {
    return __builtin_bit_cast(std::int64_t, static_cast<double>(from.number(i)));
  };
  std::int64_t most = 0;
  std::int64_t least = no_sign;  // less 1: of 0 the most
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t magnitude = bits_of(i) & no_sign;
    const std::int64_t less = (magnitude - 1) & no_sign;
    most = magnitude > most ? magnitude : most;
    least = less < least ? less : least;
  }
  if (most == 0) return true;
  const auto exponent_of = [](std::int64_t field) { return field == 0 ? 1 : field; };
  const std::int64_t lowest = exponent_of((least + 1) >> 52);
  if (most >> 52 == 2047 || exponent_of(most >> 52) - lowest > lower_bits) return false;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t bits = bits_of(i);
    const std::int64_t field = bits >> 52 & 0x7ff;
    const std::int64_t number = (bits & ((1LL << 52) - 1)) | (field == 0 ? 0 : 1LL << 52);
    const std::int64_t shift = exponent_of(field) < lowest ? 0 : exponent_of(field) - lowest;  // below are zeros
    const std::int64_t sign = bits >> 63;
    const auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) << shift) & ((1LL << lower_bits) - 1);
    const std::int64_t high = number >> (lower_bits - shift);
    lower += (low ^ sign) - sign;
    upper += (high ^ sign) - sign;
  }
  state.few[0] = lower;
  state.few[1] = upper;
  state.unit = static_cast<int>(lowest) - 1075;
  return true;
}
/// What there is goes on in digits.
template <class State>
void begin_digits(State& state) {
  if (state.has_digits) return;
  state.has_digits = true;
  __builtin_memset(&state.digits, 0, sizeof(state.digits));
  add_sum(state.digits, state.few[0], state.unit);
  add_sum(state.digits, state.few[1], state.unit + State::bits_of_few);
}

template <class Source, class State>
void take_exactly(State& state, Source from, std::int64_t n) {
  const standard_arithmetic arithmetic;
  if constexpr (Source::digits <= 53) {
    const bool is_nothing = !state.has_digits && state.few[0] == 0 && state.few[1] == 0;
    if (is_nothing && n <= most_few && take_few(state, from, n)) return;
  }
  begin_digits(state);
  if (state.until_look <= 0 && n < worth_a_look) {
    for (std::int64_t i = 0; i < n; ++i) from.add_one(state.digits, i);
    state.until_look -= n;
    if (state.until_look < -look_every) {
      carry(state.digits);
      state.until_look = 0;
    }
    return;
  }
  while (n > 0) {
    if (state.missed > 64 + (look_every - state.until_look) / 48) {
      look(state, from, n < look_every ? n : look_every, state.bins + 1);
    } else if (state.until_look <= 0) {
      look(state, from, n < look_every ? n : look_every, Source::least_bins);
    }
    std::int64_t size = n < state.until_look ? n : state.until_look;
    if (size > piece) size = piece;
    take_as_chosen<Source::least_bins>(state, from, size);
    from.skip(size);
    n -= size;
    state.until_look -= size;
  }
}

template <class T>
void add_exactly(exact_state<digits_of_sum>& into, const T* from, std::int64_t n) {
  take_exactly(into, exact_elements<T>{from}, n);
}
template <class T>
void add_products_exactly(typename exact_loops<T>::products_state& into, const T* x, const T* y, std::int64_t n) {
  take_exactly(into, exact_products<T>{x, y}, n);
}
template <class Source, class State>
void finish_exactly(State& state) {
  if (!state.has_digits) return;
  empty_bins<Source>(state);
  read_table<Source>(state);
  std::free(state.table);
  state.table = nullptr;
}

template <class T>
void separate(const T* __restrict pairs, std::int64_t n, T* __restrict first, T* __restrict second) {
  for (std::int64_t i = 0; i < n; ++i) {
    first[i] = pairs[2 * i];
    second[i] = pairs[2 * i + 1];
  }
}

template <class T>
constexpr exact_loops<T> make_exact_loops() {
  return {add_exactly<T>, finish_exactly<exact_elements<T>, exact_state<digits_of_sum>>, add_products_exactly<T>,
          finish_exactly<exact_products<T>, typename exact_loops<T>::products_state>, separate<T>};
}
