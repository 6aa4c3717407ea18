#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/kernels-same.sh COMMIT [--architecture 90]

Compiles tests/cuda/kernels.cu (one kernel of every kind: each row, grid stage and reducer) with the headers of COMMIT and
with those of the working tree, and compares the machine code kernel by kernel. Prints every kernel that differs, with
its number of instructions before and after, and a summary. Needs nvcc and no GPU; half a minute each.

Exit status: 0 when all kernels that both have are the same byte for byte, 1 when some differ, 2 when it could not tell.
TEXT
}

commit=
architecture=90
while [[ $# -gt 0 ]]; do
  case $1 in
    --architecture)
      architecture=${2:?"--architecture needs a number, as 90"}
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) commit=$1 ;;
  esac
  shift
done
[[ -n $commit ]] || {
  usage >&2
  exit 2
}

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

require_nvcc
work=$root/build/kernels
rm -rf "$work"
unpack_commit "$commit" "$work/before"

# compile NAME TREE   the probe of the working tree with the headers of TREE
compile() {
  local name=$1 tree=$2 includes
  configure_headers "$tree" "$work/$name-build" >"$work/$name.log" 2>&1 &&
    nvcc -std=c++20 "-arch=sm_$architecture" --expt-relaxed-constexpr --extended-lambda -cubin -o "$work/$name.cubin" \
      "${includes[@]}" "-I$root/tests" "$root/tests/cuda/kernels.cu" >>"$work/$name.log" 2>&1
}

pids=()
compile before "$work/before" &
pids+=($!)
compile after "$root" &
pids+=($!)
status=0
wait "${pids[0]}" || status=2
wait "${pids[1]}" || status=2
if ((status != 0)); then
  tail -n 20 "$work"/before.log "$work"/after.log
  exit 2
fi
python3 "$root/scripts/kernels_same.py" "$work/before.cubin" "$work/after.cubin"
