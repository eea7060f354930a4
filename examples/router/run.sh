#!/usr/bin/env bash
# A router sends each input to the agents that it is for: one, two, or the one for everything else.
#
#   cargo build -p agentx-cli && examples/router/run.sh
set -euo pipefail
. "$(dirname "$0")/../helper.sh"
copy_example

# The names of the agents that speak.
speakers() { "$agentx" run --agent router --yes --streams "$1" 2>"$place/notes" | sed 's/ │ .*//' | sort -u | paste -sd ' ' -; }

for row in \
  "play Clair de lune by Debussy|music" \
  "I would like Clair de lune by Debussy, and then a story about dragons|music teller" \
  "How are you?|chat"; do
  found=$(speakers "${row%|*}")
  expect "${row#*|}" "$found"
  echo "${row%|*} → $found"
done
echo "each input went to its agents"
