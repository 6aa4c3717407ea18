#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/gpu-check.sh [--build DIR] [--stages LIST]

Everything that needs a GPU, on the first one of this machine, in stages:
  tests      the tests of the preset cuda that run on a GPU, by ctest, those over ranks, too; with --build one program
             after the other and, where mpirun is, scripts/ranks-check.sh on 1, 2 and 3 ranks
  sanitizer  compute-sanitizer's memcheck, racecheck, synccheck and initcheck over every strategy, over every one
             with every grid stage, over calls with many results and over what is precompiled; memcheck over what two
             ranks on one GPU hand each other, too
  soak       a million calls of random kind, size, object, thread and graph: FANIN_SOAK_CALLS, FANIN_SOAK_SEED
  perf       fanin-perf with the selection of perf/results/<gpu>/one_pass.json from 2^10 on, and against that file
             where there is one for this GPU and host; something that is slower fails

Installs what is missing and builds the preset cuda first.

  --build DIR    use the programs in this build directory (tests/, perf/) instead: nothing is installed or built, so
                 that it can be one that was copied here, without a compiler
  --stages LIST  only these, with commas

A stage that fails does not keep the next from running. Exit: 0 where all passed, 1 where something failed, 2 where
nothing could be run. Logs: build/logs. The measurement: build/results/gpu-check/one_pass.json.
TEXT
}

