#!/usr/bin/env bash
# A story has a writer, a director and an agent for each character. A program that is killed in the middle of it tells the same story as one
# that is not.
#
#   cargo build -p agentx-cli && examples/story/run.sh
set -euo pipefail
. "$(dirname "$0")/../helper.sh"
copy_example

# What the script has told in the latest session.
told() { "$agentx" sessions show --last --json | grep '"medium":"story"' | sed 's/.*"text":"\([^"]*\)".*/\1/' | tr -d '\n'; }
# Whether the program that writes `$place/events` is in the middle of the story.
is_in_the_middle() { [ "$(grep -c '"medium":"story"' "$place/events")" -ge 10 ]; }

"$agentx" run --agent story --yes --quiet "A story" >"$place/answer" 2>"$place/notes"
expect "That was “The Lamp”, in three chapters." "$(cat "$place/answer")"
told >"$place/whole"
grep -q "He is ashore" "$place/whole"

: >"$place/events"
"$agentx" run --agent story --yes --output-format stream-json "A story" >"$place/events" 2>"$place/notes" &
teller=$!
until_true is_in_the_middle
kill -9 "$teller"
wait "$teller" 2>/dev/null || true
echo "killed in the middle"

"$agentx" run --last --yes --quiet "thank you" >"$place/answer" 2>"$place/notes"
told | diff "$place/whole" - || { echo "it is another story" >&2; exit 1; }
echo "the story is the same"
