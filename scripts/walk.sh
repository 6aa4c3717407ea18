#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/walk.sh [COMMIT]

Counts which functions a call on CUDA passes, in how many files, with how many changes of folder, for the calls of
tests/cuda/walks.cu: an array summed, an index functor, an exact sum. Prints them in the order of first passing. What
counts stands in walk.py. With the headers and sources of COMMIT, or of the working tree. Needs nvcc and no GPU; half a
minute.
TEXT
}

commit=
case ${1-} in
  -h | --help)
    usage
    exit 0
    ;;
  -*)
    usage >&2
    exit 2
    ;;
  *) commit=${1-} ;;
esac

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

has_nvcc || { say "walk.sh needs the CUDA toolkit, and no nvcc is on PATH or in /usr/local/cuda." && exit 2; }
work=$root/build/walk
rm -rf "$work"
mkdir -p "$work"
tree=$root
if [[ -n $commit ]]; then
  git -C "$root" rev-parse --verify --quiet "$commit^{commit}" >/dev/null || {
    say "There is no commit $commit here."
    exit 2
  }
  tree=$work/tree
  mkdir "$tree"
  git -C "$root" archive "$commit" | tar -x -C "$tree"
fi

# compile ARGUMENT...   one unit with the tree's headers, not optimised: what is inlined is passed too
compile() {
  nvcc -std=c++20 -arch=sm_90 --expt-relaxed-constexpr "-I$tree/core/include" "-I$tree/device/include" \
    "-I$tree/backends/include" "-I$tree/backends/serial/include" "-I$tree/backends/cuda/include" \
    "-I$tree/backends/cuda/src" "-I$work/configured/generated/include" "$@"
}
compile_all() {
  cmake -S "$tree" -B "$work/configured" -DFANIN_ENABLE_CUDA=ON -DFANIN_ENABLE_KOKKOS=OFF -DFANIN_ENABLE_TESTS=OFF \
    -DFANIN_ENABLE_PERF=OFF -DFANIN_ENABLE_EXAMPLES=OFF
  compile -G -ptx -o "$work/walks.ptx" "$root/tests/cuda/walks.cu"
  local source
  for source in "$root/tests/cuda/walks.cu" "$tree"/backends/cuda/src/*.cpp; do
    compile -Xcompiler -O0,-fcallgraph-info -c -o "$work/$(basename "${source%.*}").o" "$source"
  done
}
if ! compile_all >"$work/log" 2>&1; then
  tail -n 20 "$work/log"
  exit 2
fi
python3 "$root/scripts/walk.py" "$tree" "$work"
