#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/test.sh [--quick] [--all] [--no-cuda]

Installs what is missing, builds, and runs everything that is tested, in stages:
  format    clang-format
  host      serial and Kokkos (Serial, OpenMP), examples, README snippets, compile-fail tests
  install   consumers outside the tree, by find_package and by add_subdirectory
  cuda      where nvcc is: all that nvcc compiles or that calls the CUDA library, and not again what stage host has
            tested in the same form; tests that need a GPU skip where there is none. One of two halves there
  asan      the host tests, compiled by Clang, under AddressSanitizer and UndefinedBehaviorSanitizer: one of two halves
  tsan      under ThreadSanitizer, one of two halves: serial and Kokkos Serial; by Clang's, the CUDA backend's kernels on a
            simulated device
  fuzz      the .npy reader under libFuzzer, FANIN_FUZZ_SECONDS (default 30); exact sums, a third of that twice
  mutants   ten small mistakes in a copy of the sources, each of which a host test must find: scripts/mutate.sh
Halves, as the mistakes, are those that the commit decides.

  --quick     format and host only
  --all       both halves
  --no-cuda   without the stage cuda

A stage that fails does not keep the next from running. Where no GPU is, cuda runs beside those that follow it. On a slow
machine those from asan on of which it is clear, from what host took, that they would not have ended FANIN_TEST_MINUTES
(default 85) after the start are skipped, which the summary says. The last line is "N passed, N failed, N skipped".
Logs: build/logs.
TEXT
}

quick=
all=
cuda=1
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=1 ;;
    --all) all=1 ;;
    --no-cuda) cuda= ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ensure_packages "${tools[@]}" "${build_libraries[@]}" "${ranks[@]}" "${check_tools[@]}" "${browser[@]}"
ensure_venv "$root/scripts/requirements.txt" "$root/scripts/requirements-test.txt"

passed=0
failed=0
skipped=0
summary=()

# stage NAME COMMAND...   runs it, whatever came before, and notes time and result.
stage() {
  local name=$1 start=$SECONDS before=$failed note=
  shift
  say "== $name"
  stage_note=
  if "$@"; then
    note=ok
  else
    note=FAILED
    # What failed before any test ran counts as one failure.
    if ((failed == before)); then failed=$((failed + 1)); fi
  fi
  summary+=("$(printf '%-8s %-7s %5d s  %s' "$name" "$note" $((SECONDS - start)) "$stage_note")")
  say "${summary[-1]}"
}

# stage_in_time PERCENT NAME COMMAND...   the same, where there is time for it: it takes so much of what stage host took,
# and twice that beside other stages.
stage_in_time() {
  local takes=$((host_seconds * $1 * lanes / 100))
  shift
  if ((SECONDS + takes < 60 * ${FANIN_TEST_MINUTES:-85})); then
    stage "$@"
    return
  fi
  skipped=$((skipped + 1))
  summary+=("$(printf '%-8s skipped        of about %d s, after %d' "$1" "$takes" "$SECONDS")")
  say "${summary[-1]}"
}

# beside COMMAND...   stages beside those that follow it, up to together: no core waits for the last unit of one of them.
# What they say, together prints.
# shellcheck disable=SC2030  # counts of its own
beside() {
  lanes=2
  rm -f "$logs/beside.counts"
  set -m # a group of its own, which ends with this script
  (
    passed=0 failed=0 skipped=0 summary=()
    "$@"
    printf '%s\n' "$passed $failed $skipped" "${summary[@]}" >"$logs/beside.counts"
  ) >"$logs/beside.log" 2>&1 &
  beside_pid=$!
  set +m
  trap 'kill -- "-$beside_pid" 2>/dev/null' EXIT
}

# shellcheck disable=SC2031
together() {
  local counts=(0 1 0) lines=("FAILED: stages beside others did not end")
  wait "$beside_pid"
  trap - EXIT
  lanes=1
  cat "$logs/beside.log"
  if [[ -e $logs/beside.counts ]]; then
    { read -ra counts && mapfile -t lines; } <"$logs/beside.counts"
  fi
  passed=$((passed + counts[0]))
  failed=$((failed + counts[1]))
  skipped=$((skipped + counts[2]))
  summary+=("${lines[@]}")
}

