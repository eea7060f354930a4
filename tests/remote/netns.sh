#!/bin/sh
# Two hosts on one machine: network namespaces with a cable between them. Needs root and `ip`.
#
#   netns.sh make NAME          makes NAME-a (10.213.0.1) and NAME-b (10.213.0.2), with a cable
#   netns.sh cable NAME up|down plugs the cable in, or pulls it
#   netns.sh remove NAME        removes both, with all that is in them
set -eu

name=$2
a=$name-a b=$name-b

case $1 in
  make)
    ip netns add "$a"
    ip netns add "$b"
    ip link add eth0 netns "$a" type veth peer name eth0 netns "$b"
    for host in "$a 1" "$b 2"; do
      set -- $host
      ip -n "$1" link set lo up
      ip -n "$1" address add "10.213.0.$2/24" dev eth0
      ip -n "$1" link set eth0 up
    done
    ;;
  cable)
    ip -n "$a" link set eth0 "$3"
    ;;
  remove)
    for host in "$a" "$b"; do
      ip netns pids "$host" 2>/dev/null | xargs -r kill -9 2>/dev/null || :
      ip netns del "$host" 2>/dev/null || :
    done
    ;;
  *)
    echo "netns.sh make|cable|remove NAME" >&2
    exit 2
    ;;
esac
