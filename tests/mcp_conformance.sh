#!/usr/bin/env bash
# The conformance suite of the Model Context Protocol (@modelcontextprotocol/conformance) against agentx as a client and as the
# server `/mcp` of `agentx serve`, in each version of the protocol that the suite has. What is known to fail is listed in
# mcp_conformance/expected.yaml with its reason; a scenario that fails and is not there, or passes and is, is a failure. So is a
# result that differs from the table of docs/MCP.md: at the end it prints the rows of that table.
#
#   tests/mcp_conformance.sh [client|server, by default both] [versions, by default all that the suite has]
#   tests/mcp_conformance.sh install    installs the suite and runs nothing of it
#
# Builds target/debug/agentx where it is missing (AGENTX names another one), and installs the suite below target, with a Node
# of its own, because it needs 22. Where that cannot be done it says so and ends well. It takes a minute, most of it for the
# client.
set -uo pipefail
cd "$(dirname "$0")/.."

ROLES=${1:-client server}
VERSIONS=${2:-2025-03-26 2025-06-18 2025-11-25 2026-07-28}
SUITE=$PWD/target/mcp-conformance
NODE=$SUITE/node_modules/.bin/node
OWN=$PWD/tests/mcp_conformance
WORK=$(mktemp -d)
PORT=${PORT:-15200}
pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done; wait; rm -rf "$WORK"' EXIT

skip() {
  echo "skipped: $1"
  exit 0
}

command -v script >/dev/null || skip "there is no script(1), which makes terminals"
if [ ! -x "$NODE" ]; then
  command -v npm >/dev/null || skip "there is no npm"
  mkdir -p "$SUITE"
  timeout 200 npm install --silent --no-audit --no-fund --prefix "$SUITE" node@22.23.3 \
    @modelcontextprotocol/conformance@0.2.0-alpha.12 || skip "npm reaches no registry, or not in time"
  [ -x "$NODE" ] || skip "npm installs no Node"
fi
[ "${1:-}" != install ] || exit 0

AGENTX=${AGENTX:-${AGENTX_TEST_PROGRAM:-}}
if [ -z "$AGENTX" ]; then
  AGENTX=$PWD/target/debug/agentx
  [ -x "$AGENTX" ] || cargo build --locked --package agentx-cli || exit 1
fi
export AGENTX

# Waits until the file $1 has a line that matches $2.
await() {
  for _ in $(seq 100); do
    grep -q "$2" "$1" 2>/dev/null && return
    sleep 0.1
  done
  echo "no line with $2 came:"
  cat "$1" "$WORK"/*.err
  exit 1
}

# Starts the server with the tools that the suite wants and a file can have, and the proxy that adds a token.
serve() {
  local home=$WORK/home
  mkdir -p "$home/.config/agentx" "$home/data" "$home/work"
  cp -r "$OWN/tools" "$home/.config/agentx/"
  # The person at the client is asked about these.
  {
    echo 'approval: auto'
    echo 'rules:'
    local tool
    for tool in test_elicitation test_streaming_elicitation test_step \
      test_input_required_result_{elicitation,request_state,tampered_state,multi_round}; do
      echo "  - { effect: ask, tool: $tool }"
    done
  } >"$home/.config/agentx/config.yaml"
  env -i PATH="$PATH" HOME="$home" "$AGENTX" serve --json --listen 127.0.0.1:0 --data "$home/data" --cwd "$home/work" \
    --origin "http://localhost:$PORT" --max-rate 100000 >"$WORK/server.out" 2>"$WORK/server.err" &
  pids+=($!)
  await "$WORK/server.out" '"url"'
  local url
  url=$(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' "$WORK/server.out")
  "$NODE" "$OWN/proxy.mjs" "$url" "$home/data/identity" "$PORT" >"$WORK/proxy.out" 2>"$WORK/proxy.err" &
  pids+=($!)
  await "$WORK/proxy.out" ready
}

# The results by "role version": scenarios without a failed check, and failed checks.
declare -A results

# Reads the result of the role $1 and the version $2 from the log of the suite, and compares it with the page.
compare() {
  local role=$1 version=$2 log=$WORK/$1-$2.log column=4 passed all checks told
  [ "$role" = client ] && column=3
  passed=$(grep -cE '^✓ .*: [0-9]+ passed, [0-9]+ failed' "$log")
  all=$(grep -cE '^(✓|✗) .*: [0-9]+ passed, [0-9]+ failed' "$log")
  checks=$(sed -n 's/^Total: [0-9]* passed, \([0-9]*\) failed.*/\1/p' "$log" | tail -n 1)
  results[$role $version]="$passed of $all, ${checks:-?}"
  told=$(awk -F' *[|] *' -v version="$version" -v column=$column '$2 == version { print $column }' docs/MCP.md)
  [ "$told" = "${results[$role $version]}" ] && return
  echo "docs/MCP.md says \"$told\" for the $role in version $version, and the suite \"${results[$role $version]}\""
  failed=1
}

# Runs the suite in the role $1 and the version $2 with more flags, and prints its summary.
suite() {
  local role=$1 version=$2
  shift 2
  echo "== $role, $version"
  (cd "$WORK" && "$NODE" "$SUITE/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$role" --suite all \
    --spec-version "$version" --expected-failures "$OWN/expected.yaml" "$@") >"$WORK/$role-$version.log" 2>&1
  local ended=$?
  sed -n '/SUMMARY ===/,$p' "$WORK/$role-$version.log"
  [ "$ended" = 0 ] || failed=1
  compare "$role" "$version"
}

failed=0
for role in $ROLES; do
  if [ "$role" = server ]; then serve; fi
  for version in $VERSIONS; do
    # The suite has no scenario of a server for this version alone.
    [ "$role $version" = "server 2025-03-26" ] && continue
    if [ "$role" = server ]; then
      suite server "$version" --url "http://localhost:$PORT/mcp"
    else
      suite client "$version" --command "$NODE $OWN/client.mjs" --timeout 90000
    fi
  done
done
echo "== rows for docs/MCP.md"
for version in $VERSIONS; do
  echo "| $version | ${results[client $version]:-not run} | ${results[server $version]:-no scenarios} |"
done
exit "$failed"
