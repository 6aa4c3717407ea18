#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: perf/strategies/profile.sh PROGRAM OUT.csv
#
# Hardware counters of every strategy's first launch, by Nsight Compute: shared-memory bank conflicts of one block of 1024
# threads, and divergent branches, barrier stalls and DRAM bytes at 2^26 elements. PROGRAM is fanin-strategies.
set -euo pipefail
program=$1
out=$2
conflicts=l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
wide=smsp__sass_branch_targets_threads_divergent.sum,smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio
wide=$wide,dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum

counters() { # strategy type n block metrics
  ncu --csv --clock-control none --kernel-name 'regex:reduce_kernel|halve_source' --launch-skip 0 --launch-count 1 --metrics "$5" \
    "$program" --once "$1" --type "$2" --n "$3" ${4:+--block "$4"} 2>/dev/null |
    awk -v tag="$1,$2,$3" -F'","' '/^"[0-9]/ { gsub(/"/, "", $NF); print tag "," $(NF-2) "," $NF }' >>"$out"
}

: >"$out"
for type in i32 f64; do
  for strategy in shared_neighbored shared_neighbored_strided shared_interleaved; do
    counters "$strategy" "$type" 1024 1024 "$conflicts"
  done
done
for type in i32 f32 f64; do
  for strategy in thread_partials shared_thread0 shared_tree shared_tree_last_warp shuffle global_interleaved \
    global_neighbored global_unroll shared_interleaved shared_neighbored shared_neighbored_strided shared_shrink \
    shared_warp shared_unroll shared_shuffle_tail shared_shuffle global_halving one_pass one_pass_bulk cluster; do
    counters "$strategy" "$type" $((1 << 26)) "" "$conflicts,$wide"
  done
done
