#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/ranks-check.sh [--build DIR] [--ranks LIST] [--launcher COMMAND] [--rounds N]

Whether reductions over ranks are right here, with this machine's MPI, GPUs and NCCL:
  hosts    fanin::mpi on serial and Kokkos, on each number of ranks of LIST
  gpus     fanin::mpi with devices of CUDA and of Kokkos, which ranks may share, on up to three ranks a GPU
  peers    fanin::nccl with two ranks of one process on one GPU, in one launch; neither NCCL nor MPI is needed; N rounds
  nccl     fanin::nccl, a GPU a rank: in one launch where they reach each other's memory, and by NCCL's kernels; N rounds
           of calls of random kind; a rank that is killed in the middle
What cannot be run here is said, and is no failure.

Installs what is missing and builds first: the preset host, or, where there are a GPU and nvcc, the preset cuda, with
NCCL where NCCL_ROOT names the folder that has its include/ and lib/.

  --build DIR         use the programs in this build directory instead: nothing is installed or built
  --ranks LIST        numbers of ranks, with commas; default 1,2,3,4,7
  --launcher COMMAND  starts a program on as many ranks as follow; default "mpirun -n", elsewhere "srun -n" perhaps
  --rounds N          default 2000

Exit: 0 where all was right, 1 where something failed, 2 where nothing could be run. Logs: build/logs.
TEXT
}

build=
ranks_of_check=1,2,3,4,7
launcher='mpirun -n'
rounds=2000
while [[ $# -gt 0 ]]; do
  name=${1%%=*}
  case $name in
    --build | --ranks | --launcher | --rounds) ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  if [[ $1 == *=* ]]; then
    value=${1#*=}
  elif [[ $# -gt 1 ]]; then
    value=$2
    shift
  else
    usage >&2
    exit 2
  fi
  shift
  case $name in
    --build) build=$value ;;
    --ranks) ranks_of_check=$value ;;
    --launcher) launcher=$value ;;
    --rounds) rounds=$value ;;
  esac
done
[[ $ranks_of_check =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] || {
  printf 'No list of numbers of ranks: %s\n' "$ranks_of_check" >&2
  exit 2
}
[[ -z $build || -d $build ]] || {
  printf 'There is no build directory %s.\n' "$build" >&2
  exit 2
}

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

gpus=0
if has_gpu; then gpus=$(nvidia-smi -L | grep -c '^GPU'); fi

# --- Programs ------------------------------------------------------------------------------------------
if [[ -z $build ]]; then
  ensure_packages "${tools[@]}" "${build_libraries[@]}" "${ranks[@]}"
  ensure_venv "$root/scripts/requirements.txt"
  preset=host targets=(mpi_ranks_test) options=(-DFANIN_ENABLE_MPI=ON "-DFANIN_PYTHON=$venv/bin/python")
  if ((gpus > 0)) && has_nvcc; then
    preset=cuda
    targets+=(mpi_devices_test mpi_kokkos_devices_test cuda_two_peers_test)
    if [[ -n ${NCCL_ROOT:-} ]]; then
      options+=(-DFANIN_ENABLE_NCCL=ON "-DFANIN_NCCL_ROOT=$NCCL_ROOT")
      targets+=(nccl_devices_test nccl_ended_rank_test)
    fi
  fi
  configure "$preset" "${options[@]}" && build "$preset" "${targets[@]}" || exit 2
  build=$root/build/$preset
fi
programs=$build/tests/mpi

# --- Checks --------------------------------------------------------------------------------------------
# As root, and with more ranks than cores, Open MPI wants to be told.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# Waits without sleeping would keep others from the cores.
export OMP_PROC_BIND=false OMP_WAIT_POLICY=passive GTEST_COLOR=no
not_run=()

# run_on_ranks LOG NUMBER PROGRAM [ARGUMENT...]
run_on_ranks() {
  local log=$1 number=$2 status=0
  shift 2
  # shellcheck disable=SC2086  # the launcher is several words
  run_logged "$(basename "$1") on $number ranks" "$log" timeout 600 $launcher "$number" "$@" --gtest_brief=1 || status=$?
  check_note=$(count_in "$log" | grep -oE '\[  [A-Z]+ +\] [0-9]+ tests?' | sort | uniq -c |
    sed -E 's/ *([0-9]+) \[ +([A-Z]+) +\] ([0-9]+) tests?/\3 \2 (\1)/' | tr '\n' ' ')
  return "$status"
}

# check_on_ranks TITLE PROGRAM NUMBER [ARGUMENT...]
check_on_ranks() {
  local title=$1 program=$programs/$2 number=$3
  local log=$logs/ranks-check-$2-$number.log
  shift 3
  if [[ -x $program ]]; then
    check "$title, $number" "$log" run_on_ranks "$log" "$number" "$program" "$@"
  else
    not_run+=("$title: $(basename "$program") was not built")
  fi
}

run_peers() {
  local log=$1 status=0
  run_logged "two ranks on one GPU" "$log" timeout 600 "$build/tests/cuda/cuda_two_peers_test" --gtest_brief=1 || status=$?
  check_note=$(count_in "$log")
  return "$status"
}

run_ended_rank() {
  local log=$1 status=0
  run_logged "a rank that is killed" "$log" "$programs/nccl_ended_rank_test" || status=$?
  check_note=$(grep -cE '^[a-z].* works on$' "$log")' ended as they should'
  return "$status"
}

numbers=${ranks_of_check//,/ }
for number in $numbers; do
  check_on_ranks "hosts over MPI" mpi_ranks_test "$number"
done
if ((gpus == 0)); then
  not_run+=("GPUs over MPI, two ranks on one GPU, and NCCL: nvidia-smi lists no GPU here")
else
  for number in $numbers; do
    if ((number <= 3 * gpus)); then
      check_on_ranks "GPUs over MPI" mpi_devices_test "$number"
      check_on_ranks "GPUs over MPI, by Kokkos" mpi_kokkos_devices_test "$number"
    else
      not_run+=("GPUs over MPI, $number: more than three ranks for each of the $gpus")
    fi
  done
  if [[ -x $build/tests/cuda/cuda_two_peers_test ]]; then
    log=$logs/ranks-check-peers.log
    FANIN_RANKS_ROUNDS=$rounds check "two ranks on one GPU" "$log" run_peers "$log"
  else
    not_run+=("two ranks on one GPU: cuda_two_peers_test was not built")
  fi
  for number in $numbers; do
    if ((number <= gpus)); then
      FANIN_RANKS_ROUNDS=$rounds check_on_ranks "NCCL" nccl_devices_test "$number"
    else
      not_run+=("NCCL, $number: NCCL's ranks have a GPU each, and there are $gpus")
    fi
  done
  if ((gpus < 2)); then
    not_run+=("NCCL, a rank that is killed: two ranks need two GPUs")
  elif [[ -x $programs/nccl_ended_rank_test ]]; then
    check "NCCL, a rank that is killed" "$logs/ranks-check-ended.log" run_ended_rank "$logs/ranks-check-ended.log"
  else
    not_run+=("NCCL, a rank that is killed: nccl_ended_rank_test was not built")
  fi
fi
if [[ ${#summary[@]} -eq 0 ]]; then
  printf '%s\n' "${not_run[@]}" >&2
  exit 2
fi

status=0
summarise "over ranks" || status=1
if [[ ${#not_run[@]} -gt 0 ]]; then
  say "not run:"
  printf '  %s\n' "${not_run[@]}" | sort -u
fi
exit "$status"
