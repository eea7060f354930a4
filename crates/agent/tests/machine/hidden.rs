//! However a command is wrapped, a rule that denies it finds it; and no line breaks the parser.

use agentx_agent::command_analysis::read;
use proptest::prelude::*;

/// Ways to run a command, each around another one; `'…'` stands for the command in quotes.
const WAYS: &[&str] = &[
    "sudo …",
    "sudo -n -u me -- …",
    "env -u HOME A='b c' …",
    "A=1 B=2 …",
    "timeout -k 5 10 …",
    "nice -n 10 …",
    "nohup … &",
    "xargs -0 -n 1 …",
    "true && …",
    "false || …",
    "… | cat",
    "ls; …; ls",
    "(…)",
    "{ …; }",
    "if true; then …; fi",
    "while …; do true; done",
    "echo $(…)",
    "echo \"a $(…) b\"",
    "cat <(…)",
    "… >/dev/null 2>&1",
    "sh -c '…'",
    "bash -o pipefail -lc '…'",
    "eval '…'",
    "trap '…' EXIT",
    "ssh -p 22 host '…'",
    "su -c '…' root",
    "find . -name x -exec … \\;",
    "cat <<E\nit's $(…)\nE",
    "bash <<'E'\n…\nE",
];

/// Quotes a text in single quotes for a shell.
fn quoted(command: &str) -> String {
    format!("'{}'", command.replace('\'', "'\\''"))
}

fn wrapped(command: &str, way: &str) -> String {
    if way.contains("'…'") {
        way.replace("'…'", &quoted(command))
    } else {
        way.replace('…', command)
    }
}

/// Returns whether this way runs only a single command, so a list of commands would be cut.
fn takes_one_command(way: &str) -> bool {
    way.starts_with("sudo")
        || way.starts_with("env")
        || way.starts_with("A=")
        || way.starts_with("timeout")
        || way.starts_with("nice")
        || way.starts_with("nohup")
        || way.starts_with("xargs")
        || way.starts_with("find")
}

proptest! {
    #[test]
    fn a_command_is_found_however_it_is_wrapped(
        simple in proptest::collection::vec(0..WAYS.len(), 0..3),
        outer in proptest::collection::vec(0..WAYS.len(), 0..2),
        program in prop_oneof![Just("rm"), Just("/bin/rm"), Just("r\\m"), Just("'rm'"), Just("r\"m\"")],
    ) {
        let mut line = format!("{program} -rf x");
        for way in simple.iter().map(|way| WAYS[*way]).filter(|way| takes_one_command(way)) {
            line = wrapped(&line, way.trim_end_matches(" &"));
        }
        for way in outer.iter().map(|way| WAYS[*way]).filter(|way| !takes_one_command(way)) {
            line = wrapped(&line, way);
        }
        let reading = read(&line);
        let found = reading.commands.iter().any(|command| command.starts_with("rm -rf x"));
        prop_assert!(found, "{line:?} {reading:?}");
    }

    #[test]
    fn no_line_breaks_the_reader(line in "[ a-c中'\"\\\\$`(){}\\[\\]<>|&;#*~!=\\-\n\r\t]{0,60}") {
        let reading = read(&line);
        prop_assert!(reading.commands.len() < 10_000);
    }
}
