#!/usr/bin/env bash
# The server's HTTP under a property-based tester: everything that its OpenAPI description allows is sent, and much that it
# forbids; no answer may be an error of the server, or one that the description does not have.
#
#   tests/schemathesis.sh [examples an operation, by default 40] [phases, by default examples,coverage,fuzzing]
#   tests/schemathesis.sh install    installs the tester and asks nothing
#
# The phase `coverage` sends 22,000 requests for the boundary values of every field, so the test command leaves it out.
#
# Builds target/debug/agentx where it is missing (AGENTX names another one), and installs schemathesis into a virtual environment
# below target. Where that cannot be done it says so and ends well.
#
# Two checks are left out, because readers of JSON here are laxer and stricter than a schema can say: 1.0 is not a whole number to
# them, a list of values in order may stand for an object inside of another, and a cursor or a model is right or wrong by what
# the server has.
set -uo pipefail
cd "$(dirname "$0")/.."

EXAMPLES=${1:-40}
PHASES=${2:-examples,coverage,fuzzing}
VENV=$PWD/target/schemathesis/venv
WORK=$(mktemp -d)
SERVER=
trap '[ -n "$SERVER" ] && kill "$SERVER" 2>/dev/null; rm -rf "$WORK"' EXIT

skip() {
  echo "skipped: $1"
  exit 0
}

if [ ! -x "$VENV/bin/schemathesis" ]; then
  command -v python3 >/dev/null || skip "there is no python3"
  python3 -m venv --clear "$VENV" || skip "python3 makes no virtual environment"
  timeout 100 "$VENV/bin/pip" install --quiet --disable-pip-version-check --retries 1 'schemathesis==4.32.5' 'cryptography>=42' ||
    skip "schemathesis cannot be installed: pip reaches no index, or not in time"
fi
[ "${1:-}" != install ] || exit 0

if [ -z "${AGENTX:-}" ]; then
  AGENTX=$PWD/target/debug/agentx
  [ -x "$AGENTX" ] || cargo build --locked --package agentx-cli || exit 1
fi

# Starts a server with its data in $1 and more flags; leaves its address in URL.
serve() {
  local data=$1
  shift
  mkdir -p "$data"
  env -i PATH="$PATH" HOME="$data" "$AGENTX" serve --json --listen 127.0.0.1:0 --data "$data" --cwd "$data" \
    --max-rate 100000 "$@" >"$data.out" 2>"$data.err" &
  SERVER=$!
  for _ in $(seq 100); do
    URL=$(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' "$data.out")
    [ -n "$URL" ] && return
    kill -0 "$SERVER" 2>/dev/null || break
    sleep 0.1
  done
  cat "$data.err"
  echo "the server does not start"
  exit 1
}

stop() {
  kill "$SERVER" && wait "$SERVER"
  SERVER=
}

# Signs in as the operator, makes a session with a picture, and prints a token; what is there goes into the configuration $3.
begin() {
  "$VENV/bin/python" - "$@" <<'PY'
import base64, json, sys, time, urllib.request
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

url, identity, configuration = sys.argv[1:4]
headers = {"content-type": "application/json"}

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    return json.load(urllib.request.urlopen(urllib.request.Request(url + path, data, headers)))

def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(open(identity).read().split("\n")[1]))
public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
asked = ask("/v1/auth/challenge", {})
signed = f"agentx.v1 challenge\n{asked['origin']}\n{asked['nonce']}\n{asked['expires_at_ms']}\n"
token = ask("/v1/auth/token", {
    "public_key": "ed25519:" + text(public),
    "nonce": asked["nonce"],
    "expires_at_ms": asked["expires_at_ms"],
    "signature": text(key.sign(signed.encode())),
})["token"]
headers["authorization"] = "Bearer " + token
session = ask("/v1/sessions", {"config": ask("/v1/agent")})["session_id"]
picture = {"type": "image", "media_type": "image/png", "source": {"base64": base64.b64encode(b"picture").decode()}}
ask(f"/v1/sessions/{session}/messages", {"content": [picture]})
blob = None
for _ in range(100):
    messages = ask(f"/v1/sessions/{session}/messages")["items"]
    if messages:
        blob = messages[0]["message"]["content"][0]["source"]["blob"]
        break
    time.sleep(0.05)
with open(configuration, "w") as out:
    out.write(f'[parameters]\n"path.id" = "{session}"\n\n')
    out.write(f'[[operations]]\ninclude-path = "/v1/blobs/{{id}}"\n')
    out.write(f'parameters = {{ "path.id" = "{blob}", "query.session" = "{session}" }}\n')
print(token)
PY
}

# Asks everything of the server at URL; the configuration is $1, and $2 are more checks that are left out.
tester() {
  local configuration=$1 without=positive_data_acceptance,negative_data_rejection${2:+,$2}
  shift 2
  # It leaves notes of its own where it is called.
  (cd "$WORK" && "$VENV/bin/schemathesis" --config-file "$configuration" run "$URL/v1/openapi.json" --no-color \
    --max-examples "$EXAMPLES" --request-timeout 20 --exclude-checks "$without" "$@")
}

failed=0
serve "$WORK/own"
TOKEN=$(begin "$URL" "$WORK/own/identity" "$WORK/own.toml") || exit 1
echo "== what there is, by its operator"
tester "$WORK/own.toml" "" --phases "$PHASES" --exclude-operation-id sessions_delete \
  -H "Authorization: Bearer $TOKEN" || failed=1
echo "== one thing after the other"
: >"$WORK/none.toml"
tester "$WORK/none.toml" "" --phases stateful -H "Authorization: Bearer $TOKEN" || failed=1
stop

serve "$WORK/visited" --allow-visitors
echo "== by a visitor"
# Who has no token is a visitor here, and not somebody who is missing one.
tester "$WORK/none.toml" ignored_auth,missing_required_header --phases "$PHASES" || failed=1
stop
exit "$failed"
