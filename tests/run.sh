#!/usr/bin/env bash
# The test command: sets up what is missing on a machine with Rust, a compiler of C and C++ and a shell, then runs every check.
# Needs no key and no network beyond the package registries. A check that cannot run here is named at the end. Without the
# registries, on CI too, that holds for checks whose tools or crates are not installed; with them, such a check fails on CI.
#
#   tests/run.sh            everything
#   tests/run.sh fmt lint   only these steps
#   tests/run.sh quick      the pure crates, their tables, and screens without a terminal: for the minute between two edits
#
# Steps: fmt lint build features test docs loom deny fuzz asan; schemathesis and mcp_conformance, parts of test, go alone too. Logs are
# in target/checks.
# AGENTX_FUZZ_SECONDS says how long each target of `fuzz`, and `asan`, look (10).
set -uo pipefail
cd "$(dirname "$0")/.."

LOGS=target/checks
WASM=wasm32-unknown-unknown
failed=()
notes=()
mkdir -p "$LOGS"
rm -f "$LOGS"/*.log

note() { notes+=("$1"); printf -- '-- %s\n' "$1"; }

# Runs a step, keeps its log, remembers its failure; the steps after it still run.
step() {
  local name=$1 began=$SECONDS
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  if "$@" 2>&1 | tee "$LOGS/$name.log"; then
    printf '== %s: ok, %s s\n' "$name" "$((SECONDS - began))"
  else
    failed+=("$name")
    printf '== %s: FAILED, %s s\n' "$name" "$((SECONDS - began))"
  fi
}

has() { command -v "$1" >/dev/null 2>&1; }

# Debian packages for tools that some tests drive, as `tool=package`; tests say so and pass by where a tool is missing.
want_tools() {
  local pair packages=()
  for pair in "$@"; do has "${pair%=*}" || packages+=("${pair#*=}"); done
  if [ ${#packages[@]} -gt 0 ] && has apt-get && [ "$(id -u)" = 0 ]; then
    apt-get update -qq >/dev/null 2>&1
    # One that is not to be had must not keep the others away.
    install_packages "${packages[@]}" || for pair in "${packages[@]}"; do install_packages "$pair"; done
  fi
  for pair in "$@"; do
    has "${pair%=*}" || note "${pair%=*} is not installed: tests that compare with it or drive it are passed by"
  done
}

install_packages() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; }

# Debian has the part of Python that makes environments of their own in a package of its own.
want_venv() {
  python3 -c 'import ensurepip, venv' >/dev/null 2>&1 && return
  if has apt-get && [ "$(id -u)" = 0 ]; then
    install_packages python3-venv
  fi
  python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || note "python3 makes no environments: the client in Python is not run"
}

# A component of the toolchain, and the cargo command by which it is there.
want_component() {
  cargo "$2" --version >/dev/null 2>&1 && return
  has rustup && timeout 300 rustup component add "$1" >/dev/null 2>&1
  cargo "$2" --version >/dev/null 2>&1
}

# AGENTX_TEST_OFFLINE tells the tests that what is missing could not be installed.
go_offline() {
  export AGENTX_TEST_OFFLINE=1
  note "the package registry cannot be reached ($(tail -n 1 "$LOGS/fetch.log" | sed 's/^ *//')): tests that need rg, wasm32 or a client in Python are passed by where these are not installed"
}

# Whether the crate can be built: always with the registry, else if an earlier build has fetched it.
has_crate() {
  [ -z "${AGENTX_TEST_OFFLINE:-}" ] || compgen -G "${CARGO_HOME:-$HOME/.cargo}/registry/cache/*/$1-*.crate" >/dev/null
}

set_up() {
  has cargo || { echo "cargo is not installed: see https://rustup.rs" >&2; exit 1; }
  timeout 600 cargo fetch --locked >"$LOGS/fetch.log" 2>&1 &
  local fetch=$!
  want_tools tmux=tmux rg=ripgrep python3=python3 git=git curl=curl openssl=openssl ip=iproute2 ssh-keygen=openssh-client chromium=chromium
  wait "$fetch" || go_offline
  has tsc || note "tsc is not installed: the types for TypeScript (the_typescript_types_can_be_used) are not compiled"
  [ "$(id -u)" = 0 ] || note "this takes root: hosts with networks of their own (tests/remote/netns.rs), and the attempts that only root makes without a sandbox"
  look_for_sandbox
  want_venv
  if [ ! -d "$(rustc --print target-libdir --target $WASM 2>/dev/null)" ]; then
    has rustup && timeout 300 rustup target add $WASM >/dev/null 2>&1
    [ -d "$(rustc --print target-libdir --target $WASM 2>/dev/null)" ] ||
      note "the target $WASM is not installed: pure crates are checked by manifest, source and lint only"
  fi
}

