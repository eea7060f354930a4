#!/bin/sh
# A client that knows nothing of AgentX but docs/PROTOCOL.md, made of curl and openssl: it says who it is, says something in a
# session, and follows it by server-sent events to the end of the run. In the middle it leaves, and comes back with Last-Event-ID.
#
#   follow.sh key FILE                           makes a key and prints the public one
#   follow.sh run URL FILE SESSION VIEW WORDS    prints the data of each event, a line each
set -eu

LEAVE_AFTER=25
PATIENCE=30

letters() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

public_key() { printf 'ed25519:%s' "$(openssl pkey -in "$1" -pubout -outform DER | tail -c 32 | letters)"; }

# One field of an object that has no other objects inside.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

post() {
  curl -fsS --max-time "$PATIENCE" -X POST -H 'content-type: application/json' -H 'agentx-client: follow.sh' \
    -H "@$work/headers" -d "$2" "$url$1"
}

sign_in() {
  challenge=$(post /v1/auth/challenge '{}')
  nonce=$(printf %s "$challenge" | field nonce)
  origin=$(printf %s "$challenge" | field origin)
  expires=$(printf %s "$challenge" | field expires_at_ms)
  # Nothing is signed for another place than the one that was dialled.
  [ "${origin#*://}" = "${url#*://}" ] || { echo "the server calls itself $origin" >&2; exit 1; }
  printf 'agentx.v1 challenge\n%s\n%s\n%s\n' "$origin" "$nonce" "$expires" >"$work/text"
  signature=$(openssl pkeyutl -sign -rawin -inkey "$key" -in "$work/text" | letters)
  token=$(post /v1/auth/token "{\"public_key\":\"$(public_key "$key")\",\"nonce\":\"$nonce\",\"expires_at_ms\":$expires,\"signature\":\"$signature\"}" | field token)
  # In a file and not among the arguments, which everybody on this machine can read.
  printf 'authorization: Bearer %s\n' "$token" >"$work/headers"
}

# Follows after the event $1 until $2 events came or the run has ended. The events are appended to $work/events as they come.
follow() {
  last=$1 most=$2
  set -- -H 'accept: text/event-stream' -H "@$work/headers" -H 'agentx-client: follow.sh'
  [ -z "$last" ] || set -- "$@" -H "last-event-id: $last"
  mkfifo "$work/pipe"
  curl -fsSN --max-time "$PATIENCE" "$@" "$url/v1/sessions/$session/events?view=$view" >"$work/pipe" &
  reader=$!
  id='' event='' count=0 ended=no
  while IFS= read -r line; do
    case $line in
      'id: '*) id=${line#id: } ;;
      'event: '*) event=${line#event: } ;;
      'data: '*) data=${line#data: } ;;
      '')
        if [ -n "$id" ]; then
          printf '%s\n' "$data"
          printf '%s' "$id" >"$work/last"
          count=$((count + 1))
          case $view/$event/$data in
            environment/stream_end/*'"stop_reason":"end_turn"'*) ended=yes ;;
            environment/*) ;;
            */run_finished/*) ended=yes ;;
          esac
          if [ $ended = yes ] || [ "$count" = "$most" ]; then break; fi
        fi
        id='' event='' data=''
        ;;
    esac
  done <"$work/pipe"
  kill "$reader" 2>/dev/null || :
  wait "$reader" 2>/dev/null || :
  rm "$work/pipe"
}

case $1 in
  key)
    openssl genpkey -algorithm ed25519 -out "$2"
    public_key "$2"
    echo
    ;;
  run)
    url=$2 key=$3 session=$4 view=$5 words=$6
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    umask 077
    : >"$work/headers"
    sign_in
    post "/v1/sessions/$session/messages" "{\"content\":\"$words\",\"idempotency_key\":\"follow.sh-$view\"}" >/dev/null
    follow '' "$LEAVE_AFTER"
    [ "$ended" = yes ] || follow "$(cat "$work/last")" 0
    [ "$ended" = yes ] || { echo "the stream ended before the run" >&2; exit 1; }
    ;;
esac
