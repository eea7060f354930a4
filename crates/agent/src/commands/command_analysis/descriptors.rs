//! Targets of `>&` and `<&`. If the target is not a descriptor, bash treats it as a file name and expands it
//! a second time, after quote removal: `a >&'$(rm y)'` runs `rm y`. From version 9 of the rules on.

use super::CommandAnalysis;
use super::lex::Lexed;

impl CommandAnalysis {
    /// Reads the commands that run when bash expands the targets of `>&` and `<&` a second time.
    pub(super) fn read_descriptors(&mut self, lexed: &Lexed, depth: usize) {
        for word in lexed.descriptors.iter().filter_map(|at| lexed.targets.get(*at)) {
            if word.dynamic {
                // Bash also expands the value of a variable and the output of a command.
                self.beyond_stars = true;
                self.hides = true;
            }
            if word.text.contains(['$', '`']) || word.text.contains("<(") || word.text.contains(">(") {
                self.read_substitutions(&word.text.replace('\'', ""), depth);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{read, read_as};

    /// Checked with bash 5.2: it runs `rm y` in each of them except the fourth.
    #[test]
    fn what_runs_in_the_target_of_a_descriptor_is_found() {
        for line in [
            "a >&'$(rm y)'",
            r#"a >&"\$(rm y)""#,
            "a 1>&'$(rm y)'",
            "a 2>&'$(rm y)'",
            "a >&'`rm y`'",
            r"a >&\`rm\ y\`",
            "a >&2'x[$(rm y)]'",
            r"a >&$'\x24(rm y)'",
            "a >&~/'$(rm y)'",
        ] {
            let reading = read(line);
            assert!(reading.beyond_stars, "{line}");
            assert!(
                reading.commands.iter().any(|words| words == "rm y"),
                "{line} {reading:?}"
            );
        }
    }

    #[test]
    fn a_target_that_is_not_known_hides_commands() {
        for line in ["x='$(rm y)'; a >&\"$x\"", "a >&$x", "a >&$(b)"] {
            let reading = read(line);
            assert!(reading.hides && reading.beyond_stars, "{line} {reading:?}");
        }
    }

    #[test]
    fn descriptors_and_files_are_what_they_were() {
        for line in [
            "a 2>&1",
            "a >&2",
            "a 3>&-",
            "a >& log",
            "a &>'$(rm y)'",
            "a >'$(rm y)'",
        ] {
            let reading = read(line);
            assert!(!reading.beyond_stars && !reading.hides, "{line} {reading:?}");
            assert!(!reading.commands.iter().any(|words| words == "rm y"), "{line}");
        }
        let before = read_as("a >&'$(rm y)'", 8);
        assert!(!before.beyond_stars && !before.commands.iter().any(|words| words == "rm y"));
    }
}
