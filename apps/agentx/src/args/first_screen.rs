//! The first screen: what `agentx --help` prints.

const SCREEN: [(&str, &[&str]); 6] = [
    ("talk", &["chat", "run", "resume", "rewind", "fork"]),
    (
        "look",
        &[
            "watch", "show", "diff", "replay", "context", "cache", "usage", "sessions",
        ],
    ),
    (
        "agents",
        &[
            "agents",
            "tools",
            "mcp",
            "memory",
            "models",
            "reactors",
            "approvals",
        ],
    ),
    (
        "servers",
        &["serve", "exec-server", "mirror", "identity", "waits", "schedule"],
    ),
    (
        "settings",
        &["config", "secrets", "doctor", "sandbox", "completions", "man"],
    ),
    ("more", &["debug", "help"]),
];

/// Returns the text of `agentx --help`: a screen of 24 rows.
pub(super) fn screen() -> String {
    let mut text = String::from(
        "Run agents: chat in a terminal, headless runs, sessions that keep every event\n\n\
         Usage: agentx [OPTIONS] [COMMAND]          `agentx` alone opens a chat\n\n",
    );
    for (what, commands) in SCREEN {
        text.push_str(&format!("  {what:<10}{}\n", commands.join("  ")));
    }
    text.push_str(
        "\nOptions:\n\
         \u{20} -p, --print          Run one prompt and print the answer, as `agentx run`\n\
         \u{20} -c, --continue       Continue the latest session of this directory\n\
         \u{20} -r, --resume [ID]    Continue this session, or choose one\n\
         \u{20} -m, --model <NAME>   Use this model: an id, an alias, or PROVIDER/ID\n\
         \u{20}     --agent <NAME>   Use this agent from `.agentx/agents` or your own files\n\
         \u{20} -y, --yes            Allow every call that no rule denies, without asking\n\
         \u{20}     --connect <URL>  Run the command against this server\n\
         \u{20}     --data <DIR>     Keep sessions in this directory\n\
         \u{20}     --json           Print lists and reports as JSON\n\
         \u{20} -h, --help           Print short help of a command; -V, --version\n\n\
         `agentx help` lists every command; `agentx help COMMAND` explains one.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_help_fits_a_screen() {
        let screen = screen();
        let names: Vec<&str> = SCREEN
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        let mut root = Cli::command();
        root.build();
        let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
        let mut real: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let mut named = names.clone();
        real.sort_unstable();
        named.sort_unstable();
        assert_eq!(named, real, "the first screen has every command");
        assert!(
            screen.lines().count() <= 24 && screen.lines().all(|line| line.len() <= 80),
            "{screen}"
        );
        let mut long = Vec::new();
        rows_of(&mut root, &mut long);
        assert!(long.is_empty(), "longer than a screen: {long:?}");
    }

    /// Commands below this one whose short help has more rows than a terminal of 80 columns and 24 rows shows
    /// with the line that is typed next.
    fn rows_of(command: &mut clap::Command, long: &mut Vec<String>) {
        for sub in command.get_subcommands_mut() {
            let rows = sub
                .clone()
                .term_width(80)
                .render_help()
                .to_string()
                .lines()
                .count();
            if rows > 23 {
                long.push(format!("{} {rows}", sub.get_name()));
            }
            rows_of(sub, long);
        }
    }
}