# count_tests FILE   adds up a JUnit report of ctest, and the schedules of the simulated device that its tests ran; prints
# what those that failed wrote.
count_tests() {
  local counts run fail skip schedules
  counts=$(python3 - "$1" <<'PYTHON'
import re
import sys
import xml.etree.ElementTree as tree

suite = tree.parse(sys.argv[1]).getroot()
for case in suite.iter("testcase"):
    if case.get("status") == "fail":
        lines = (case.findtext("system-out") or "").splitlines()
        print(f"{case.get('name')} failed:", *lines[-60:], sep="\n  | ", file=sys.stderr)
status = [case.get("status") for case in suite.iter("testcase")]
schedules = sum(int(n) for out in suite.iter("system-out") for n in re.findall(r"^(\d+) schedules, ", out.text or "", re.M))
print(status.count("run"), status.count("fail"), len(status) - status.count("run") - status.count("fail"), schedules)
PYTHON
  ) || return 1
  read -r run fail skip schedules <<<"$counts"
  passed=$((passed + run))
  failed=$((failed + fail))
  skipped=$((skipped + skip))
  stage_note="${stage_note:+$stage_note; }$run passed, $fail failed, $skip skipped"
  if ((schedules > 0)); then stage_note+=", $schedules schedules"; fi
}

# test_preset PRESET [CTEST ARGUMENT...]
test_preset() {
  local preset=$1 report=$root/build/$1/ctest.xml status=0
  shift
  rm -f "$report"
  (cd "$root" && run_logged "test $preset" "$logs/$preset-tests.log" \
    ctest --preset "$preset" --output-junit "$report" --parallel "$(nproc)" "$@") || status=$?
  count_tests "$report" || return 1
  return "$status"
}

format_stage() { "$root/scripts/format.sh" && passed=$((passed + 1)); }

