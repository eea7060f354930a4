#!/bin/sh
# A made-up helper: the Nth start says the Nth line of the file `answers` beside it; `fail` is a helper that
# ends before it says anything.
count=$(($(cat "$0.count" 2>/dev/null || echo 0) + 1))
echo "$count" > "$0.count"
said=$(sed -n "${count}p" "$0.answers")
[ "$said" = fail ] && exit 127
echo "$said"
