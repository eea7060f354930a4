#!/usr/bin/env bash
# Checks the facade with each combination of features that somebody may want, where warnings fail, and then with each single feature
# that is no such combination (12 of 17), which only has to compile. Each is checked without tests, as programs of others compile it.
# All use one target folder, so that what several of them need is compiled once.
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

[ $# -eq 0 ] || exit 0

# The features of the facade, but for the two that are lists of others.
single_features() {
  sed -n '/^\[features\]/,/^\[dependencies\]/s/^\([a-z0-9-]*\) = \[.*/\1/p' crates/agentx/Cargo.toml | grep -vx -e default -e full
}
singles=$(single_features)
for feature in $singles; do
  case " ${ALL[*]} " in *" $feature "*) continue ;; esac
  printf '%s\n' "-- $feature alone"
  cargo check --quiet --locked -p agentx --no-default-features --features "$feature"
done

# The chat as a library, with what it turns on itself.
cargo check --quiet --locked -p agentx-chat