build=
stages=tests,sanitizer,soak,perf
while [[ $# -gt 0 ]]; do
  case $1 in
    --build | --stages)
      [[ $# -gt 1 ]] || {
        usage >&2
        exit 2
      }
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    --build=*) build=${1#*=} ;;
    --stages=*) stages=${1#*=} ;;
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

refuse() {
  printf '%s\n' "$*" >&2
  exit 2
}

for stage in ${stages//,/ }; do
  case $stage in
    tests | sanitizer | soak | perf) ;;
    *) refuse "There is no stage \"$stage\"; there are: tests, sanitizer, soak, perf." ;;
  esac
done
[[ -z $build || -d $build ]] || refuse "There is no build directory $build."
has_gpu || refuse "There is no GPU here that nvidia-smi lists: nothing could be checked."
gpu_name=$(nvidia-smi --query-gpu=name --format=csv,noheader --id=0) || refuse "nvidia-smi does not name the GPU."
# "NVIDIA H200" is h200, "NVIDIA A100-SXM4-80GB" is a100-sxm4-80gb.
gpu=$(tr '[:upper:] ' '[:lower:]_' <<<"${gpu_name#NVIDIA }")
say "$gpu_name: perf/results/$gpu"

# --- Programs ------------------------------------------------------------------------------------------
built_here=
if [[ -z $build ]]; then
  has_nvcc || refuse "The preset cuda needs the CUDA toolkit, and no nvcc is on PATH or in /usr/local/cuda.
Where the programs were built elsewhere, name their directory with --build."
  built_here=1
  build=$root/build/cuda
  ensure_packages "${tools[@]}" "${build_libraries[@]}" "${ranks[@]}"
  ensure_venv "$root/scripts/requirements.txt" "$root/scripts/requirements-cuda.txt"
  cccl=$("$venv/bin/python" -c \
    'import pathlib, sysconfig; print(*pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/*/include/cccl"))')
  configure cuda "-DFANIN_PYTHON=$venv/bin/python" "-DFANIN_CCCL_INCLUDE_DIR=$cccl" -DFANIN_ENABLE_MPI=ON && build cuda || exit 2
fi
results=$root/build/results/gpu-check
mkdir -p "$results"

# --- Stages --------------------------------------------------------------------------------------------
run_ctest() {
  local status=0
  (cd "$root" && run_logged ctest "$1" ctest --preset cuda --label-exclude '^(install|compile|gpu_sanitizer)$') || status=$?
  check_note=$(count_in "$1")
  return "$status"
}

tests_stage() {
  if [[ -n $built_here ]]; then
    check tests "$logs/gpu-check-tests.log" run_ctest "$logs/gpu-check-tests.log"
    return
  fi
  local program found=
  for program in "$build"/tests/{contract,cuda,kokkos}/*; do
    [[ -f $program && -x $program && $program != *cuda_sanitizer_test && $program != *.so ]] || continue
    found=1
    local name log
    name=$(basename "$program")
    log=$logs/gpu-check-$name.log
    OMP_PROC_BIND=false check "$name" "$log" run_program "$log" "$program"
  done
  if [[ -x $build/tests/mpi/mpi_devices_test ]] && command -v mpirun >/dev/null; then
    log=$logs/gpu-check-ranks.log
    check ranks "$log" run_program "$log" "$root/scripts/ranks-check.sh" --build "$build" --ranks 1,2,3
  fi
  [[ -n $found ]] || check tests "$logs/gpu-check-tests.log" no_tests
}

no_tests() {
  check_note="no test is in $build/tests"
  return 1
}

run_sanitizer() {
  local tool=$1 log=$2 program=$build/tests/$3 status=0
  shift 3
  if ! command -v compute-sanitizer >/dev/null; then
    check_note="there is no compute-sanitizer on PATH or in /usr/local/cuda/bin"
    return 1
  fi
  if [[ ! -x $program ]]; then
    check_note="$program is not there"
    return 1
  fi
  FANIN_TEST_FEW_SIZES=1 run_logged "$tool" "$log" compute-sanitizer --tool "$tool" --error-exitcode 9 "$program" "$@" ||
    status=$?
  check_note="$(count_in "$log")$(grep -aE '^=+ .*SUMMARY' "$log" | tail -n 1)"
  # Cases that skipped have checked nothing.
  grep -aq '^\[  PASSED  \] [1-9]' "$log" || status=1
  return "$status"
}

# Now and then memcheck keeps two grids that wait for each other from running beside each other, until one is given up.
run_memcheck_of_peers() {
  local attempt
  for attempt in 1 2 3; do
    run_sanitizer memcheck "$1" cuda/cuda_two_peers_test \
      '--gtest_filter=*replayed_graphs:*is_late*:*does_not_come*:*fails*' && return
    printf 'attempt %s of 3 failed\n' "$attempt" >>"$1"
  done
  return 1
}

sanitizer_stage() {
  [[ ! -x /usr/local/cuda/bin/compute-sanitizer ]] || PATH=$PATH:/usr/local/cuda/bin
  local tool
  for tool in memcheck racecheck synccheck initcheck; do
    local log=$logs/gpu-check-$tool.log
    check "$tool" "$log" run_sanitizer "$tool" "$log" cuda/cuda_sanitizer_test
    log=$logs/gpu-check-$tool-pairs.log
    check "$tool, rows and grid stages" "$log" run_sanitizer "$tool" "$log" cuda/cuda_catalogue_test \
      '--gtest_filter=*other_grid_stages*'
    log=$logs/gpu-check-$tool-many.log
    check "$tool, many results" "$log" run_sanitizer "$tool" "$log" contract/contract_cuda \
      '--gtest_filter=axes*:arrays_of_many*:segments*:runs*:finished*'
    log=$logs/gpu-check-$tool-precompiled.log
    check "$tool, precompiled" "$log" run_sanitizer "$tool" "$log" cuda/cuda_cpp_unit_test '--gtest_filter=*precompiled*'
  done
  # Blocks of two grids that hand over to each other. The other two tests do not end under memcheck.
  local log=$logs/gpu-check-memcheck-peers.log
  check "memcheck, two peers" "$log" run_memcheck_of_peers "$log"
}

soak_stage() {
  local log=$logs/gpu-check-soak.log
  FANIN_SOAK_CALLS=${FANIN_SOAK_CALLS:-1000000} check soak "$log" run_program "$log" "$build/tests/cuda/cuda_soak_test"
}

run_perf() {
  local log=$1 program=$build/perf/fanin-perf stored=$root/perf/results/$gpu/one_pass.json status=0
  if [[ ! -x $program ]]; then
    check_note="$program is not there"
    return 1
  fi
  local backends=cuda
  if "$program" --list | has_line '^backends.*kokkos-cuda'; then backends+=,kokkos-cuda; fi
  local selection=(--backends "$backends" --strategies one_pass --types 'f32,f64,i32,i64' --ops 'sum,min,max'
    --sizes '2^10..2^29' --json "$results/one_pass.json")
  if [[ -e $stored ]]; then
    run_logged fanin-perf "$log" "$program" "${selection[@]}" --baseline "$stored" || status=$?
    check_note=$(grep -aE '^against ' "$log")
    # It says so before it measures.
    if ((status != 2)) || ! grep -aq 'cannot be compared with' "$log"; then return "$status"; fi
    status=0
    check_note="no comparison: $(grep -aoE 'its (GPU|host) is .*' "$log")"
  else
    check_note="no comparison: there is no perf/results/$gpu/one_pass.json"
  fi
  run_logged fanin-perf "$log" "$program" "${selection[@]}" || status=$?
  return "$status"
}

perf_stage() { check perf "$logs/gpu-check-perf.log" run_perf "$logs/gpu-check-perf.log"; }

for stage in ${stages//,/ }; do
  say "== $stage"
  "${stage}_stage"
done

summarise "$gpu_name"
