#!/usr/bin/env bash
# Looks up the published advisories (https://rustsec.org) about the dependencies in Cargo.lock, with cargo-deny, else with cargo-audit.
#
#   tests/advisories.sh
#
# It fails if there is one. If neither program is installed, or their database cannot be reached, it says so and ends well; with
# AGENTX_ADVISORIES=required it fails.
set -uo pipefail
cd "$(dirname "$0")/.."

DATABASE=https://github.com/RustSec/advisory-db

not_looked_up() {
  echo "advisories were not looked up: $1" >&2
  [ "${AGENTX_ADVISORIES:-}" = required ] && exit 1
  exit 0
}

if cargo deny --version >/dev/null 2>&1; then
  look_up=(cargo deny check advisories)
elif cargo audit --version >/dev/null 2>&1; then
  look_up=(cargo audit)
else
  not_looked_up "neither cargo-deny nor cargo-audit is installed; \`cargo install --locked cargo-deny\` installs one"
fi
GIT_TERMINAL_PROMPT=0 timeout 60 git ls-remote --exit-code "$DATABASE" HEAD >/dev/null 2>&1 ||
  not_looked_up "the database $DATABASE cannot be reached"
exec "${look_up[@]}"
