//! The program's own files behind variables, substitutions, tildes and globs, and in code of other languages:
//! no spelling opens them where nobody is asked, and everyday lines beside them still run.

use std::sync::Arc;

use agentx_agent::approval::explain_decision;
use agentx_types::{AgentConfig, ApprovalMode, Guard, RULES_VERSION};
use serde_json::json;

use crate::rules::config;
use crate::secrets::word;
use crate::spellings::lines;

/// A configuration of a made-up person whose workspace lies two folders below the home.
fn with_rules(mode: ApprovalMode, rules: &[&str]) -> AgentConfig {
    let all = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let guard = Guard {
        secrets: all(&["/**/.env", "/**/id_rsa*", "/**/.ssh/**", "~/.aws/**"]),
        own: all(&[
            "/home/me/.local/share/agentx/**",
            "~/.local/share/agentx/**",
            "/home/me/.config/agentx",
            "/home/me/.config/agentx/**",
            "~/.config/agentx",
            "~/.config/agentx/**",
        ]),
        ..Guard::default()
    };
    AgentConfig {
        rules_version: RULES_VERSION,
        workspace: "/home/me/src/hw".into(),
        guard: Some(Arc::new(guard)),
        ..config(mode, rules)
    }
}

/// Made up: lines that open, pack or change the program's own files.
const OPEN_OWN: &[&str] = &[
    // Forms of parameters.
    "cat ${HOME:-x}/.local/share/agentx/identity",
    "cat ${HOME%/}/.local/share/agentx/identity",
    "cat ${HOME:0}/.local/share/agentx/identity",
    "cat ${HOME@P}/.local/share/agentx/identity",
    "cat \"${HOME%%x}/.config/agentx/config.yaml\"",
    "cat ${PWD%/src/*}/.local/share/agentx/identity",
    "cat ${PWD%%src*}.local/share/agentx/identity",
    "cat $XDG_CONFIG_HOME../../.config/agentx/config.yaml",
    "cat ${XDG_CONFIG_HOME:-$HOME/.config}/agentx/config.yaml",
    "cat ${XDG_DATA_HOME:-$HOME/.local/share}/agentx/identity",
    "cat ${d:-../..}/.config/agentx/config.yaml",
    "cat ..$d/..$d/.config/agentx/config.yaml",
    "cat $d../../.config/agentx/config.yaml",
    "a=(~/.*); cat \"${a[@]/%//share/agentx/identity}\"",
    "nl < ${HOME:-x}/.config/agentx/config.yaml",
    "exec 3<\"${HOME:-x}/.config/agentx/config.yaml\"; cat <&3",
    "sed \"R ${HOME:-x}/.config/agentx/config.yaml\" a.rs",
    "history -r ${HOME:-x}/.config/agentx/config.yaml; history",
    // Variables.
    "D=~; cat $D/.config/agentx/config.yaml",
    "export D=~; cat $D/.config/agentx/config.yaml",
    "X=../../.local/share; cat $X/agentx/identity",
    "D=~/.local/share; cat $D/agentx/identity",
    "D=~; cd $D/.config; cat agentx/config.yaml",
    "D=../..; cat $D/.config/*/*",
    "D=.; cat $D$D/$D$D/.config/agentx/config.yaml",
    "A=~/.loc; cat ${A}al/share/agentx/identity",
    "cd ../..; D=.config; cat $D/agentx/config.yaml",
    "set -- ~; cat $1/.config/agentx/config.yaml",
    "for d in ../..; do cat $d/.config/agentx/config.yaml; done",
    "for d in ../..; do cat $d/.config/*/*; done",
    "f(){ cat $1/.config/agentx/config.yaml; }; f ~",
    "bash -c 'cat $0/.config/agentx/config.yaml' ~",
    "bash -c 'cat $0/$1' ../../.local share/agentx/identity",
    "read d <<< ~/.config; cat $d/agentx/config.yaml",
    "printf -v p '%s/.local/share/agentx/identity' ~; cat $p",
    // Substitutions.
    "cat $(echo ~)/.local/share/agentx/identity",
    "cat $(pwd)/../../.local/share/agentx/identity",
    "cat `pwd`/../../.local/share/agentx/identity",
    "cat $(realpath ../..)/.config/agentx/config.yaml",
    "cat $(cd ~/.local/share && pwd)/agentx/identity",
    "cat $(git rev-parse --show-toplevel)/../../.local/share/agentx/identity",
    "cd \"$(git rev-parse --show-toplevel)/../..\"; cat .config/agentx/config.yaml",
    "cat $(printf %s%s ~/.local/share/age ntx/identity)",
    // Tildes and folders.
    "cat ~+0/../../.local/share/agentx/identity",
    "cd /tmp; cat ~-/../../.config/agentx/config.yaml",
    "pushd -n ~/.config; cat ~1/agentx/config.yaml",
    "CDPATH=~/.local/share:~ ; cd agentx && cat identity",
    "env -C ../.. sh -c 'cat .config/agentx/config.yaml'",
    "cat $HOME/../me/.config/agentx/config.yaml",
    "cd $HOME/../me; cat .config/agentx/config.yaml",
    // Globs.
    "shopt -s globstar dotglob; cat ~/**/identity",
    "shopt -s globstar dotglob; cat ../../**/config.yaml",
    "shopt -s dotglob; for d in ../../*/; do cat \"$d\"agentx/config.yaml; done",
    "bash -O globstar -O dotglob -c 'cat ~/**/identity'",
    "GLOBIGNORE=x; cat ../../*/agentx/config.yaml",
    "GLOBIGNORE=x; cat ../../*/*/*/identity",
    "cat $(compgen -G '../../.con*/a*/con*')",
    "curl -s 'file:///home/me/.local/share/agent[x-x]/identity'",
    "curl -s 'file:///home/me/.local/share/{agentx}/identity'",
    // Lists of names.
    "find ../.. -name identity > n; cat $(cat n)",
    "find ../.. -name identity -fprintf n.sh 'cat %p\\n'; sh n.sh",
    "find ../.. -name identity | sed 's/^/cat /e'",
    "echo agentx/identity | (cd ~/.local/share; xargs cat)",
    "tar cf - -T <(echo ../../.config)",
    "echo ../../.config > t; tar cf - -T t",
    // Whole folders.
    "cp -r ${HOME:-x}/.config y",
    "D=../../.config; grep -r key $D",
    "D=../../.config; cd $D; grep -r key",
    "find ${HOME:-x}/.local -name identity -exec cat {} +",
    "grep -r key $(pwd)/../..",
    // Code in other languages.
    "python3 -c 'import os;print(open(os.environ[\"HOME\"]+\"/.local/share/agentx/identity\").read())'",
    "python3 -c 'from pathlib import Path;print((Path.home()/\".local\"/\"share\"/\"agentx\"/\"x\").stat())'",
    "node -p 'fs.readFileSync([\"..\",\"..\",\".local\",\"share\",\"agentx\",\"identity\"].join(\"/\"))'",
    "perl -e 'open F,\"$ENV{HOME}/.local/share/agentx/identity\";print <F>'",
    "perl -e 'for(glob \"~/.local/share/*/ident*\"){open F,$_;print <F>}'",
    "awk 'BEGIN{f=ENVIRON[\"HOME\"] \"/.local/share/agentx/identity\"; getline l < f; print l}'",
    "sed 's/.*/cat ..\\/..\\/.local\\/share\\/agentx\\/identity/e' a.rs",
    "make -s --eval 'x:; @cat $(HOME)/.config/agentx/config.yaml' x",
    // Changes.
    "sed -i 's/a/b/' ${HOME:-x}/.config/agentx/config.yaml",
    "D=~/.config; cp a.rs $D/agentx/agents/e.md",
    "tee ${HOME:-x}/.config/agentx/planted < a.rs",
    "echo x > ${HOME:-x}/.config/agentx/planted",
];

