# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# Functions for the scripts beside this file: set-up, builds with progress. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/build/venv
logs=$root/build/logs
mkdir -p "$logs"

# What each step needs. A tool that is on PATH counts, however it came there.
tools=(g++:g++ cmake:cmake ninja:ninja-build python3:python3)
build_libraries=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libcli11-dev libfmt-dev
  nlohmann-json3-dev libzip-dev libboost-context-dev)
ranks=(libopenmpi-dev mpirun:openmpi-bin) # of fanin::mpi, in test.sh
check_tools=(clang++:clang ld.lld:lld libclang-rt-14-dev libomp-dev valgrind:valgrind pkg-config:pkg-config)
browser=(chromium-headless-shell:chromium-headless-shell) # in which the report's page is tested

say() { printf '%s\n' "$*"; }
die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# --- Debian packages -----------------------------------------------------------------------------------

is_installed() { [[ $(dpkg-query -W -f='${Status}' "$1" 2>/dev/null) == "install ok installed" ]]; }

# ensure_packages ITEM...   an ITEM is a Debian package, or COMMAND:PACKAGE.
# Installs what is missing where this user may, otherwise prints the one line to run. Quiet when all is there.
ensure_packages() {
  local item missing=()
  for item in "$@"; do
    if [[ $item == *:* ]]; then
      command -v "${item%%:*}" >/dev/null || missing+=("${item##*:}")
    elif command -v dpkg-query >/dev/null; then
      is_installed "$item" || missing+=("$item")
    fi
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local sudo=()
  if [[ $EUID -ne 0 ]]; then
    sudo=(sudo)
    if ! command -v apt-get >/dev/null || ! sudo -n true 2>/dev/null; then
      die "Packages are missing. Run this, then this script again:
  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
    fi
  fi
  command -v apt-get >/dev/null ||
    die "There is no apt-get here. Install what these Debian packages hold: ${missing[*]}"

  say "Installing Debian packages: ${missing[*]}"
  run_logged "apt-get update" "$logs/apt.log" "${sudo[@]}" apt-get update || exit 1
  run_logged "apt-get install" "$logs/apt.log" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" || exit 1
}

# --- Python --------------------------------------------------------------------------------------------

# ensure_venv REQUIREMENTS...   the virtual environment in the build tree; reinstalled when a list changes.
ensure_venv() {
  if [[ ! -x $venv/bin/python ]] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python3 -c 'import ensurepip, venv' 2>/dev/null || ensure_packages python3-venv
    rm -rf "$venv"
    run_logged "Python environment" "$logs/venv.log" python3 -m venv "$venv" || exit 1
  fi
  local list stamp
  for list in "$@"; do
    stamp=$venv/$(basename "$list").installed
    cmp -s "$list" "$stamp" && continue
    run_logged "Python packages of $(basename "$list")" "$logs/venv.log" \
      "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list" || exit 1
    cp "$list" "$stamp"
  done
}

# --- What is here --------------------------------------------------------------------------------------

# Whether grep finds a line. It reads all of them: with -q it may end before what writes, which under pipefail has failed.
has_line() { grep "$@" >/dev/null; }

has_gpu() { nvidia-smi -L 2>/dev/null | has_line '^GPU'; }

# Also finds a toolkit in its usual place that is not on PATH.
has_nvcc() {
  command -v nvcc >/dev/null && return 0
  if [[ -x /usr/local/cuda/bin/nvcc ]]; then
    PATH=/usr/local/cuda/bin:$PATH
    return 0
  fi
  return 1
}

require_nvcc() {
  has_nvcc && return
  say "$(basename "$0") needs the CUDA toolkit, and no nvcc is on PATH or in /usr/local/cuda."
  exit 2
}

# --- Compiling with a tree's headers, without building it ----------------------------------------------

# unpack_commit COMMIT FOLDER   the files of a commit, in a new folder.
unpack_commit() {
  git -C "$root" rev-parse --verify --quiet "$1^{commit}" >/dev/null || { say "There is no commit $1 here." && exit 2; }
  mkdir -p "$2"
  git -C "$root" archive "$1" | tar -x -C "$2"
}

# configure_headers TREE BUILD   makes in BUILD what the headers of TREE need; `includes` are then the flags for them.
configure_headers() {
  cmake -S "$1" -B "$2" -DFANIN_ENABLE_CUDA=ON -DFANIN_ENABLE_KOKKOS=OFF -DFANIN_ENABLE_TESTS=OFF \
    -DFANIN_ENABLE_PERF=OFF -DFANIN_ENABLE_EXAMPLES=OFF || return 1
  includes=("-I$1/core/include" "-I$1/device/include" "-I$1/backends/include" "-I$1/backends/serial/include"
    "-I$1/backends/cuda/include" "-I$2/generated/include")
}

