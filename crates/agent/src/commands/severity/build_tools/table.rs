//! The options of build and test tools that a star matches. They filter, count, select packages and features
//! of the project, or change the display in the terminal. Options that name another configuration, another
//! directory, a program, a module, an output file or a variable are left out, and so are options for which
//! this is unknown.
//!
//! They were compared with `--help` of Cargo, rustc, Node.js, Python, make, pytest, tox, nox, Ruff, mypy,
//! Black, Jest, Vitest, Mocha, ESLint, TypeScript and Prettier. Those of the other tools follow their manuals
//! and were not compared with the programs.

/// Harmless options of a tool.
pub(super) struct Harmless {
    /// The programs, parted by blanks.
    pub(super) programs: &'static str,
    /// The subcommand, or none for all of them. With `--` the row is about the words behind that, which
    /// belong to another program.
    pub(super) subcommand: &'static str,
    /// Letters without a value, alone or in a group.
    pub(super) letters: &'static str,
    /// Letters with a value, in the same word or in the next one. Tools that may read another letter in the
    /// same word (`jest -tc x` is `-t -c x`) have none of these.
    pub(super) valued: &'static str,
    /// Whole words, with or without a value: long options, those of one dash, and options with this value
    /// alone.
    pub(super) words: &'static str,
}

/// A row of the table below.
const fn row(
    programs: &'static str,
    subcommand: &'static str,
    letters: &'static str,
    valued: &'static str,
    words: &'static str,
) -> Harmless {
    Harmless {
        programs,
        subcommand,
        letters,
        valued,
        words,
    }
}

/// Options that mean the same to the usual runners of JavaScript. It is not known which one a script of
/// `package.json` starts: Mocha loads a module with `-u`, which updates snapshots for Jest.
const OF_RUNNERS: &str = "--bail --check --ci --color --coverage --exit --fix --forceExit --grep --help --list-different \
    --max-warnings --maxWorkers --no-color --no-coverage --no-watch --noEmit --passWithNoTests --quiet --retry --run \
    --runInBand --silent --testNamePattern --testPathPattern --testPathPatterns --timeout --update --updateSnapshot \
    --verbose --version --watch --watchAll --write";

/// Options of the package managers themselves, and of nothing that they run.
const OF_MANAGERS: &str = "--aggregate-output --all --color --depth --dry-run --filter --frozen-lockfile --help \
    --if-present --ignore-scripts --immutable --include-workspace-root --json --long --loglevel --no-audit --no-bail \
    --no-color --no-fund --no-progress --offline --omit --parallel --parseable --prefer-offline --prod --production \
    --quiet --recursive --silent --sort --stream --verbose --version --workspace --workspace-concurrency --workspaces";

/// Options of the package managers that say how a package is written down.
const OF_ADDING: &str = "--dev --exact --legacy-peer-deps --no-save --optional --package-lock-only --peer --save \
    --save-dev --save-exact --save-optional --save-peer --save-prod";

/// Options that tell most programs to say more, less, or how they are used.
pub(super) const OF_ANY: &str = "--help --quiet --verbose --version";

