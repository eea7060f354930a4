#!/usr/bin/env bash
# A payroll that is killed in the middle pays everybody once. Twice: killed just before money goes, and just after, when nobody but the bank
# knows that it went. The model is `agentx-mock`, so no key is needed.
#
#   cargo build -p agentx-cli -p agentx-mock && examples/payroll/run.sh
set -euo pipefail
. "$(dirname "$0")/../helper.sh"

"$mock" "$here/answers.jsonl" >"$place/address" 2>"$place/requests" &
until_true test -s "$place/address"
export ANTHROPIC_API_KEY=any ANTHROPIC_BASE_URL
ANTHROPIC_BASE_URL=$(cat "$place/address")

for moment in before-bob after-bob; do
  work=$place/$moment
  mkdir -p "$work"
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
  expect "Everybody is paid." "$answer"
  echo "went on; the book has: $(paste -sd ',' book)"
done
echo "everybody was paid once, twice"
