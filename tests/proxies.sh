#!/usr/bin/env bash
# A server behind real proxies with the configurations of docs/PROXY.md: WebSockets, event streams, bodies, names, and the addresses
# that the server counts clients by. First nginx, then Caddy.
#
#   tests/proxies.sh
#
# Builds target/debug/agentx where it is missing (AGENTX names another one). Where a proxy (Debian: nginx-light, caddy), openssl, curl
# or python3 is not installed it says so and ends well; with AGENTX_PROXIES=required it fails. Everything happens on loopback
# addresses and in a directory of its own.
set -uo pipefail
cd "$(dirname "$0")/.."

WORK=$(mktemp -d)
STARTED=()
stop_all() {
  for pid in ${STARTED[@]+"${STARTED[@]}"}; do kill "$pid" 2>/dev/null; done
  wait
  STARTED=()
}
finish() {
  stop_all
  rm -rf "$WORK"
}
trap finish EXIT

# Whether a program is there; says what is skipped where it is not.
has() {
  command -v "$1" >/dev/null && return 0
  echo "skipped: $1 is not installed"
  [ "${AGENTX_PROXIES:-}" = required ] && exit 1
  return 1
}
for tool in openssl curl python3; do
  has "$tool" || exit 0
done
if [ -z "${AGENTX:-}" ]; then
  AGENTX=$PWD/target/debug/agentx
  [ -x "$AGENTX" ] || cargo build --locked --package agentx-cli || exit 1
fi

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
agentx() { env -i PATH="$PATH" HOME="$WORK" "$AGENTX" "$@"; }
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout "$WORK/key.pem" -out "$WORK/cert.pem" 2>"$WORK/openssl.log" || {
  cat "$WORK/openssl.log" >&2
  echo "failed: openssl makes no certificate; without a configuration of its own, set OPENSSL_CONF to one" >&2
  exit 1
}
head -c 5000000 /dev/zero >"$WORK/large"
head -c 20000000 /dev/zero >"$WORK/larger"

# The page's configuration of a kind, as it is printed.
of_the_page() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" docs/PROXY.md | grep -v '^```'; }

failed=0
expect() {
  local what=$1 want=$2 got=$3
  if [ "$got" = "$want" ]; then
    echo "ok: $PROXY: $what"
  else
    echo "FAILED: $PROXY: $what: expected $want, got $got"
    failed=1
  fi
}

# Starts a server with a session that visitors may watch, behind the proxy that is tried.
start_server() {
  PORT=$(free_port)
  BEHIND=$(free_port)
  NAME=localhost:$PORT
  OWN=$WORK/$PROXY
  mkdir -p "$OWN/data"
  chmod 700 "$OWN/data"
  local here=(--data "$OWN/data" --cwd "$OWN")
  agentx run "${here[@]}" --model demo "hello" >"$OWN/run.out" 2>&1 || { cat "$OWN/run.out"; exit 1; }
  SESSION=$(agentx sessions list "${here[@]}" --json | grep -o 'ses_[a-z0-9]*' | head -n 1)
  [ -n "$SESSION" ] || { echo "the session is not listed"; exit 1; }
  agentx sessions share "${here[@]}" "$SESSION" anyone --as watch >/dev/null || exit 1
  env -i PATH="$PATH" HOME="$WORK" "$AGENTX" serve "${here[@]}" --listen "127.0.0.1:$BEHIND" --origin "https://$NAME" --allow-visitors \
    --trusted-proxy 127.0.0.1 --max-connections-per-address 2 >"$OWN/serve.out" 2>&1 &
  STARTED+=($!)
}

# The page's configurations, with the ports and the certificate of this trial.
start_nginx() {
  {
    # Its workers write bodies into the directory of this trial.
    [ "$(id -u)" != 0 ] || echo "user root;"
    echo "daemon off; pid $OWN/nginx.pid; error_log $OWN/proxy.log; events {}"
    echo "http { access_log off; client_body_temp_path $OWN/body; proxy_temp_path $OWN/proxy; fastcgi_temp_path $OWN/f;"
    echo "uwsgi_temp_path $OWN/u; scgi_temp_path $OWN/s;"
    of_the_page nginx |
      sed -e "s|listen 443 ssl|listen 127.0.0.1:$PORT ssl|" -e "s|agents.example;|localhost;|" \
        -e "s|/etc/ssl/agents.example/fullchain.pem|$WORK/cert.pem|" -e "s|/etc/ssl/agents.example/privkey.pem|$WORK/key.pem|" \
        -e "s|127.0.0.1:5200|127.0.0.1:$BEHIND|"
    echo "}"
  } >"$OWN/nginx.conf"
  nginx -c "$OWN/nginx.conf" >"$OWN/proxy.out" 2>&1 &
  STARTED+=($!)
}

