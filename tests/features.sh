#!/usr/bin/env bash
# Checks the facade with each combination of features that somebody may want, and no other; warnings fail. Each is checked without
# tests, as programs of others compile it.
#
#   tests/features.sh                 all of them
#   tests/features.sh http sqlite,tools    only these
set -euo pipefail
cd "$(dirname "$0")/.."

ALL=(
  none
  http
  http,sqlite,tools
  http,remote
  http,typed-answers
  config
  luau
  mcp
  server
  full,http2,testing
)

for features in "${@:-${ALL[@]}}"; do
  printf '%s\n' "-- $features"
  # Of the crates below it, those whose code depends on features.
  case $features in
    none) turned_on=() ;;
    *) turned_on=(--features "agentx/${features//,/,agentx/}") ;;
  esac
  cargo clippy --quiet --locked -p agentx -p agentx-node-runtime -p agentx-tools --no-default-features \
    ${turned_on[@]+"${turned_on[@]}"} -- -D warnings
done

# The chat as a library, with what it turns on itself.
[ $# -gt 0 ] || cargo check --quiet --locked -p agentx-chat