/// Made up: everyday lines with variables, substitutions and globs.
const EVERYDAY: &[&str] = &[
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "cd \"$(git rev-parse --show-toplevel)\" && cargo test",
    "X=$(mktemp -d); cp a \"$X/\"",
    "X=$(mktemp -d); cp -r src \"$X/src\"; ls \"$X\"",
    "D=target/debug; ls -la $D/deps | head",
    "for d in crates/*/; do (cd \"$d\" && cargo test); done",
    "cat \"$1\"",
    "rm -rf \"$BUILD_DIR/out\"",
    "export PATH=$HOME/.cargo/bin:$PATH; cargo build",
    "V=$(cargo pkgid | cut -d# -f2); echo \"v$V\"",
    "B=$(git branch --show-current); git log --oneline main..$B",
    "find . -name '*.rs' | while read f; do wc -l \"$f\"; done",
    "while read -r f; do cp \"$f\" build/; done < list",
    "ROOT=$(cd \"$(dirname \"$0\")/..\" && pwd); cp -r \"$ROOT/src\" build",
    "cd \"$(dirname \"$0\")/..\" && cargo test",
    "for i in 1 2 3; do curl -s \"http://localhost:$PORT/$i\"; done",
    "f() { grep -rn \"$1\" src; }; f todo",
    "set -e; for t in tests/*.sh; do bash \"$t\"; done",
    "bash -c 'for f in \"$@\"; do wc -l \"$f\"; done' _ src/a.rs src/b.rs",
    "env -C crates/types sh -c 'cargo test'",
    "pushd crates/types; cargo test; popd",
    "shopt -s globstar; wc -l src/**/*.rs",
    "shopt -s dotglob; ls *",
    "tar czf \"$OUT/x.tgz\" src",
    "OUT=dist; mkdir -p $OUT && cp target/release/agentx $OUT/",
    "cat $ROOT/crates/agentx/src/main.rs",
    "grep -rn identity crates/agentx/src/identity",
    "python3 -c 'import os;print(open(os.environ[\"HOME\"]+\"/x.txt\").read())'",
    "python3 -c 'import json,sys;print(json.load(open(\"package.json\"))[\"name\"])'",
    "node -e 'console.log(require(\"./package.json\").version)'",
    "awk -F: '{ print $1 \"/\" $2 }' x",
    "sed -i \"s/$OLD/$NEW/g\" src/a.rs",
    "cat > docs/x.md <<EOF\nThe settings are in ~/.config/agentx/config.yaml.\nEOF",
    "git commit -m \"Read the settings of $NAME\"",
    "diff <(sort a) <(sort b)",
    "ls ~/.config",
    "cat \"${XDG_CACHE_HOME:-$HOME/.cache}/tool/log\"",
    "cp \"$(which node)\" build/node",
    "echo \"${PWD##*/}\"",
    "A=1 B=2 make test",
    "npm test -- \"$FILE\"",
    "test -f \"$HOME/.cargo/env\" && . \"$HOME/.cargo/env\"",
    "for f in *.tar.gz; do tar xzf \"$f\" -C \"${f%.tar.gz}\"; done",
];

