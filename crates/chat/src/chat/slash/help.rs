//! The text of `/help` for a terminal of any width: an overview in 24 rows, each command, and the keys.

use agentx::config::nearest;
use agentx::services::COMMAND_GROUPS;
use agentx_terminal::Line;

use crate::slash_names::NAMES;

/// The column of the descriptions of commands; in a narrow terminal they stand below the command.
const DOES: usize = 26;
const BELOW: usize = 4;
/// A terminal with less room is a narrow one.
const NARROW: usize = 72;

/// Returns the help for a topic, wrapped to `width`: an overview, one command, or the keys.
pub(crate) fn help(topic: Option<&str>, width: usize) -> String {
    let Some(topic) = topic.map(|topic| topic.trim_start_matches('/')) else {
        return in_rows(OVERVIEW, width);
    };
    if matches!(topic, "keys" | "key") {
        return in_rows(KEYS, width);
    }
    if matches!(topic, "all" | "commands") {
        return in_rows(&commands(), width);
    }
    let name = topic.split(char::is_whitespace).next().unwrap_or_default();
    let commands = commands();
    let lines: Vec<&str> = commands.lines().filter(|line| is_about(line, name)).collect();
    if !lines.is_empty() {
        return in_rows(&lines.join("\n"), width);
    }
    let near = nearest(name, NAMES.iter().copied(), 1);
    let near = near.first().map(|near| format!(" did you mean /help {near}?"));
    format!(
        "there is no command /{name};{} /help lists the commands\n",
        near.unwrap_or_default()
    )
}

/// Returns a text in rows of this width; descriptions of commands have their own column.
pub(super) fn in_rows(text: &str, width: usize) -> String {
    let indent = if width < NARROW { BELOW } else { DOES };
    let mut rows_of_all = String::new();
    for line in text.lines() {
        if line.is_empty() {
            rows_of_all.push('\n');
            continue;
        }
        let Some((command, does)) = line.split_once("  ").filter(|_| line.starts_with('/')) else {
            let blanks = line.len() - line.trim_start().len();
            for row in wrapped_rows(line.trim_start(), width.saturating_sub(blanks)) {
                rows_of_all.push_str(&format!("{:blanks$}{row}\n", ""));
            }
            continue;
        };
        let mut rows = wrapped_rows(does.trim(), width.saturating_sub(indent));
        // A long command has its own row, as all have in a narrow terminal.
        let beside = if indent == DOES && command.len() + 2 <= DOES {
            rows.next().unwrap_or_default()
        } else {
            String::new()
        };
        rows_of_all.push_str(format!("{command:<DOES$}{beside}").trim_end());
        rows_of_all.push('\n');
        rows.for_each(|row| rows_of_all.push_str(&format!("{:indent$}{row}\n", "")));
    }
    rows_of_all
}

/// Returns a short description of a command.
pub(crate) fn about(name: &str) -> Option<&'static str> {
    let mut rows = COMMAND_GROUPS.iter().flat_map(|(_, rows)| rows.iter());
    rows.find(|(usage, _)| is_about(usage, name))
        .map(|(_, does)| *does)
}

/// The commands in their groups, a line for each form.
fn commands() -> String {
    let line = |(usage, does): &(&str, &str)| format!("{usage:<24}  {does}\n");
    let group = |(name, rows): &(&str, &[(&str, &str)])| {
        let lines: String = rows.iter().map(line).collect();
        format!("{name}\n{lines}")
    };
    let groups: Vec<String> = COMMAND_GROUPS.iter().map(group).collect();
    groups.join("\n")
}

/// Returns whether a line is about the command of this name.
pub(super) fn is_about(line: &str, name: &str) -> bool {
    let command = line.split_once("  ").map_or(line, |(command, _)| command);
    let mut words = command.split([' ', ',']);
    words.any(|word| word.strip_prefix('/') == Some(name))
}

/// A line in as many rows as it needs.
fn wrapped_rows(line: &str, width: usize) -> impl Iterator<Item = String> + use<> {
    let rows = Line::new(line, Default::default()).rows(width.max(1));
    rows.into_iter().map(|row| row.text())
}