# Each step of the sandbox is tried where the kernel has it. AGENTX_TEST_NO_SANDBOX tells the tests that no step is expected to work.
look_for_sandbox() {
  local landlock='' namespace=''
  # Its interface in version 6 or later: landlock_create_ruleset with LANDLOCK_CREATE_RULESET_VERSION.
  [ "$(python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))' 2>/dev/null || echo 0)" -ge 6 ] && landlock=1
  unshare -Urmpf --mount-proc true 2>/dev/null && namespace=1
  [ -n "$landlock" ] || note "the kernel has no Landlock: that step of the sandbox is not tried"
  [ -n "$namespace" ] || note "no user namespace can be made: that step of the sandbox is not tried"
  [ -n "$landlock$namespace" ] || export AGENTX_TEST_NO_SANDBOX=1
}

fmt() {
  if want_component rustfmt fmt; then step fmt cargo fmt --all --check; else note "rustfmt is not installed: fmt not run"; fi
}

lint() {
  if want_component clippy clippy; then
    step lint cargo clippy --workspace --all-targets --locked -- -D warnings
  else
    note "clippy is not installed: lint not run"
  fi
}

# What ships is built without the features that only tests turn on. That it compiles so is checked here, with what `docs` needs too;
# the tests build and link the program themselves.
build() { step build cargo check --workspace --locked; }

# The library with what others turn on of it, one combination after the other.
features() { step features tests/features.sh; }

# The tests of a full disk mount a small one; where that is refused they pass without having tried anything.
look_for_mount() {
  local place
  place=$(mktemp -d)
  if mount -t tmpfs -o size=1m tmpfs "$place" 2>/dev/null; then umount "$place"
  else note "no disk can be mounted (that takes root): the tests of a full disk (full_disk) are not run"; fi
  rmdir "$place"
}

run_tests() {
  look_for_mount
  # `--workspace` builds the program and the examples: tests need not call cargo for them, which would build all of it a second time
  # with other features.
  local built
  built=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)/debug
  export AGENTX_TEST_PROGRAM=$built/agentx AGENTX_TEST_EXAMPLES=$built/examples
  # The description of the protocol for other languages is tested behind this feature. The server turns it on too, so that naming it
  # builds nothing twice.
  local features=agentx-types/schema
  if cargo nextest --version >/dev/null 2>&1; then
    step test_build cargo nextest run --workspace --features $features --locked --no-run
    await_prepared
    # Many tests wait for a time limit or a process, so there are two for each processor.
    step test cargo nextest run --workspace --features $features --locked --no-fail-fast --test-threads "$(($(nproc) * 2))"
    step doctest cargo test --workspace --features $features --locked --doc
  else
    step test_build cargo test --workspace --features $features --locked --no-run
    await_prepared
    step test cargo test --workspace --features $features --locked --no-fail-fast
  fi
  tests_from_elsewhere
}

# Both wait for answers most of the time, so they wait together.
tests_from_elsewhere() {
  "${SCHEMATHESIS[@]}" >"$LOGS/schemathesis.said" 2>&1 &
  local beside=$! ended
  mcp_conformance
  wait "$beside"
  ended=$?
  step schemathesis ended "$ended" "$LOGS/schemathesis.said"
  schemathesis_note
}

# Says what a command said that has ended, and ends as it did.
ended() {
  cat "$2"
  return "$1"
}

# The crates whose tests need no program, no terminal and no network, in threads of few processes. Random tests try fewer cases, and
# the tests that take longest are left to `test`.
QUICK=(agentx-types agentx-agent agentx-session agentx-llm agentx-bus agentx-terminal agentx-chat)
LONG=(
  long_lines_are_read_in_time
  a_smaller_window_is_learned_once_and_no_run_fails
  a_server_that_cuts_is_noticed_once_and_the_conversation_is_condensed_instead
  a_server_that_reads_everything_is_believed
  a_window_that_slides_leaves_earlier_thinking_out
  long_sessions_are_condensed_and_lose_no_goal
  cut_at_any_byte_it_ends_cleanly
)
quick() {
  step quick env PROPTEST_CASES=16 cargo test --locked --quiet --lib --tests "${QUICK[@]/#/--package=}" -- "${LONG[@]/#/--skip=}"
}

# The HTTP of a server under a tester that sends what its description allows, and much that it forbids. A minute, and one more
# where the tester has to be installed.
SCHEMATHESIS=(timeout 300 tests/schemathesis.sh 10 examples,fuzzing)
schemathesis() {
  step schemathesis "${SCHEMATHESIS[@]}"
  schemathesis_note
}
schemathesis_note() {
  local why
  why=$(sed -n 's/^skipped: //p' "$LOGS/schemathesis.log" | head -n 1)
  [ -z "$why" ] || note "schemathesis: $why"
}

# The protocol's own suite against the client and the server, and its results against the page. A minute, and one more where the suite
# and its Node have to be installed.
mcp_conformance() {
  step mcp_conformance timeout 600 tests/mcp_conformance.sh
  local why
  why=$(sed -n 's/^skipped: //p' "$LOGS/mcp_conformance.log" | head -n 1)
  [ -z "$why" ] || note "mcp_conformance: $why"
}