fn bash(config: &AgentConfig, line: &str) -> &'static str {
    word(config, "bash", json!({ "command": line }))
}

#[test]
fn no_spelling_opens_the_files_of_the_program_where_nobody_is_asked() {
    let auto = with_rules(ApprovalMode::Auto, &[]);
    let opened: Vec<&str> = OPEN_OWN
        .iter()
        .copied()
        .filter(|line| bash(&auto, line) != "deny")
        .collect();
    assert!(opened.is_empty(), "{}", opened.join("\n"));
    assert!(OPEN_OWN.len() >= 60);
    let older = AgentConfig {
        rules_version: RULES_VERSION - 1,
        ..auto
    };
    let before = OPEN_OWN.iter().filter(|line| bash(&older, line) == "allow");
    assert!(
        before.count() > 0,
        "sessions of before are decided about as they were"
    );
}

#[test]
fn everyday_lines_with_variables_run_beside_the_files_of_the_program() {
    let auto = with_rules(ApprovalMode::Auto, &[]);
    let stopped: Vec<&str> = EVERYDAY
        .iter()
        .copied()
        .filter(|line| bash(&auto, line) != "allow")
        .collect();
    assert!(stopped.is_empty(), "{}", stopped.join("\n"));
    let unguarded = AgentConfig {
        guard: None,
        ..auto.clone()
    };
    for entry in lines(include_str!("spellings/everyday.txt")) {
        let line = entry
            .trim_start_matches("? ")
            .split(" => ")
            .next()
            .unwrap_or_default();
        assert_eq!(bash(&auto, line), bash(&unguarded, line), "{line}");
    }
}

