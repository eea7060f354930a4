#!/usr/bin/env bash
# Checks the facade with each combination of features that somebody may want, where warnings fail, and then with each single feature
# that is not such a combination (12 of 17), which only has to compile. Each is checked without tests, as programs of others compile it.
# All use one target folder, so that what several of them need is compiled once. Without arguments, the numbers of crates in
# docs/LIBRARY.md are measured, too.
#
#   tests/features.sh                 all of them
#   tests/features.sh http sqlite,tools    only these
set -euo pipefail
cd "$(dirname "$0")/.."

ALL=(
  none
  http
  http,sqlite,tools
  http,remote
  http,typed-answers
  config
  luau
  mcp
  server
  full,http2,testing
)

# Of the crates below the facade, those whose code depends on features are checked with it.
CRATES=(-p agentx -p agentx-node-runtime -p agentx-tools --no-default-features)

# Whether the facade has these features, with the given arguments of cargo. Cargo passes over a feature that it takes for another
# package's, such as `agentx/http`: the facade is a dependency of its own tests.
has_features() {
  local features=$1 on
  shift
  on=$(cargo tree --quiet --locked "$@" --edges normal --depth 0 --prefix none --format '{p},{f},' | sed -n 's/^agentx v[^,]*//p')
  for feature in ${features//,/ }; do
    case $on in
      *",$feature,"*) ;;
      *) echo "the feature $feature is not on: $on" >&2; return 1 ;;
    esac
  done
}

for features in "${@:-${ALL[@]}}"; do
  printf '%s\n' "-- $features"
  arguments=("${CRATES[@]}")
  # A crate below has a feature of the same name only where the facade's turns it on.
  if [ "$features" != none ]; then
    arguments+=(--features "$features")
    has_features "$features" "${arguments[@]}"
  fi
  cargo clippy --quiet --locked "${arguments[@]}" -- -D warnings
done

[ $# -eq 0 ] || exit 0

# The crates that cargo compiles for the facade with these features, counted as docs/LIBRARY.md says.
crates_of() {
  cargo tree --quiet --locked -p agentx --no-default-features --features "$1" -e normal,build --prefix none |
    sed 's/ (\*)$//' | sort -u | wc -l
}

# The table of docs/LIBRARY.md has a row for each feature, whose number is the measured one: what a feature adds is paid by everybody
# who turns it on.
printf '%s\n' "-- the figures of docs/LIBRARY.md"
none=$(crates_of "")
rows=$(sed -n 's/^| `\{0,1\}\([a-z0-9-]*\)`\{0,1\}\( (default)\)\{0,1\} | .* | \(+\{0,1\}[0-9]*\) |$/\1 \3/p' docs/LIBRARY.md)
[ "$(wc -l <<<"$rows")" -gt 15 ] || { echo "docs/LIBRARY.md has no table of features" >&2; exit 1; }
while read -r feature said; do
  case $feature in
    none) measured=$none ;;
    testing) measured=+$(($(crates_of full,testing) - $(crates_of full))) ;;
    *) measured=$(crates_of "$feature") ;;
  esac
  case $said,$feature in
    *,testing) ;;
    +*) measured=+$((measured - none)) ;;
  esac
  [ "$said" = "$measured" ] || { echo "docs/LIBRARY.md: $feature is $said, and measured $measured" >&2; exit 1; }
done <<<"$rows"

# The features of the facade, but for the two that are lists of others.
single_features() {
  sed -n '/^\[features\]/,/^\[dependencies\]/s/^\([a-z0-9-]*\) = \[.*/\1/p' crates/agentx/Cargo.toml | grep -vx -e default -e full
}
singles=$(single_features)
for feature in $singles; do
  case " ${ALL[*]} " in *" $feature "*) continue ;; esac
  printf '%s\n' "-- $feature alone"
  cargo check --quiet --locked -p agentx --no-default-features --features "$feature"
done

# The chat as a library, with what it turns on itself.
cargo check --quiet --locked -p agentx-chat
