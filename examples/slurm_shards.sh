#!/bin/bash
# One evaluation as a job array of Slurm: each task measures a shard, and a last job merges them.
#
#   bash slurm_shards.sh faithful pairs.jsonl --schema tables.json
#
# SHARDS (default 7) tasks work in the folder OUT (default sensecheck-run), which all nodes have to see; the figures are
# in OUT/run. The same command again goes on with what was stopped: measured records are not measured again.
#SBATCH --job-name=sensecheck
#SBATCH --cpus-per-task=1
#SBATCH --output=sensecheck-%A-%a.log
set -euo pipefail
export OUT="${OUT:-sensecheck-run}"

if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    mkdir -p "$OUT"
    array=$(sbatch --parsable --array="1-${SHARDS:-7}" "$0" "$@")
    sbatch --dependency="afterok:${array%%;*}" --wrap 'sensecheck merge "$OUT"/shard-* --out "$OUT/run" --resume'
    exit
fi
srun sensecheck "$@" --shard slurm --out "$OUT/shard-$SLURM_ARRAY_TASK_ID" --resume
