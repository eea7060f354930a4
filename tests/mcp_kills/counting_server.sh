#!/bin/sh
# A made-up MCP server whose tool has an effect that can be counted: it writes the id that it is given into the file
# $1, after `begin` and before `end`. It uses no other program, so that it is quick. $2 is the file for its process id.
counter=$1
printf '%s\n' $$ >>"$2"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
    *'"initialize"'*)
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"made-up","version":"1"}}' ;;
    *'"tools/list"'*)
      answer '{"tools":[{"name":"count","description":"Counts.","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}]}' ;;
    *'"tools/call"'*)
      call=${line#*\"arguments\":\{\"id\":\"}; call=${call%%\"*}
      printf 'begin %s\n' "$call" >>"$counter"
      printf 'end %s\n' "$call" >>"$counter"
      answer '{"content":[{"type":"text","text":"counted"}]}' ;;
  esac
done
