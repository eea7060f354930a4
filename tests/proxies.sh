#!/usr/bin/env bash
# A server behind a real nginx with the configuration of docs/PROXY.md: WebSockets, event streams, bodies, names, and the addresses
# that the server counts clients by.
#
#   tests/proxies.sh
#
# Builds target/debug/agentx where it is missing (AGENTX names another one). Where nginx (Debian: nginx-light), openssl or curl is
# not installed it says so and ends well. Everything happens on loopback addresses and in a directory of its own.
set -uo pipefail
cd "$(dirname "$0")/.."

WORK=$(mktemp -d)
STARTED=()
finish() {
  for pid in ${STARTED[@]+"${STARTED[@]}"}; do kill "$pid" 2>/dev/null; done
  wait
  rm -rf "$WORK"
}
trap finish EXIT

for tool in nginx openssl curl python3; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 0; }
done
if [ -z "${AGENTX:-}" ]; then
  AGENTX=$PWD/target/debug/agentx
  [ -x "$AGENTX" ] || cargo build --locked --package agentx-cli || exit 1
fi

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
agentx() { env -i PATH="$PATH" HOME="$WORK" "$AGENTX" "$@"; }

PORT=$(free_port)
BEHIND=$(free_port)
NAME=localhost:$PORT
DATA=$WORK/data
mkdir -p "$DATA"
chmod 700 "$DATA"

# A session that visitors may watch.
agentx run --data "$DATA" --cwd "$WORK" --model demo "hello" >"$WORK/run.out" 2>&1 || { cat "$WORK/run.out"; exit 1; }
SESSION=$(agentx sessions list --data "$DATA" --cwd "$WORK" --json | grep -o 'ses_[a-z0-9]*' | head -n 1)
[ -n "$SESSION" ] || { echo "the session is not listed"; exit 1; }
agentx sessions share --data "$DATA" --cwd "$WORK" "$SESSION" anyone --as watch >/dev/null || exit 1

env -i PATH="$PATH" HOME="$WORK" "$AGENTX" serve --data "$DATA" --cwd "$WORK" --listen "127.0.0.1:$BEHIND" --origin "https://$NAME" --allow-visitors \
  --trusted-proxy 127.0.0.1 --max-connections-per-address 2 >"$WORK/serve.out" 2>&1 &
STARTED+=($!)

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout "$WORK/key.pem" -out "$WORK/cert.pem" 2>/dev/null || exit 1

# The page's configuration, with the ports and the certificate of this trial.
{
  # Its workers write bodies into the directory of this trial.
  [ "$(id -u)" != 0 ] || echo "user root;"
  echo "daemon off; pid $WORK/nginx.pid; error_log $WORK/nginx.log; events {}"
  echo "http { access_log off; client_body_temp_path $WORK/body; proxy_temp_path $WORK/proxy; fastcgi_temp_path $WORK/f;"
  echo "uwsgi_temp_path $WORK/u; scgi_temp_path $WORK/s;"
  sed -n '/^```nginx$/,/^```$/p' docs/PROXY.md | grep -v '^```' |
    sed -e "s|listen 443 ssl|listen 127.0.0.1:$PORT ssl|" -e "s|agents.example;|localhost;|" \
      -e "s|/etc/ssl/agents.example/fullchain.pem|$WORK/cert.pem|" -e "s|/etc/ssl/agents.example/privkey.pem|$WORK/key.pem|" \
      -e "s|127.0.0.1:5200|127.0.0.1:$BEHIND|"
  echo "}"
} >"$WORK/nginx.conf"
nginx -c "$WORK/nginx.conf" >"$WORK/nginx.out" 2>&1 &
STARTED+=($!)

ask() { curl --silent --cacert "$WORK/cert.pem" --noproxy '*' --connect-to "$NAME:127.0.0.1:$PORT" "$@"; }
status() { ask --max-time 20 -o /dev/null -w '%{http_code}' "$@"; }
for _ in $(seq 100); do
  [ "$(status "https://$NAME/v1/health")" = 200 ] && break
  sleep 0.1
done

failed=0
expect() {
  local what=$1 want=$2 got=$3
  if [ "$got" = "$want" ]; then
    echo "ok: $what"
  else
    echo "FAILED: $what: expected $want, got $got"
    failed=1
  fi
}

expect "a request passes" 200 "$(status "https://$NAME/v1/health")"
expect "another name is refused" 421 "$(status -H 'Host: elsewhere.example' "https://$NAME/v1/health")"

# The stream stays open: without buffering its events are there before curl gives up.
ask --no-buffer --max-time 3 -H 'Accept: text/event-stream' "https://$NAME/v1/sessions/$SESSION/events" >"$WORK/events"
expect "events of a stream arrive while it is open" yes "$(grep -q '^data:' "$WORK/events" && echo yes || echo no)"

head -c 5000000 /dev/zero >"$WORK/large"
head -c 20000000 /dev/zero >"$WORK/larger"
expect "a body of 5 MB reaches the server" 403 "$(status --data-binary "@$WORK/large" "https://$NAME/v1/sessions")"
expect "a body of 20 MB ends at nginx" 413 "$(status --data-binary "@$WORK/larger" "https://$NAME/v1/sessions")"

UPGRADE=(--http1.1 --no-buffer -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13'
  -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==')
# Opens a WebSocket from $1 that stays for some seconds; leaves its status in STATUS. The rest are arguments of curl.
open_socket() {
  local from=$1 head=$WORK/head
  shift
  : >"$head"
  curl --silent --noproxy '*' --interface "$from" --max-time 8 -D "$head" -o /dev/null "${UPGRADE[@]}" "$@" &
  STARTED+=($!)
  for _ in $(seq 70); do
    STATUS=$(sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p' "$head")
    [ -n "$STATUS" ] && return
    sleep 0.1
  done
}

BY_PROXY=(--cacert "$WORK/cert.pem" --connect-to "$NAME:127.0.0.1:$PORT" "https://$NAME/v1/socket")
for want in 101 101 429; do
  open_socket 127.0.0.2 -H 'X-Forwarded-For: 6.6.6.6' -H 'Forwarded: for=7.7.7.7' "${BY_PROXY[@]}"
  expect "a WebSocket of 127.0.0.2 that claims another address" "$want" "$STATUS"
done
open_socket 127.0.0.3 -H 'X-Forwarded-For: 6.6.6.6' "${BY_PROXY[@]}"
expect "a WebSocket of 127.0.0.3" 101 "$STATUS"

# Past the proxy: nobody else's word counts.
for number in 1 2 3; do
  open_socket 127.0.0.4 -H "Host: $NAME" -H "X-Forwarded-For: 9.9.9.$number" "http://127.0.0.1:$BEHIND/v1/socket"
done
expect "the third WebSocket past the proxy, whatever it claims" 429 "$STATUS"

[ "$failed" = 0 ] || tail -n 5 "$WORK/nginx.log" "$WORK/serve.out"
exit "$failed"
