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

require_nvcc
work=$root/build/walk
rm -rf "$work"
mkdir -p "$work"
tree=$root
if [[ -n $commit ]]; then
  tree=$work/tree
  unpack_commit "$commit" "$tree"
fi

# compile ARGUMENT...   one unit with the tree's headers, not optimised: what is inlined is passed too
compile() {
  nvcc -std=c++20 -arch=sm_90 --expt-relaxed-constexpr "${includes[@]}" "-I$tree/backends/cuda/src" "$@"
}
compile_all() {
  configure_headers "$tree" "$work/configured"
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
