//! The text of `/help` for a terminal of any width: an overview in 24 rows, each command, and the keys.

use agentx::config::nearest;
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
        return in_rows(COMMANDS, width);
    }
    let name = topic.split(char::is_whitespace).next().unwrap_or_default();
    let lines: Vec<&str> = COMMANDS.lines().filter(|line| is_about(line, name)).collect();
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
    let line = COMMANDS.lines().find(|line| is_about(line, name))?;
    line.split_once("  ").map(|(_, does)| does.trim())
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

/// The descriptions of the commands.
const COMMANDS: &str = "\
Session
/new, /clear              start a new session in this chat; the current one is kept
/resume [ID|all]          continue a session of this directory; all: choose from all directories
/retry                    ask again: after an error, while the model is away, or for another answer
/rewind [N]               go back to before a message: conversation, files or both; shows the changes first
/rewind undo              undo the last restore of files
/fork [EVENT]             continue in a copy of this session, from here or from an earlier event
/diff                     show what this session changed in files
/diff SESSION             compare this session with another branch of it
/compact [WORDS]          condense all but the latest exchanges now; WORDS say what matters
/compact undo             undo the latest condensing
/pin [N], /unpin [N]      keep your last or Nth message when condensing, or no longer
/copy [N]                 copy the last answer to the clipboard, or its Nth code block
/export [FILE]            write the session to a file: .md, .html or .json
/title TEXT               set the title of this session
/sessions                 list the latest sessions

Model
/model [NAME]             switch to another model; without a name, list the models
/effort [LEVEL]           set how much the model reasons: default, low, medium, high; without a level, list them
/status                   show the model, session, workspace and context window
/usage                    show the cost of this session; ~ marks an estimate, $? and +? a price that is not known
/usage [session|day|model|cause]  show the cost of all sessions by session, day, model or cause
/context [exact]          show the use of the context window, or the exact last request

Permission
/plan [TASK|off]          plan mode: nothing is changed or run until you accept a plan
/approve-mode [MODE]      choose what happens to calls that no rule covers: ask, accept-edits, plan, auto, deny (Shift-Tab)
/approvals [test CALL|remove N|overrule]  list the approval rules; test a call; remove a rule; allow a call that a judge refused

While it works
/steer TEXT               send a message to the agent while it works (Ctrl-S)
/queue [edit|remove|steer N]  list queued messages; edit, remove or send one now
/jobs [stop N]            list agents at work and background commands; stop a command by number or name
/output [N|AGENT]         show the full output of the last tool, the Nth from the end, or an agent's answer
/thinking [N]             show the last reasoning in full, or the Nth from the end
/todo                     show the to-do list of the agent

Setup
/init                     ask the agent to write an AGENTS.md for this project, or to improve it
/config                   show the changed settings and where each comes from
/config all               show the defaults, too
/doctor                   check the settings, the model and this machine for problems
/mcp [try NAME]           list the MCP servers, how they stand and their number of tools; start one and offer its tools
/memory [accept N|refuse N]  show what the agent proposes to remember, and decide
/memory edit N TEXT       reword a proposal or a memory
/memory [list|show N|search WORDS]  show memories
/memory [add TEXT|delete N]  add or delete a memory
/secret [NAME|remove NAME]  mark a value as secret, typed unseen, so that it is replaced from now on; or list them
/who                      list who is in this session of a server
/wheel [take|ask|give WHO|release]  show who may send messages; take, ask for, give or release that role
/help [COMMAND|keys|all]  explain a command, list the keys, or show everything
/quit, /exit              leave (or type exit, press Ctrl-D, or press Ctrl-C twice)
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
            for (topic, whole) in [(None, OVERVIEW), (Some("keys"), KEYS), (Some("all"), COMMANDS)] {
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