/// The commands that people use most, in groups.
const OVERVIEW: &str = "\
/help COMMAND explains a command, /help keys lists the keys, /help all shows everything.

Session: /new /clear /resume /retry /rewind /compact /copy /export
  start or continue a session, ask again, go back, condense, copy or save text
Model: /model /effort /usage /context /status
  choose the model and its effort, show the cost and the context window
Permission: /plan /approvals /approve-mode
  plan first, list the approval rules, choose what happens to other calls (Shift-Tab)
While it works: /steer /queue /jobs /output /diff
  send a message at once, list what waits and what runs, show output and changes
Setup: /init /config /doctor /mcp /memory /quit
  write an AGENTS.md for the project, show the settings, find problems, leave

Type / for commands, @ for files. Enter sends; Alt-Enter or a \\ at the end starts a new line.
@FILE attaches a file, !COMMAND runs a command and shows the agent its output.
Answer a question with y, s, a or n and Enter, or with Alt and the letter.
Esc or Ctrl-C stops the agent, Ctrl-D leaves.
";

/// The descriptions of the keys.
const KEYS: &str = "\
Enter sends, Alt-Enter or a \\ at the end starts a new line, // sends a message that begins with /.
Typing / or @ opens a list: ↑ ↓ choose, Tab completes, Enter takes, Esc closes it. Ctrl-R searches earlier messages.
Shift-Tab changes what happens to calls that no rule covers: ask, accept-edits, plan, deny; only /approve-mode sets auto.
Ctrl-X Ctrl-E edits the line in $VISUAL or $EDITOR; Ctrl-V attaches the picture in the clipboard.
Ctrl-O shows the last tool's output, up to 1,000 lines; Ctrl-T shows or folds reasoning, Ctrl-L clears the screen.
Answer a question with y, s, a or n and Enter, or at once with Alt; n WORDS gives a reason, s PATTERN sets another rule.
Messages typed while the agent works are queued: Alt-↑ takes the last one back, Ctrl-S sends it at once.
Esc or Ctrl-C stops the agent and returns queued messages to the input line, one after the other; the session continues.
Ctrl-D on an empty line leaves, or Ctrl-C twice; while something runs, press Ctrl-D twice. Ctrl-Z suspends AgentX.
";

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands that only `/help all` names.
    const RARE: &[&str] = &[
        "exit", "secret", "todo", "thinking", "sessions", "title", "fork", "pin", "unpin", "who", "wheel",
    ];

    fn split_words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn help_fits_wherever_it_is_read() {
        for width in [40, 80, 200] {
            let all = commands();
            for (topic, whole) in [
                (None, OVERVIEW),
                (Some("keys"), KEYS),
                (Some("all"), all.as_str()),
            ] {
                let text = help(topic, width);
                assert!(
                    text.lines().all(|line| agentx_terminal::width(line) <= width),
                    "{text}"
                );
                assert_eq!(split_words(&text), split_words(whole), "no word is lost");
            }
        }
        let wide = help(Some("all"), 80);
        assert!(
            wide.contains("\n/todo                     show the to-do list of the agent\n"),
            "{wide}"
        );
        assert!(help(Some("all"), 40).contains("\n/todo\n    show the to-do list of the agent\n"));
    }

    #[test]
    fn the_overview_leaves_room_for_the_line_on_a_small_screen_and_names_what_is_used_most() {
        let text = help(None, 80);
        // The status row and the line stand below it.
        assert!(text.lines().count() <= 20, "{text}");
        for name in NAMES {
            let is_named = split_words(&text).contains(&format!("/{name}"));
            assert_eq!(is_named, !RARE.contains(name), "{name}");
            assert!(about(name).is_some(), "{name}");
            assert!(help(Some(name), 80).contains(&format!("/{name}")), "{name}");
        }
        assert_eq!(help(Some("/rewind"), 80).lines().count(), 3);
        assert_eq!(
            help(Some("rewnd"), 80),
            "there is no command /rewnd; did you mean /help rewind? /help lists the commands\n"
        );
    }
}
