#!/usr/bin/env bash
# A tool in a script asks a weather service over HTTP and a model for a sentence. The service is service.py, at a port that is free.
#
#   cargo build -p agentx-cli && examples/weather/run.sh
set -euo pipefail
. "$(dirname "$0")/../helper.sh"

python3 "$here/service.py" 0 >"$place/address" &
until_true test -s "$place/address"
copy_example
sed -i.before "s/127.0.0.1:8091/$(cat "$place/address")/" .agentx/tools/get_weather.yaml
"$agentx" config trust >"$place/trusted" 2>&1

answer=$("$agentx" run --agent assistant --yes --quiet "What is the weather in 北京?")
expect "In 北京 it is 21 degrees and clear." "$answer"
echo "$answer"
result=$("$agentx" tools run get_weather '{"city":"北京"}')
expect '{"city":"北京","summary":"It is 21 degrees and clear.","temperature":21}' "$result"
echo "$result"
echo "the service was asked"