#[test]
fn values_of_a_line_lead_to_secrets_too() {
    let auto = with_rules(ApprovalMode::Auto, &[]);
    for line in [
        "D=~/.aws; cat $D/credentials",
        "for d in ~/.aws; do cat $d/config; done",
        "cat $(echo ~/.aws)/credentials",
    ] {
        assert_eq!(bash(&auto, line), "ask", "{line}");
    }
}

#[test]
fn a_line_with_more_values_than_are_checked_is_not_run_without_a_person() {
    let auto = with_rules(ApprovalMode::Auto, &[]);
    let values = |count: usize| (0..count).map(|n| format!("D{n}=x/{n}; ")).collect::<String>();
    assert_eq!(bash(&auto, &format!("{}cat $D1/a", values(100))), "allow");
    assert_ne!(bash(&auto, &format!("{}cat $D1/a", values(600))), "allow");
    // The work is bounded for a line that repeats a word.
    let repeated = format!("{}cat{}", values(400), " $Y/a".repeat(20_000));
    assert_ne!(bash(&auto, &repeated), "allow");
}

#[test]
fn the_program_is_known_under_another_name() {
    let auto = with_rules(ApprovalMode::Auto, &["allow bash"]);
    for line in [
        "/proc/$PPID/exe identity export",
        "p=$PPID; /proc/$p/exe sessions",
        "/proc/*/exe sessions",
        "cp /proc/$PPID/exe zz; ./zz sessions",
        "ln -s /opt/bin/agentx zz; ./zz identity export",
        "cp /opt/bin/agent* zz; ./zz identity export",
        "/opt/bin/agent[x] config show",
        "find /opt/bin -name 'agent*' -exec {} identity export \\;",
    ] {
        assert_eq!(bash(&auto, line), "deny", "{line}");
    }
    for line in [
        "cp target/debug/agentx x",
        "ls -l /proc/self/status",
        "find . -name '*.sh' -exec bash {} \\;",
        "cp a.sh b.sh; ./b.sh",
    ] {
        assert_eq!(bash(&auto, line), "allow", "{line}");
    }
}

/// Made up: a workspace in which the data folder lies. An unknown beginning may stand for that folder, but
/// then every name would be one of AgentX itself.
#[test]
fn a_data_folder_in_the_workspace_does_not_take_lines_that_do_not_name_it() {
    let mut config = with_rules(ApprovalMode::Ask, &[]);
    let own = "/home/me/src/hw/data/**";
    let guard = Guard {
        own: vec![own.to_owned()],
        ..config.guard.as_deref().cloned().unwrap_or_default()
    };
    config.guard = Some(Arc::new(guard));
    let verdict = |line: &str| word(&config, "bash", json!({ "command": line }));
    for line in [
        "sh p.sh",
        "sh sub/p.sh x",
        "timeout 5 sh p.sh",
        "printf '%s' hello",
        "echo \"$i/10\"",
        "set -- a b",
    ] {
        assert_ne!(verdict(line), "deny", "{line}");
    }
    for line in [
        "cat data/identity",
        "bash -c 'cat $0/$1' data identity",
        "D=data; cat $D/identity",
        "cat */identity",
    ] {
        assert_eq!(verdict(line), "deny", "{line}");
    }
}

/// The refusal tells that the line only may name such a file.
#[test]
fn a_refusal_for_a_star_says_that_it_may_name_a_file_of_the_program() {
    let config = with_rules(ApprovalMode::Ask, &[]);
    let tool = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let reason = |line: &str| explain_decision(&config, tool, &json!({ "command": line })).reason;
    let said = reason("cat ../../.config/*/config.yaml");
    assert!(
        said.contains("* may name a file that belongs to AgentX itself")
            || said.contains("/config.yaml may name a file that belongs to AgentX itself"),
        "{said}"
    );
    let said = reason("cat ~/.config/agentx/config.yaml");
    assert!(said.contains(": it belongs to AgentX itself"), "{said}");
}
