//! Tests that the hints about other programs name only existing commands and flags.

#[cfg(test)]
mod tests {
    use agentx_chat::other_programs::COMMAND_LINE;

    use crate::args::Cli;
    use crate::chat::slash::FOREIGN_COMMANDS;
    use clap::CommandFactory as _;

    #[test]
    fn no_own_word_is_taken_for_one_of_another_program() {
        let own = Cli::command();
        for (words, hint) in COMMAND_LINE {
            for word in *words {
                let is_flag = own.get_arguments().any(|arg| {
                    let long = arg.get_long().map(|long| format!("--{long}"));
                    let short = arg.get_short().map(|short| format!("-{short}"));
                    [long, short].into_iter().flatten().any(|own| own == *word)
                });
                assert!(!is_flag && own.find_subcommand(word).is_none(), "{word}: {hint}");
            }
        }
        for (words, _) in FOREIGN_COMMANDS {
            assert!(
                words
                    .iter()
                    .all(|word| !agentx_chat::slash_names::NAMES.contains(word)),
                "{words:?}"
            );
        }
    }

    #[test]
    fn what_is_named_exists() {
        let own = Cli::command();
        for (_, hint) in COMMAND_LINE.iter().chain(FOREIGN_COMMANDS) {
            for named in hint.split("agentx ").skip(1) {
                let word = named
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                    .next()
                    .unwrap();
                let is_there = word.starts_with("--") || own.find_subcommand(word).is_some();
                assert!(is_there, "`agentx {word}` of {hint:?}");
            }
            for named in hint.split(' ').filter_map(|word| word.strip_prefix('/')) {
                let name = named.trim_end_matches([',', '.', ';', ':']);
                assert!(
                    agentx_chat::slash_names::NAMES.contains(&name),
                    "/{name} of {hint:?}"
                );
            }
        }
    }
}
