#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/mutate.sh [--all | --only TEXT | --check] [--hunt] [--jobs N]

Puts small mistakes into a copy of the sources, one switched on at a time, and wants a test to fail for each. The lists
are tests/mutations/*/*.toml; scripts/mutations.py says what stands in them. Needs no GPU. Without an option: ten of the
list, which the commit decides.
  --all        every mutation, and writes docs/mutations.md
  --only TEXT  those whose name, or number ("simulator 12"), contains the text
  --check      only whether each still fits the sources
  --hunt       for those that survive: which other tests fail
  --jobs N     compilations and programs at once; as many as there are cores

Exit status: 0 when each was found, 1 when one survived or fits the sources no more, 2 when the copy does not build.
TEXT
}

case ${1-} in
  -h | --help)
    usage
    exit 0
    ;;
esac

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ensure_packages "${tools[@]}" "${build_libraries[@]}" "${ranks[@]}"
exec python3 "$root/scripts/mutate.py" "$root" "$@"