start_caddy() {
  {
    echo "{"
    echo "  admin off"
    echo "  auto_https off"
    echo "  default_bind 127.0.0.1"
    echo "}"
    of_the_page caddyfile |
      sed -e "s|^agents.example {|https://$NAME {\n    tls $WORK/cert.pem $WORK/key.pem|" -e "s|127.0.0.1:5200|127.0.0.1:$BEHIND|"
  } >"$OWN/Caddyfile"
  env -i PATH="$PATH" HOME="$OWN" caddy run --config "$OWN/Caddyfile" --adapter caddyfile >"$OWN/proxy.log" 2>&1 &
  STARTED+=($!)
}

ask() { curl --silent --cacert "$WORK/cert.pem" --noproxy '*' --connect-to "$NAME:127.0.0.1:$PORT" "$@"; }
status() { ask --max-time 20 -o /dev/null -w '%{http_code}' "$@"; }

UPGRADE=(--http1.1 --no-buffer -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13'
  -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==')
# Opens a WebSocket from $1 that stays for some seconds; leaves its status in STATUS. The rest are arguments of curl.
open_socket() {
  local from=$1 head=$OWN/head
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

# What passes through both proxies, and past them.
try_proxy() {
  expect "a request passes" 200 "$(status "https://$NAME/v1/health")"

  # The stream stays open: without buffering its events are there before curl gives up.
  ask --no-buffer --max-time 3 -H 'Accept: text/event-stream' "https://$NAME/v1/sessions/$SESSION/events" >"$OWN/events"
  expect "events of a stream arrive while it is open" yes "$(grep -q '^data:' "$OWN/events" && echo yes || echo no)"
  expect "a body of 5 MB reaches the server" 403 "$(status --data-binary "@$WORK/large" "https://$NAME/v1/sessions")"

  local number want by_proxy=(--cacert "$WORK/cert.pem" --connect-to "$NAME:127.0.0.1:$PORT" "https://$NAME/v1/socket")
  for want in 101 101 429; do
    open_socket 127.0.0.2 -H 'X-Forwarded-For: 6.6.6.6' -H 'Forwarded: for=7.7.7.7' "${by_proxy[@]}"
    expect "a WebSocket of 127.0.0.2 that claims another address" "$want" "$STATUS"
  done
  open_socket 127.0.0.3 -H 'X-Forwarded-For: 6.6.6.6' -H 'Forwarded: for=7.7.7.7' "${by_proxy[@]}"
  expect "a WebSocket of 127.0.0.3" 101 "$STATUS"

  # Past the proxy: nobody else's word counts.
  for number in 1 2 3; do
    open_socket 127.0.0.4 -H "Host: $NAME" -H "X-Forwarded-For: 9.9.9.$number" "http://127.0.0.1:$BEHIND/v1/socket"
  done
  expect "the third WebSocket past the proxy, whatever it claims" 429 "$STATUS"
}

for PROXY in nginx caddy; do
  has "$PROXY" || continue
  start_server
  "start_$PROXY"
  for _ in $(seq 100); do
    [ "$(status "https://$NAME/v1/health")" = 200 ] && break
    sleep 0.1
  done
  try_proxy
  if [ "$PROXY" = nginx ]; then
    expect "another name is refused by the server" 421 "$(status -H 'Host: elsewhere.example' "https://$NAME/v1/health")"
    expect "a body of 20 MB ends at the proxy" 413 "$(status --data-binary "@$WORK/larger" "https://$NAME/v1/sessions")"
  else
    # Caddy answers other names itself, without content.
    expect "another name does not reach the server" "" "$(ask --max-time 20 -H 'Host: elsewhere.example' "https://$NAME/v1/health")"
    expect "the server refuses a body of 20 MB" 403 "$(status --data-binary "@$WORK/larger" "https://$NAME/v1/sessions")"
  fi
  stop_all
  [ "$failed" = 0 ] || { tail -n 5 "$OWN/proxy.log" "$OWN/serve.out"; break; }
done
exit "$failed"
