#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/compare.sh [--preset host|cuda] [option of fanin-perf]...

Installs what is missing, builds fanin-perf, and compares every enabled backend on the same data: first on
synthetic arrays over a range of sizes, then on two elevation grids from matplotlib's sample data. Prints a
table, and writes JSON, a page (HTML) and plots (PNG, SVG) to build/results/<preset>.

  --preset NAME   host: serial, Kokkos Serial and OpenMP, std::reduce
                  cuda: also the CUDA strategies, Kokkos CUDA, CUB, Thrust, cuBLAS
                  Default: cuda where a GPU and nvcc are, host elsewhere.
  --quick         fewer sizes and repetitions (a minute)
  --list          what fanin-perf knows, and nothing else
  --input ...     your own data (.npy, or .npz with --array NAME) instead of both runs above

Every other option goes to fanin-perf; build/<preset>/perf/fanin-perf --help explains them.
TEXT
}

preset=
arguments=()
own_data=
only_print=
while [[ $# -gt 0 ]]; do
  case $1 in
    --preset)
      preset=${2-}
      shift
      ;;
    --preset=*) preset=${1#*=} ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      case $1 in
        --input | --input=*) own_data=1 ;;
        --list) only_print=1 ;;
      esac
      arguments+=("$1")
      ;;
  esac
  shift
done

# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [[ -z $preset ]]; then
  if has_gpu && has_nvcc; then preset=cuda; else preset=host; fi
fi
case $preset in
  host) ;;
  cuda) has_nvcc || die "The preset cuda needs the CUDA toolkit, and no nvcc is on PATH or in /usr/local/cuda." ;;
  *) die "There is no preset \"$preset\" to compare; there are: host, cuda." ;;
esac

# --- Set-up --------------------------------------------------------------------------------------------
ensure_packages "${tools[@]}" "${build_libraries[@]}"
requirements=("$root/scripts/requirements.txt")
if [[ $preset == cuda ]]; then requirements+=("$root/scripts/requirements-cuda.txt"); fi
ensure_venv "${requirements[@]}"

settings=()
if [[ $preset == cuda ]]; then
  cccl=$("$venv/bin/python" -c \
    'import pathlib, sysconfig; print(*pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/*/include/cccl"))')
  settings+=("-DFANIN_CCCL_INCLUDE_DIR=$cccl")
fi
configure "$preset" "${settings[@]}"
build "$preset" fanin_perf
perf=$root/build/$preset/perf/fanin-perf

# OpenMP threads stay where they are: the times vary less.
export OMP_PROC_BIND=${OMP_PROC_BIND:-spread} OMP_PLACES=${OMP_PLACES:-threads}

if [[ -n $only_print ]]; then exec "$perf" "${arguments[@]}"; fi

# --- Run -----------------------------------------------------------------------------------------------
results=$root/build/results/$preset
mkdir -p "$results"
if [[ -n $own_data ]]; then
  "$perf" --json "$results/own.json" "${arguments[@]}"
  reports=("$results/own.json")
else
  samples=$("$venv/bin/python" -c 'import matplotlib; print(matplotlib.get_data_path() + "/sample_data")')
  say "Synthetic arrays:"
  "$perf" --json "$results/synthetic.json" "${arguments[@]}"
  say "Elevation grids (matplotlib's sample data):"
  "$perf" --json "$results/real.json" "${arguments[@]}" \
    --input "$samples/topobathy.npz" --array topo \
    --input "$samples/jacksboro_fault_dem.npz" --array elevation
  reports=("$results/synthetic.json" "$results/real.json")
fi
"$venv/bin/python" "$root/perf/report/report.py" "${reports[@]}" --out "$results"
say "JSON and plots: $results"
say "Pages to open in a browser: ${reports[*]/%.json/.html}"