# --- Building ------------------------------------------------------------------------------------------

# Where ccache is, builds configured from here on use it, unless the environment names a launcher (or an empty one).
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  export CMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CUDA_COMPILER_LAUNCHER-ccache}
fi

# Compilations at once: one a core, and 2 GiB of memory for each; where two builds run, of half the memory.
lanes=1
parallel_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk -v lanes="$lanes" '/^MemAvailable:/ { print int($2 / 2097152 / lanes) }' /proc/meminfo 2>/dev/null || echo "$cores")
  if ((memory < 1)); then memory=1; fi
  echo $((cores < memory ? cores : memory))
}

# --- Long work -----------------------------------------------------------------------------------------

# run_logged TITLE LOG COMMAND...   Output goes to LOG (appended). While it runs: on a terminal, one line
# with the time and ninja's last "[n/m]"; elsewhere such a line every 20 seconds. On failure, the log's end.
run_logged() {
  local title=$1 log=$2 pid status start=$SECONDS last=0 now
  shift 2
  printf '\n$ %s\n' "$*" >>"$log"
  local from
  from=$(($(wc -c <"$log") + 1))
  "$@" >>"$log" 2>&1 &
  pid=$!
  # shellcheck disable=SC2064  # the process of now
  trap "kill $pid 2>/dev/null; exit 130" INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    now=$((SECONDS - start))
    if [[ -t 1 ]]; then
      ((now == last)) || printf '\r\033[K%s' "$(progress_line "$title" "$now" "$log" "$from")"
      last=$now
    elif ((now - last >= 20)); then
      progress_line "$title" "$now" "$log" "$from"
      last=$now
    fi
  done
  status=0
  wait "$pid" || status=$?
  trap - INT TERM
  [[ ! -t 1 ]] || printf '\r\033[K'
  if [[ $status -ne 0 ]]; then
    say "$title failed (exit status $status). The end of $log:"
    tail -c "+$from" "$log" | tail -n 60 | sed 's/^/  | /'
  fi
  return "$status"
}

# "build host: 12 of 48 (31 s)", from ninja's "[12/48]" or ctest's "12/48 Test"
progress_line() {
  local count
  count=$(tail -c "+$4" "$3" | tail -c 4000 | grep -oE '^(\[[0-9]+/[0-9]+\]| *[0-9]+/[0-9]+ Test)' |
    tail -n 1 | grep -oE '[0-9]+/[0-9]+' || true)
  printf '%s: %s(%d s)\n' "$1" "${count:+${count/\// of } }" "$2"
}

# configure PRESET [CMAKE ARGUMENT...]
configure() {
  local preset=$1
  shift
  local arguments=("$@")
  [[ ! -x $venv/bin/python ]] || arguments+=("-DPython3_EXECUTABLE=$venv/bin/python")
  (cd "$root" && run_logged "configure $preset" "$logs/$preset.log" cmake --preset "$preset" "${arguments[@]}")
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  local arguments=()
  [[ $# -eq 0 ]] || arguments=(--target "$@")
  (cd "$root" && run_logged "build $preset" "$logs/$preset.log" \
    cmake --build --preset "$preset" --parallel "$(parallel_jobs)" "${arguments[@]}")
}

# --- Checks that scripts list ---------------------------------------------------------------------------

failed=0
summary=()

# check NAME LOG COMMAND...   one line of the summary; the command's output is in the log.
check() {
  local name=$1 log=$2 note=ok start=$SECONDS
  shift 2
  check_note=
  : >"$log"
  if ! "$@"; then
    note=FAILED
    failed=$((failed + 1))
  fi
  summary+=("$(printf '%-34s %-7s %5d s  %s' "$name" "$note" $((SECONDS - start)) "$check_note")")
  say "${summary[-1]}"
}

# What ctest or GoogleTest counted, of the end of a log.
count_in() { grep -aE '^\[  (PASSED|SKIPPED|FAILED) +\] [0-9]+ test|tests? passed|tests failed out of|^[0-9]+ passed$|^[0-9]+ of [0-9]+ FAILED$' "$1" | tr '\n' ' '; }

run_program() {
  local log=$1 status=0
  shift
  [[ -x $1 ]] || {
    check_note="$1 is not there"
    return 1
  }
  run_logged "$(basename "$1")" "$log" "$@" || status=$?
  check_note=$(count_in "$log")
  return "$status"
}

# summarise NAME   prints the summary; fails where a check has.
summarise() {
  say "== summary, $1"
  printf '%s\n' "${summary[@]}"
  if ((failed > 0)); then
    say "$failed of ${#summary[@]} FAILED"
    return 1
  fi
  say "${#summary[@]} passed"
}
