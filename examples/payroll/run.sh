#!/usr/bin/env bash
# A payroll that is killed in the middle pays everybody once. Twice: killed just before money goes, and just after, when nobody but the bank
# knows that it went. The model is `agentx-mock`, so no key is needed.
#
#   cargo build -p agentx-cli -p agentx-mock && examples/payroll/run.sh
#
# AGENTX and AGENTX_MOCK name the two programs, where they are not in target/debug.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
agentx=${AGENTX:-$here/../../target/debug/agentx}
mock=${AGENTX_MOCK:-$here/../../target/debug/agentx-mock}
place=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$place"' EXIT

# Waits until `$@` is true, for a minute at most.
until_true() {
  local end=$((SECONDS + 60))
  until "$@"; do
    if [ $SECONDS -ge $end ]; then echo "never true: $*" >&2; exit 1; fi
    sleep 0.05
  done
}

"$mock" "$here/answers.jsonl" >"$place/address" 2>"$place/requests" &
until_true test -s "$place/address"
# Nothing of the person who runs this is read.
export HOME=$place/home ANTHROPIC_API_KEY=any ANTHROPIC_BASE_URL
ANTHROPIC_BASE_URL=$(cat "$place/address")
unset AGENTX_DATA AGENTX_CONFIG AGENTX_MODEL

for moment in before-bob after-bob; do
  work=$place/$moment
  mkdir -p "$work" "$HOME"
  cp "$here/bank" "$work"
  touch "$work/hang-$moment"
  cd "$work"

  "$agentx" run --yes --quiet --model opus "Pay everybody: ada 100, bob 200, cyd 300." >first 2>&1 &
  payroll=$!
  until_true test -e hangs
  kill -9 "$payroll"
  wait "$payroll" 2>/dev/null || true
  echo "killed $moment; the book has: $(paste -sd ',' book)"

  answer=$("$agentx" run --yes --quiet --last 2>notes)
  printf 'ada 100\nbob 200\ncyd 300\n' | diff - book || { echo "somebody was not paid once" >&2; exit 1; }
  [ "$answer" = "Everybody is paid." ] || { echo "it says: $answer" >&2; exit 1; }
  echo "went on; the book has: $(paste -sd ',' book)"
done
echo "everybody was paid once, twice"