# The program has the name of the library, so its pages are made first, and those of the library replace them. Both say
# `--workspace`: then they have the features of `build`, and nothing is checked again.
docs() {
  step docs env RUSTDOCFLAGS="-D warnings" \
    bash -c 'cargo doc --workspace --bin agentx --no-deps --locked && cargo doc --workspace --no-deps --locked'
}

# The bus on loom's primitives: every interleaving of send, lag, drop and close within the bound. Linking the small test as the
# program is linked would take longer than it saves.
LOOM=(env RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 CARGO_TARGET_DIR=target/loom
  CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
  cargo test -p agentx-bus --release --locked --test loom_bus)
model() {
  if ! has_crate loom; then note "loom cannot be fetched: the bus is not tried in every interleaving"; return; fi
  step loom "${LOOM[@]}"
}

deny() {
  if cargo deny --version >/dev/null 2>&1; then
    step deny cargo deny check bans licenses sources
  else
    note "cargo-deny is not installed: the architecture test holds deny.toml against Cargo.lock, without the text of licences"
  fi
}

# A short look by each fuzzer, from the kept corpus on, which `test` has replayed. `just fuzz` looks for longer.
fuzz() {
  if ! has_crate libfuzzer-sys; then note "libfuzzer-sys cannot be fetched: the fuzzers are not run, their kept inputs are"; return; fi
  step fuzz tests/fuzz/run.sh "${AGENTX_FUZZ_SECONDS:-10}"
}

# The one file with `unsafe` under the address sanitizer. RUSTC_BOOTSTRAP lets a stable compiler take the flag; it brings the library for it.
ASAN_TARGET=x86_64-unknown-linux-gnu
ASAN=(env AGENTX_FUZZ_SECONDS="${AGENTX_FUZZ_SECONDS:-10}" RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address
  RUST_MIN_STACK=134217728 ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0
  cargo test -p agentx-luau-tools --locked --target "$ASAN_TARGET" --target-dir target/asan --lib value::)
has_asan() {
  [ -e "$(rustc --print target-libdir)/librustc-stable_rt.asan.a" ] && [ "$(rustc -vV | sed -n 's/^host: //p')" = "$ASAN_TARGET" ]
}
asan() {
  if ! has_asan; then note "this toolchain has no address sanitizer for $ASAN_TARGET: values of scripts are tried without it"; return; fi
  step asan "${ASAN[@]}"
}

# What the last steps need and share with no other is built beside the first ones, which check one crate after the other and leave a
# processor idle much of the time. It yields to them, and has ended before a test runs, because tests have time limits. What fails
# here fails again in its own step, which says so.
prepared=
prepare() {
  renice -n 19 -p "$BASHPID" >/dev/null 2>&1 || return
  timeout --foreground 400 tests/schemathesis.sh install
  timeout --foreground 400 tests/mcp_conformance.sh install
  if has_crate libfuzzer-sys; then timeout --foreground 1200 tests/fuzz/run.sh build; fi
  if has_asan; then timeout --foreground 1200 "${ASAN[@]}" --no-run; fi
  if has_crate loom; then timeout --foreground 1200 "${LOOM[@]}" --no-run; fi
}
begin_to_prepare() {
  # A group of processes of its own, which an interruption ends as a whole.
  set -m
  prepare >"$LOGS/prepare.log" 2>&1 </dev/null &
  prepared=$!
  set +m
  trap 'end_preparing' EXIT
}
end_preparing() { [ -z "$prepared" ] || kill -- "-$prepared" 2>/dev/null; }
await_prepared() {
  [ -n "$prepared" ] || return 0
  local began=$SECONDS
  wait "$prepared"
  prepared=
  printf '\n== what later steps need is built, %s s waited\n' "$((SECONDS - began))"
}

[ "$*" = quick ] || set_up
[ $# -gt 0 ] || begin_to_prepare
for name in ${*:-fmt lint build features test docs loom deny fuzz asan}; do
  case $name in
    fmt | lint | quick | build | features | docs | deny | fuzz | asan | schemathesis | mcp_conformance) "$name" ;;
    test) run_tests ;;
    loom) model ;;
    *) echo "no step $name; there are: quick fmt lint build features test docs loom deny fuzz asan schemathesis mcp_conformance" >&2; exit 2 ;;
  esac
done

printf '\n== summary, %s s\n' "$SECONDS"
for log in quick test doctest loom; do
  [ -f "$LOGS/$log.log" ] && grep -hE '^ *Summary \[|^test result:' "$LOGS/$log.log"
done
for line in ${notes[@]+"${notes[@]}"}; do printf 'not run: %s\n' "$line"; done
if [ ${#failed[@]} -gt 0 ]; then
  printf 'FAILED: %s\n' "${failed[*]}"
  exit 1
fi
echo "all passed"
