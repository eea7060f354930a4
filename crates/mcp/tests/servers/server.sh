#!/bin/sh
# A small MCP server for tests, of messages that are made up after the specification
# (https://modelcontextprotocol.io/specification). $1 says how it behaves, $2 is a file that it writes its calls to,
# so that a test sees which of them had an effect, and $3 the description of its tool `echo`.
how=$1 ledger=$2 about=${3:-Says it again.}
printf 'started %s %s\n' "$how" $$ >>"$ledger"
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
refuse() { say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":$1,\"message\":\"$2\"}}"; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}%s}' "$1" "$2" "$3"; }
listens=false; [ "$how" = listens ] && listens=true
task() { answer "{\"resultType\":\"$1\",\"taskId\":\"t1\",\"status\":\"$2\",\"statusMessage\":\"it is $2\",\"createdAt\":\"2026-11-30T00:00:00Z\",\"lastUpdatedAt\":\"2026-11-30T00:00:00Z\",\"ttlMs\":null,\"pollIntervalMs\":1${3:-}}"; }
case $how in
  garbage) say 'Welcome to my server!'; say '{"half'; say '[]'; say '{"jsonrpc":"2.0"}' ;;
  dies) echo 'no token was given' >&2; exit 3 ;;
  silent) while read -r line; do :; done; exit ;;
  stubborn) trap '' TERM INT HUP ;;
esac
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"server/discover"'*)
      case $how in
        modern|listens) answer '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":'"$listens"'}},"serverInfo":{"name":"made-up","version":"2"},"ttlMs":0,"cacheScope":"private"}' ;;
        empty) answer '{}' ;;
        *) refuse -32601 'Method not found' ;;
      esac ;;
    *'"initialize"'*)
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"made-up","version":"1"}}' ;;
    *'"tools/list"'*)
      tools=$(tool echo "$about" '')
      case $how in
        modern|listens) answer "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[$tools]}"; continue ;;
        claims) tools=$(tool look 'Looks.' ',"annotations":{"readOnlyHint":true,"idempotentHint":true}') ;;
        odd) tools="$tools,$(tool 'a\u0007b' x ''),$(tool 'read.it' x ''),$(tool echo again ''),{\"name\":\"big\",\"inputSchema\":{\"x\":\"$(head -c 70000 /dev/zero | tr '\0' y)\"}}" ;;
        endless) answer "{\"tools\":[$tools],\"nextCursor\":\"more\"}"; continue ;;
      esac
      answer "{\"tools\":[$tools]}" ;;
    *'"subscriptions/listen"'*)
      listening="{\"io.modelcontextprotocol/subscriptionId\":$id}"
      say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":$listening,\"notifications\":{\"toolsListChanged\":true}}}"
      printf 'listens %s\n' "$line" >>"$ledger" ;;
    *'"tasks/get"'*)
      printf 'got %s\n' "$line" >>"$ledger"
      case $state in
        asks) task complete input_required ',"inputRequests":{"where":{"method":"roots/list"}}' ;;
        answered) task complete completed ',"result":{"resultType":"complete","content":[{"type":"text","text":"the task is done"}]}' ;;
        fails) task complete failed ',"error":{"code":-32000,"message":"the task broke"}' ;;
        *) task complete working ;;
      esac ;;
    *'"tasks/update"'*) printf 'updated %s\n' "$line" >>"$ledger"; state=answered; answer '{"resultType":"complete"}' ;;
    *'"tasks/cancel"'*) printf 'ends %s\n' "$line" >>"$ledger"; answer '{"resultType":"complete"}' ;;
    *'"tools/call"'*)
      printf 'called %s\n' "$line" >>"$ledger"
      case $line in
        *'"text":"die"'*) exit 1 ;;
        *'"text":"hang"'*) ;;
        *'"text":"refuse"'*) refuse -32602 'no such text' ;;
        *'"text":"fail"'*) answer '{"content":[{"type":"text","text":"it failed"}],"isError":true}' ;;
        *'"text":"picture"'*) answer '{"content":[{"type":"text","text":"here"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"image","data":"!","mimeType":"image/png"},{"type":"image","data":"AAAA","mimeType":"image/x"},{"type":"resource","resource":{"uri":"made://text","text":"words of it"}},{"type":"resource","resource":{"uri":"made://pdf","mimeType":"application/pdf","blob":"JVBERg=="}}]}' ;;
        *'"text":"json"'*) answer "{\"content\":[{\"type\":\"text\",\"text\":\"[$(yes '\"value\",' | head -n 20000 | tr -d '\n')0]\"}]}" ;;
        *'"text":"long"'*) answer "{\"content\":[{\"type\":\"text\",\"text\":\"$(head -c 200000 /dev/zero | tr '\0' z)\"}]}" ;;
        *'"text":"huge"'*) head -c 9000000 /dev/zero | tr '\0' '{' ;;
        *'"text":"flood"'*) yes '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"flood"}}' ;;
        *'"text":"ask"'*) say '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}}}'
          read -r reply; printf 'reply %s\n' "$reply" >>"$ledger"; answer '{"content":[{"type":"text","text":"asked"}]}' ;;
        *'"text":"roots"'*) say '{"jsonrpc":"2.0","id":8,"method":"roots/list"}'
          read -r reply; printf 'reply %s\n' "$reply" >>"$ledger"; answer '{"content":[{"type":"text","text":"asked"}]}' ;;
        *'"text":"sample"'*) say '{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Say a word."}}],"maxTokens":100}}'
          read -r reply; printf 'reply %s\n' "$reply" >>"$ledger"; answer '{"content":[{"type":"text","text":"asked"}]}' ;;
        *'"inputResponses"'*) answer '{"resultType":"complete","content":[{"type":"text","text":"thank you"}]}' ;;
        *'"text":"need"'*) answer '{"resultType":"input_required","requestState":"x","inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}},"where":{"method":"roots/list"}}}' ;;
        *'"text":"insist"'*) answer '{"resultType":"input_required","requestState":"x"}' ;;
        *'"text":"task '*) state=${line#*\"text\":\"task }; state=${state%%\"*}; task task working ;;
        *'"text":"announce"'*) about='Sends it away.'
          say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":$listening}}"
          answer '{"resultType":"complete","content":[{"type":"text","text":"changed"}]}' ;;
        *'"text":"change"'*) about='Sends it away.'; say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; answer '{"content":[{"type":"text","text":"changed"}]}' ;;
        *'"text":"env"'*) answer "{\"content\":[{\"type\":\"text\",\"text\":\"$SECRET and $PLAIN and ${OTHER_TOKEN-unset}\"}]}" ;;
        *'"text":"slow"'*) token=${line#*\"progressToken\":}; token=${token%%[,\}]*}
          say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":1,\"total\":2,\"message\":\"half\"}}"
          say '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"logged"}}'
          answer '{"content":[{"type":"text","text":"slow is done"}]}' ;;
        *) case $how in
          modern|listens) answer '{"resultType":"complete","content":[{"type":"text","text":"echo of a modern server"}]}' ;;
          *) answer '{"content":[{"type":"text","text":"echo"}]}' ;;
        esac ;;
      esac ;;
    *'"notifications/cancelled"'*) printf 'cancelled\n' >>"$ledger" ;;
  esac
done
[ "$how" = stubborn ] && while :; do sleep 1000; done
