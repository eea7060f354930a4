# What the `run.sh` of each example begins with: a place of its own, which goes away at the end, and a program that reads nothing of the person
# who runs it. AGENTX and AGENTX_MOCK name the two programs, where they are not in target/debug.
here=$(cd "$(dirname "$0")" && pwd)
agentx=${AGENTX:-$here/../../target/debug/agentx}
mock=${AGENTX_MOCK:-$here/../../target/debug/agentx-mock}
place=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$place"' EXIT
export HOME=$place/home
mkdir -p "$HOME"
unset AGENTX_DATA AGENTX_CONFIG AGENTX_MODEL

# Waits until `$@` is true, for a minute at most.
until_true() {
  local end=$((SECONDS + 60))
  until "$@"; do
    if [ $SECONDS -ge $end ]; then echo "never true: $*" >&2; exit 1; fi
    sleep 0.05
  done
}

# Ends with an error unless `$2` is `$1`.
expect() {
  [ "$2" = "$1" ] || { printf 'expected:\n%s\nit says:\n%s\n' "$1" "$2" >&2; exit 1; }
}

# Copies the files of the example to `$place/work`, and trusts them there. The answers of script.yaml are given, whatever keys the person has.
copy_example() {
  export AGENTX_MODEL=scripted
  mkdir "$place/work"
  cp -R "$here/.agentx" "$place/work"
  cd "$place/work"
  "$agentx" config trust >"$place/trusted" 2>&1 || { cat "$place/trusted" >&2; exit 1; }
}