/// The table.
#[rustfmt::skip]
pub(super) const TABLE: &[Harmless] = &[
    row("cargo", "", "hqrvV", "jpF",
        "--all --all-features --all-targets --bench --benches --bin --bins --color --depth --doc --duplicates --edges --example \
         --examples --exclude --explain --features --format-version --frozen --future-incompat-report --help \
         --ignore-rust-version --invert --jobs --keep-going --lib --list --locked --message-format --no-default-features \
         --no-deps --no-fail-fast --no-run --offline --package --profile --prune --quiet --release --target --test --tests \
         --timings --unit-graph --verbose --version --workspace"),
    row("cargo", "add", "", "", "--build --dev --dry-run --no-optional --optional --rename"),
    row("cargo", "clippy", "", "", "--fix"),
    row("cargo", "doc", "", "", "--document-private-items"),
    row("cargo", "fix", "", "", "--edition --edition-idioms"),
    row("cargo", "fmt", "", "", "--check"),
    row("cargo", "nextest", "", "EP",
        "--build-jobs --cargo-profile --cargo-quiet --fail-fast --failure-output --filter-expr --filterset \
         --final-status-level --hide-progress-bar --ignore-default-filter --max-fail --no-capture --no-tests --nocapture \
         --partition --retries --run-ignored --show-progress --status-level --success-output --test-threads"),
    row("cargo", "tree", "d", "ei", ""),
    row("cargo", "bench --", "q", "",
        "--exact --list --nocapture --skip --quiet --noplot --quick --sample-size --warm-up-time --measurement-time"),
    row("cargo", "clippy --", "", "ADFW", "--allow --deny --forbid --warn --cap-lints"),
    row("cargo", "fmt --", "hlqv", "", "--check --color --edition --files-with-diff --help --quiet --style-edition --verbose"),
    row("cargo", "nextest --", "", "", "--exact --ignored --include-ignored --nocapture --no-capture --skip"),
    row("cargo", "run --", "", "", OF_ANY),
    row("cargo", "test --", "hq", "",
        "--bench --color --exact --format --help --ignored --include-ignored --list --no-capture --nocapture --quiet \
         --show-output --skip --test --test-threads"),
    row("rustc", "", "ghOvV", "ADFW",
        "--allow --cap-lints --color --crate-name --crate-type --deny --edition --error-format --explain --forbid --help --test \
         --verbose --version --warn"),

    row("npm", "", "dhlqsv", "", OF_MANAGERS),
    row("npm", "", "", "", "-w"),
    row("npm pnpm yarn bun", "--", "biv", "", OF_RUNNERS),
    row("npm pnpm yarn bun", "--", "", "", "-g -t"),
    row("npm", "add", "BDEOPS", "", OF_ADDING),
    row("npm", "i", "BDEOPS", "", OF_ADDING),
    row("npm", "install", "BDEOPS", "", OF_ADDING),
    row("pnpm yarn", "", "hqrsvw", "", OF_MANAGERS),
    row("bun", "", "hv", "", OF_MANAGERS),
    row("pnpm bun", "", "", "", "-F"),
    row("pnpm yarn bun", "add", "DEOP", "", OF_ADDING),
    row("bun", "test", "", "", "-t --bail --coverage --only --rerun-each --test-name-pattern --timeout --todo \
         --update-snapshots"),
    row("npx bunx pnpx uvx", "", "hqy", "", "--help --no --no-install --offline --prefer-offline --quiet --version --yes"),
    row("node", "", "chv", "",
        "--check --enable-source-maps --experimental-strip-types --experimental-test-coverage --expose-gc --help \
         --max-old-space-size --no-deprecation --no-warnings --pending-deprecation --run --stack-trace-limit --test \
         --test-concurrency --test-force-exit --test-name-pattern --test-only --test-shard --test-skip-pattern \
         --test-timeout --throw-deprecation --trace-deprecation --trace-uncaught --trace-warnings --unhandled-rejections \
         --version --watch"),
    row("node python deno go coverage", "--", "", "", OF_ANY),
    row("deno", "", "hqV", "",
        "--check --fail-fast --filter --fix --help --no-check --parallel --quiet --shuffle --version --watch"),
    row("jest", "", "bfhiouv", "",
        "-t -w --bail --changedSince --ci --clearCache --clearMocks --color --colors --coverage --debug --detectOpenHandles \
         --errorOnDeprecated --expand --findRelatedTests --forceExit --help --json --listTests --logHeapUsage --maxWorkers \
         --no-cache --no-color --no-coverage --noStackTrace --onlyChanged --onlyFailures --passWithNoTests --randomize \
         --resetMocks --runInBand --runTestsByPath --seed --selectProjects --shard --showConfig --showSeed --silent \
         --testLocationInResults --testNamePattern --testPathIgnorePatterns --testPathPattern --testPathPatterns \
         --testTimeout --updateSnapshot --useStderr --verbose --version --watch --watchAll"),
    row("vitest", "", "huvw", "",
        "-t --allowOnly --bail --changed --clearScreen --color --coverage --disableConsoleIntercept --exclude \
         --fileParallelism --globals --help --hideSkippedTests --hookTimeout --isolate --logHeapUsage --maxWorkers \
         --minWorkers --no-color --no-coverage --no-file-parallelism --no-isolate --no-watch --passWithNoTests \
         --printConsoleTrace --project --retry --run --shard --silent --testNamePattern --testTimeout --typecheck --update \
         --version --watch"),
    row("mocha", "", "bcChiVwA", "",
        "-f -g -j -s -t --allow-uncaught --async-only --bail --check-leaks --color --colors --delay --diff --dry-run \
         --exit --fail-zero \
         --fgrep --forbid-only --forbid-pending --full-trace --grep --help --inline-diffs --invert --jobs \
         --list-interfaces --list-reporters --no-color --no-colors --no-diff --no-timeout --parallel \
         --pass-on-failing-test-suite --recursive --retries --slow --sort --timeout --version --watch"),
    row("eslint", "", "hv", "",
        "--cache --color --debug --env-info --exit-on-fatal-error --ext --fix --fix-dry-run --fix-type --help \
         --ignore-pattern --max-warnings --no-cache --no-color --no-error-on-unmatched-pattern --no-ignore \
         --no-inline-config --no-warn-ignored --pass-on-no-patterns --print-config --quiet --report-unused-disable-directives \
         --report-unused-inline-configs --stats --version"),
    row("tsc", "", "", "",
        "-b -h -m -t -v -w --all --allowJs --build --checkJs --composite --diagnostics --downlevelIteration --dry \
         --esModuleInterop --explainFiles --extendedDiagnostics --force --help --incremental --isolatedModules --jsx --lib \
         --listEmittedFiles --listFiles --module --moduleResolution --noEmit --noEmitOnError --noImplicitAny \
         --noUnusedLocals --noUnusedParameters --preserveWatchOutput --pretty --resolveJsonModule --showConfig \
         --skipLibCheck --strict --target --traceResolution --verbose --version --watch"),
    row("prettier", "", "chluw", "",
        "--arrow-parens --bracket-same-line --cache --check --color --end-of-line --help --ignore-unknown \
         --insert-pragma --jsx-single-quote --list-different --log-level --loglevel --no-bracket-spacing --no-color --no-config \
         --no-editorconfig --no-error-on-unmatched-pattern --no-semi --print-width --prose-wrap --quote-props \
         --require-pragma --single-quote --support-info --tab-width --trailing-comma --use-tabs --version --write"),

    row("python", "", "BbdEhIOPqsSuvV", "", "--help --version"),
    row("pytest", "", "hlqsvx", "kmnr",
        "--asyncio-mode --benchmark-disable --benchmark-only --benchmark-skip --capture --co --collect-only --color --cov \
         --cov-branch --cov-report=term --cov-report=term-missing --deselect --disable-warnings --dist --doctest-modules \
         --durations --durations-min --exitfirst --failed-first \
         --ff --fixtures --full-trace --help --hypothesis-seed --ignore --ignore-glob --import-mode --last-failed --lf --log-cli-level --log-level --markers \
         --maxfail --new-first --nf --no-cov --no-cov-on-fail --no-header --no-summary --numprocesses --quiet --randomly-seed \
         --reruns --reruns-delay --runxfail --setup-only --setup-plan --setup-show --showlocals --snapshot-update --stepwise \
         --stepwise-skip --strict-config --strict-markers --sw --tb --timeout --verbose --version"),
    row("coverage", "", "hi", "",
        "--append --branch --fail-under --help --ignore-errors --parallel-mode --precision --skip-covered --skip-empty --version"),
    row("coverage", "report", "m", "", "--show-missing --sort"),
    row("unittest", "", "bcfhqv", "kpst", "--buffer --catch --durations --failfast --help --locals --quiet --verbose"),
    row("tox", "", "hlpqrv", "e",
        "--help --list --notest --parallel --quiet --recreate --skip-missing-interpreters --verbose --version"),
    row("nox", "", "hlrRv", "epst", "--help --list --no-install --reuse-existing-virtualenvs --verbose --version"),
    row("tox nox", "--", "qv", "", OF_ANY),
    row("uv poetry pdm pipenv hatch", "", "hqvV", "", "--help --frozen --locked --no-sync --offline --quiet --verbose --version"),
    row("ruff", "", "ehnqsvVw", "",
        "--add-noqa --check --diff --exclude --exit-non-zero-on-fix --exit-non-zero-on-format --exit-zero --extend-exclude \
         --extend-ignore --extend-select --fix --fix-only --fixable --force-exclude --help --ignore --isolated --line-length \
         --no-cache --no-fix --no-preview --no-respect-gitignore --no-unsafe-fixes --output-format --per-file-ignores --preview \
         --quiet --range --respect-gitignore --select --show-files --show-fixes --show-settings --show-source --silent \
         --statistics --target-version --unfixable --unsafe-fixes --verbose --version --watch"),
    row("mypy", "", "hvV", "",
        "--allow-redefinition --check-untyped-defs --disable-error-code --disallow-untyped-defs --enable-error-code --exclude \
         --explicit-package-bases --follow-imports --help --hide-error-codes --ignore-missing-imports --implicit-reexport \
         --namespace-packages --no-color-output --no-error-summary --no-implicit-optional --no-implicit-reexport \
         --no-incremental --no-warn-no-return --platform --pretty --python-version --scripts-are-modules --show-column-numbers \
         --show-error-codes --show-error-context --skip-version-check --sqlite-cache --strict --strict-optional --verbose \
         --version --warn-return-any --warn-unreachable --warn-unused-ignores"),
    row("black", "", "ChqSv", "ltW",
        "--check --color --diff --exclude --extend-exclude --fast --force-exclude --help --include --line-length --no-color \
         --preview --pyi --quiet --required-version --safe --skip-magic-trailing-comma --skip-string-normalization \
         --target-version --unstable --verbose --version --workers"),

    row("go", "", "", "",
        "-a -all -bench -benchmem -benchtime -buildvcs -c -count -cover -covermode -coverpkg -cpu -deps -e -f -failfast \
         -fullpath \
         -fuzz -fuzztime -h -json -list -m -n -p -parallel -race -run -short -shuffle -skip -src -tags -test -timeout -trimpath \
         -v -vet -work -x"),
    row("go", "get", "", "", "-t -tool -u"),
    row("make gmake", "", "BdhiknqrRsSvwL", "jlO",
        "--always-make --debug --dry-run --help --ignore-errors --jobs --just-print --keep-going --load-average --max-load \
         --no-builtin-rules --no-builtin-variables --no-print-directory --output-sync --print-directory \
         --question --quiet --recon --silent --trace --version --warn-undefined-variables"),
    row("bmake", "", "BiknqrSsWw", "j", ""),
    row("cmake", "", "hLNv", "Gjt",
        "-Wdev -Wno-dev --build --clean-first --config --fresh --help --log-level --parallel --preset --target --use-stderr --verbose \
         --version"),
    row("ctest", "", "FhNQVW", "CEIjLR",
        "-LE -VV --build-config --exclude-regex --help --label-exclude --label-regex --output-on-failure --parallel --preset \
         --progress --quiet --repeat --rerun-failed --schedule-random --show-only --stop-on-failure --tests-regex --timeout \
         --verbose --version"),
    row("ninja", "", "hnv", "djkl", "--quiet --verbose --version"),
    row("just", "", "hlnqvV", "s",
        "--color --dry-run --groups --help --list --quiet --show --summary --unsorted --verbose --version"),
    row("just", "--", "qv", "", "--help --nocapture --quiet --verbose --version"),
    row("gradle gradlew", "", "ahimqsSvw", "x",
        "--build-cache --configuration-cache --console --continue --daemon --debug --dry-run --exclude-task --fail-fast \
         --full-stacktrace --help --info --max-workers --no-build-cache --no-configuration-cache --no-daemon --no-parallel \
         --no-scan --offline --parallel --profile --quiet --refresh-dependencies --rerun --rerun-tasks --stacktrace --status \
         --stop --tests --version --warn --warning-mode"),
    row("mvn mvnw", "", "BehNoqUvVX", "T",
        "-Dit.test -DfailIfNoSpecifiedTests -DfailIfNoTests -Dmaven.test.skip -DskipITs -DskipTests -Dstyle.color \
         -Dsurefire.failIfNoSpecifiedTests -Dtest -am -amd -fae -ff -fn -nsu -ntp -pl -rf --also-make --also-make-dependents \
         --batch-mode --debug --errors --fail-at-end --fail-fast --fail-never --help --no-transfer-progress --non-recursive \
         --offline --projects --quiet --resume-from --show-version --threads --update-snapshots --version"),
    row("dotnet", "", "h", "",
        "-c -f -v --arch --blame --blame-hang --blame-hang-timeout --configuration --exclude --filter --force --framework --help \
         --include --info --list-runtimes --list-sdks --list-tests --no-build --no-dependencies --no-incremental --no-restore \
         --no-self-contained --nologo --os --runtime --self-contained --severity --tl --verbosity --verify-no-changes --version"),
    row("dotnet", "test", "t", "", ""),
    row("dotnet", "--", "", "", OF_ANY),

    row("rspec", "", "bhvwn", "et",
        "-fd -fp -fdoc --backtrace --bisect --color --dry-run --example --example-matches --exclude-pattern --fail-fast \
         --failure-exit-code --force-color --format=doc --format=documentation --format=progress --help --next-failure \
         --no-color \
         --no-fail-fast --no-profile --only-failures --order --pattern --profile --seed --tag --version --warnings"),
    row("rubocop", "", "aADElPSvV", "",
        "--autocorrect --autocorrect-all --color --disable-pending-cops --display-cop-names --display-style-guide \
         --display-only-fail-level-offenses --enable-pending-cops --except --fail-fast --fail-level --format=progress \
         --format=simple --help --lint --list-target-files --no-color --only --parallel --safe --version"),
    row("rake", "", "AhmnPqsvV", "DjtT",
        "--all --dry-run --help --jobs --multitask --prereqs --quiet --silent --tasks --trace --verbose --version"),
    row("bundle", "", "hv", "", "--help --quiet --verbose --version"),
    row("phpunit", "", "hv", "",
        "--cache-result --colors --columns --covers --debug --disallow-test-output --display-all-issues --display-deprecations \
         --display-errors --display-incomplete --display-notices --display-skipped --display-warnings --do-not-cache-result \
         --exclude-filter --exclude-group --exclude-testsuite --fail-on-risky --fail-on-warning --filter --group --help \
         --list-groups --list-suites --list-tests --no-coverage --no-output --no-progress --no-results --order-by \
         --process-isolation --random-order --random-order-seed --repeat --reverse-list --stop-on-defect --stop-on-error \
         --stop-on-failure --stop-on-risky --stop-on-warning --strict-coverage --testdox --testsuite --uses --verbose --version"),
    row("composer", "", "hnqvV", "",
        "--ansi --dev --dry-run --help --no-ansi --no-dev --no-interaction --no-plugins --no-progress --no-scripts \
         --optimize-autoloader --prefer-dist --profile --quiet --verbose --version"),
    row("composer", "--", "v", "", OF_ANY),
    row("mix", "", "v", "",
        "--all-warnings --check-formatted --color --cover --dry-run --exclude --failed --force --help --include --max-cases \
         --max-failures --no-archives-check --no-color --no-compile --no-deps-check --no-start --only --partitions --raise \
         --seed --slowest --stale --timeout --trace --verbose --version --warnings-as-errors"),
    row("cabal", "", "h", "jOvf",
        "--disable-tests --dry-run --enable-benchmarks --enable-coverage --enable-tests --flags --help --jobs --keep-going \
         --offline --only-dependencies --test-show-details --verbose --version"),
    row("cabal stack", "--", "", "", OF_ANY),
    row("stack", "", "hv", "j",
        "--bench --color --coverage --dry-run --fast --file-watch --flag --haddock --help --jobs --no-haddock \
         --no-run-benchmarks --no-run-tests --no-terminal --only-dependencies --pedantic --silent --terminal --test --verbose \
         --version"),
];