# The presets of tests: configure, build, ctest. Arguments after the preset, up to --, go to the configuration, the others
# to ctest.
preset_stage() {
  local preset=$1 options=("-DFANIN_PYTHON=$venv/bin/python")
  shift
  while [[ $# -gt 0 && $1 != -- ]]; do
    options+=("$1")
    shift
  done
  configure "$preset" "${options[@]}" && build "$preset" && test_preset "$preset" "${@:2}"
}

# What is compiled a second time is too much for one run: whether the commit decides for the first of two halves of it.
is_first_half() {
  local commit
  commit=$(git -C "$root" rev-parse HEAD 2>/dev/null) || commit=$(date +%j)
  ((16#${commit:0:8} % 2 == 0))
}

# folders_of_half FOLDER...   These of tests/, the first half, or all others, with semicolons; with --all nothing, which
# means all.
folders_of_half() {
  local folder others=
  [[ -z $all ]] || return 0
  if is_first_half; then
    (IFS=';' && printf '%s' "$*")
    return
  fi
  for folder in "$root"/tests/*/CMakeLists.txt; do
    folder=$(basename "$(dirname "$folder")")
    [[ " $* " == *" $folder "* ]] || others+=";$folder"
  done
  printf '%s' "${others#;}"
}

# has_folder FOLDERS FOLDER
has_folder() { [[ -z $1 || ";$1;" == *";$2;"* ]]; }

# test_folders PRESET FOLDERS OPTION...
test_folders() {
  local preset=$1 folders=$2 status=0
  shift 2
  preset_stage "$preset" "-DFANIN_TEST_FOLDERS=$folders" "$@" || status=$?
  stage_note+="${folders:+; $folders}"
  return "$status"
}

# The CUDA backend on its simulated device, under one sanitizer, and the other backends under the other.
asan_stage() {
  local folders examples=OFF
  folders=$(folders_of_half simulator)
  if has_folder "$folders" contract; then examples=ON; fi
  test_folders asan "$folders" "-DFANIN_ENABLE_EXAMPLES=$examples"
}

# What starts threads; and the simulated device's fibres, which are more threads than g++'s runtime takes.
tsan_stage() {
  local presets=() preset status=0
  if [[ -n $all ]] || is_first_half; then presets+=(tsan); fi
  if [[ -n $all ]] || ! is_first_half; then presets+=(tsan-simulator); fi
  for preset in "${presets[@]}"; do
    preset_stage "$preset" || status=1
  done
  stage_note+="; ${presets[*]}"
  return "$status"
}

# Where nothing of a device runs, its code need not be optimised.
cuda_stage() {
  local preset=cuda-compiled perf=OFF examples=OFF folders options=(-DFANIN_HOST_TESTS=OFF -DFANIN_ENABLE_MPI=ON)
  folders=$(folders_of_half core cuda install perf)
  if has_gpu; then
    preset=cuda folders=
  elif ! nvcc --help | has_line -e --Ofast-compile; then
    options+=(-DCMAKE_CUDA_FLAGS=)
  fi
  if has_folder "$folders" perf; then perf=ON; fi
  if has_folder "$folders" docs; then examples=ON; fi
  test_folders "$preset" "$folders" "${options[@]}" "-DFANIN_ENABLE_PERF=$perf" "-DFANIN_ENABLE_EXAMPLES=$examples"
}

# The fuzzers at once, each on one core; prints what each printed, and the names of those that failed in the end.
run_fuzzers() {
  local seconds=${FANIN_FUZZ_SECONDS:-30} corpus=$root/build/fuzz/corpus names=(npy accumulator sum) pids=() name k
  cd "$root/build/fuzz" || return 1
  mkdir -p "$corpus" "$corpus-exact-accumulator" "$corpus-exact-sum"
  perf/input/fanin_fuzz_npy -max_total_time="$seconds" -timeout=10 -dict="$root/perf/input/fuzz_npy.dict" \
    "$corpus" "$root/perf/input/fuzz_seeds" >npy.out 2>&1 &
  pids+=($!)
  for name in accumulator sum; do
    "tests/exact/fuzz/fanin_fuzz_exact_$name" -max_total_time=$((seconds / 3)) -timeout=20 \
      "$corpus-exact-$name" >"$name.out" 2>&1 &
    pids+=($!)
  done
  # shellcheck disable=SC2064  # the processes of now
  trap "kill ${pids[*]} 2>/dev/null" TERM
  local wrong=()
  for k in "${!names[@]}"; do
    wait "${pids[k]}" || wrong+=("${names[k]}")
    cat "${names[k]}.out"
  done
  [[ ${#wrong[@]} -eq 0 ]] || printf 'FAILED: %s\n' "${wrong[@]}"
  return "${#wrong[@]}"
}

fuzz_stage() {
  configure fuzz && build fuzz fanin_fuzz_npy fanin_fuzz_exact_accumulator fanin_fuzz_exact_sum || return 1
  local number=0
  run_logged "fuzz" "$logs/fuzz.log" run_fuzzers || number=$?
  passed=$((passed + 3 - number))
  failed=$((failed + number))
  stage_note="$(grep -aoE 'Done [0-9]+ runs in [0-9]+' "$logs/fuzz.log" | tail -n 3 | head -n 1) s"
  return "$number"
}

# Each mutation is a test that passes where one of the library's fails.
mutants_stage() {
  local log=$logs/mutants.log status=0 found all
  : >"$log"
  run_logged "mutants" "$log" "$root/scripts/mutate.sh" --jobs "$(parallel_jobs)" || status=$?
  read -r found all < <(sed -nE 's/^([0-9]+) of ([0-9]+) mutations found$/\1 \2/p' "$log") || return 1
  passed=$((passed + found))
  failed=$((failed + all - found))
  stage_note="$found of $all found; $(sed -nE 's/^([a-z]+ [0-9]+ to [0-9]+), .*, by (.*)$/\1, by \2/p' "$log")"
  return "$status"
}

stage format format_stage
host_seconds=$SECONDS
stage host preset_stage host -DFANIN_ENABLE_MPI=ON -- --label-exclude '^install$'
host_seconds=$((SECONDS - host_seconds))
if [[ -z $quick ]]; then
  stage install test_preset host --label-regex '^install$'
  if [[ -n $cuda ]] && ! has_nvcc; then
    say "No stage cuda: there is no nvcc here."
    cuda=
  fi
  if [[ -n $cuda ]] && has_gpu; then # where times are compared
    stage cuda cuda_stage
    cuda=
  fi
  [[ -z $cuda ]] || beside stage cuda cuda_stage
  stage_in_time "$((${all:-0} * 25 + 25))" asan asan_stage
  stage_in_time 20 tsan tsan_stage
  stage_in_time 10 fuzz fuzz_stage
  stage_in_time 20 mutants mutants_stage
  [[ -z $cuda ]] || together
fi

say "== summary"
printf '%s\n' "${summary[@]}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
