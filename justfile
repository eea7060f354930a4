# The same recipes for people and for CI. `just` alone lists them.

_list:
    @just --list --unsorted

# Start a chat; without a key it is the offline demo
demo *args:
    cargo run --quiet -- {{args}}

# Everything that CI runs
ci:
    .ci/run

# Every check, or only these: fmt lint build features test docs loom deny fuzz asan
check *steps:
    tests/run.sh {{steps}}

# For the minute between two edits: the pure crates, their tables, and screens without a terminal
quick:
    tests/run.sh quick

# Everything that is random, for longer, then fuzzers, advisories and the address sanitizer: for the night, such as from cron
nightly cases="5000" scripts="100000" histories="10000" seconds="1800":
    PROPTEST_CASES={{cases}} cargo test --release --locked -p agentx-types -p agentx-agent -p agentx-session -p agentx-llm -p agentx-bus
    PROPTEST_CASES={{cases}} cargo test --release --locked -p agentx-tests --test histories
    AGENTX_STRICT_HISTORIES={{histories}} cargo test --release --locked -p agentx-testing --test histories
    AGENTX_RANDOM_SCRIPTS={{scripts}} cargo test --release --locked -p agentx-luau-tools --test all handed::random_programs
    {{just_executable()}} fuzz {{seconds}}
    {{just_executable()}} advisories
    {{just_executable()}} asan {{seconds}}

# The tests alone
test *args:
    cargo test --workspace {{args}}

# Which crate may know which, budgets, purity, the architecture page
architecture:
    cargo test -p agentx-tests --test architecture

# Format, then lint
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# The web page: its types, its tests, and its build, which is committed (needs Node)
page:
    cd apps/aura && npm install && npm run check && npm test && npm run build
    git diff --stat -- apps/aura/dist

# Benchmarks
bench *args:
    cargo bench --workspace {{args}}

# The API documentation
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Write the golden files of the wire forms, and the schema and types made from them, again; read the diff
golden:
    UPDATE_GOLDEN=1 cargo test -p agentx-types --features schema --test golden --test schema
    git diff --stat -- '*golden*' docs/protocol

# The loom model of the bus
loom:
    tests/run.sh loom

# Each fuzzer for so many seconds (nightly: half an hour), and random values in and out of the VM of scripts for as long
fuzz seconds="1800":
    tests/fuzz/run.sh {{seconds}}
    AGENTX_FUZZ_SECONDS={{seconds}} cargo test -p agentx-luau-tools --lib value::

# Takes what the fuzzers found into the kept corpus, minimised
fuzz-keep:
    tests/fuzz/run.sh keep

# The server's HTTP under schemathesis in full, with the boundary values of every field
schemathesis:
    tests/schemathesis.sh

# The conformance suite of the Model Context Protocol, as a client and as a server, and its results against docs/MCP.md
mcp-conformance:
    tests/mcp_conformance.sh

# A server behind a real nginx with the configuration of docs/PROXY.md
proxies:
    tests/proxies.sh

# Random values in and out of the VM of scripts, with the address sanitizer, for so many seconds
asan seconds="1800":
    AGENTX_FUZZ_SECONDS={{seconds}} RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address RUST_MIN_STACK=134217728 ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 \
        cargo test -p agentx-luau-tools --target x86_64-unknown-linux-gnu --target-dir target/asan --lib --tests

# Licences, sources and duplicates of dependencies
deny:
    cargo deny check bans licenses sources

# Published advisories about dependencies (needs a network)
advisories:
    tests/advisories.sh
