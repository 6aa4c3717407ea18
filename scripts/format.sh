#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/format.sh [--fix]

Checks the layout of every C++ and CUDA source with clang-format (.clang-format), that every file names its licence with
reuse (REUSE.toml), and that no header but those of device holds assembly; it gets the tools with pip.
  --fix    rewrite the files instead, for their layout
TEXT
}

fix=
case ${1-} in
  --fix) fix=1 ;;
  -h | --help)
    usage
    exit 0
    ;;
  "") ;;
  *)
    usage >&2
    exit 2
    ;;
esac

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
ensure_packages python3:python3
ensure_venv "$root/scripts/requirements-dev.txt"

cd "$root"
mapfile -d '' files < <(git ls-files -z --cached --others --exclude-standard -- '*.hpp' '*.cpp' '*.cuh' '*.cu')
if [[ -n $fix ]]; then
  "$venv/bin/clang-format" -i "${files[@]}"
  exit 0
fi

if ! output=$("$venv/bin/clang-format" --dry-run --Werror "${files[@]}" 2>&1); then
  say "clang-format would change these files (scripts/format.sh --fix does):"
  sed -n 's/^\([^:]*\):[0-9]*:.*clang-formatted.*/\1/p' <<<"$output" | uniq -c
  # A mistake in .clang-format itself.
  grep '^Error' <<<"$output" || true
  exit 1
fi

if ! output=$("$venv/bin/reuse" lint --lines 2>&1); then
  say "Files without a licence (reuse lint; a source has the SPDX line that the others have):"
  say "$output"
  exit 1
fi

if output=$(git grep -nE '__CUDA_ARCH__|\basm\b' -- core backends/cuda/include ||
  git grep -nF __CUDA_ARCH__ -- core backends); then
  say "What only a device does belongs into the folder device:"
  say "$output"
  exit 1
fi
