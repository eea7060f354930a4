#!/usr/bin/env bash
# Coverage-guided fuzzing with libFuzzer, on a stable toolchain: the passes of LLVM that count what was reached need no nightly one.
#
#   tests/fuzz/run.sh 60             each target for 60 s, as many at once as there are processors
#   tests/fuzz/run.sh 60 sse shell   only these
#   tests/fuzz/run.sh build          builds them and runs none
#   tests/fuzz/run.sh keep           takes what reached new code into the kept corpus, and makes that as small as it can be
#
# What a target found anew lies in target/fuzz/corpus/TARGET, what made it fail in target/fuzz/found/TARGET-*.
set -euo pipefail
cd "$(dirname "$0")/../.."

MOST=250
ALL=(sse frames records files shell luau_values)
HOST=$(rustc -vV | sed -n 's/^host: //p')
export OUT=$PWD/target/fuzz
export BIN=$OUT/$HOST/debug KEPT=$PWD/tests/fuzz/corpus
export CARGO_INCREMENTAL=0

seconds=${1:?how many seconds, build, or keep}
shift
targets=("${@:-${ALL[@]}}")

# The versions of the workspace; only what libFuzzer needs is added to them.
cp Cargo.lock tests/fuzz/Cargo.lock
# The flags of cargo-fuzz (https://github.com/rust-fuzz/cargo-fuzz) with `--sanitizer none`. With `--target` they are not for build
# scripts and macros.
RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares" \
  cargo build --quiet --manifest-path tests/fuzz/Cargo.toml --target "$HOST" --target-dir "$OUT" --bins

[ "$seconds" != build ] || exit 0

if [ "$seconds" = keep ]; then
  for target in "${targets[@]}"; do
    mkdir -p "$OUT/corpus/$target" "$KEPT/$target"
    smaller=$(mktemp -d)
    # What was found by hand or failed once has a name of its own and stays.
    find "$KEPT/$target" -type f ! -regex '.*/[0-9a-f]+' -exec cp {} "$smaller" \;
    # Each branch once, however often it is taken: a corpus that counts is ten times as large.
    "$BIN/$target" -set_cover_merge=1 -use_counters=0 -max_len=2048 "$smaller" "$KEPT/$target" "$OUT/corpus/$target" >"$OUT/$target.log" 2>&1
    # The longest reach most.
    find "$smaller" -type f -regex '.*/[0-9a-f]+' -printf '%s %p\n' | sort -rn | tail -n +$((MOST + 1)) | cut -d' ' -f2 | xargs -r rm
    rm -r "${KEPT:?}/$target"
    mv "$smaller" "$KEPT/$target"
    chmod 755 "$KEPT/$target"
    printf '%s: %s files, %s\n' "$target" "$(find "$KEPT/$target" -type f | wc -l)" "$(du -sh --apparent-size "$KEPT/$target" | cut -f1)"
  done
  exit
fi

export seconds
# Runs one target. Says in a line what it did, and all that it said where it failed.
one() {
  local target=$1 longest=2048
  [ "$target" = shell ] && longest=40
  mkdir -p "$OUT/corpus/$target" "$OUT/found"
  if "$BIN/$target" -max_total_time="$seconds" -max_len=$longest -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$OUT/found/$target-" "$OUT/corpus/$target" "$KEPT/$target" >"$OUT/$target.log" 2>&1; then
    printf '%s: %s\n' "$target" "$(grep -aE '^#[0-9]+.*DONE' "$OUT/$target.log" | tail -n 1)"
  else
    printf '%s failed:\n' "$target"
    tail -n 40 "$OUT/$target.log"
    return 1
  fi
}
export -f one
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'one {}'
