//! What `/help` says, in a terminal of any width.

use agentx_terminal::Line;

/// Where what a command does begins; in a narrow terminal below it.
const DOES: usize = 26;
const BELOW: usize = 4;
/// A terminal with less room is a narrow one.
const NARROW: usize = 72;

/// What the commands do, in rows of a terminal that is so wide.
pub(crate) fn help(width: usize) -> String {
    let indent = if width < NARROW { BELOW } else { DOES };
    let mut text = String::new();
    for line in HELP.lines() {
        if line.is_empty() {
            text.push('\n');
        }
        let Some((command, does)) = line.split_once("  ").filter(|_| line.starts_with('/')) else {
            fitted(line, width).for_each(|row| text.push_str(&format!("{row}\n")));
            continue;
        };
        let mut rows = fitted(does.trim(), width.saturating_sub(indent));
        // A long command has a row of its own, as all have where there is little room.
        let beside = match indent == DOES && command.len() + 2 <= DOES {
            true => rows.next().unwrap_or_default(),
            false => String::new(),
        };
        text.push_str(format!("{command:<DOES$}{beside}").trim_end());
        text.push('\n');
        rows.for_each(|row| text.push_str(&format!("{:indent$}{row}\n", "")));
    }
    text
}

/// What a command does.
pub(crate) fn about(name: &str) -> Option<&'static str> {
    HELP.lines().find_map(|line| {
        let (command, does) = line.split_once("  ")?;
        let mut words = command.split([' ', ',']);
        let is_it = words.any(|word| word.strip_prefix('/') == Some(name));
        is_it.then(|| does.trim())
    })
}

/// A line in as many rows as it needs.
fn fitted(line: &str, width: usize) -> impl Iterator<Item = String> + use<> {
    let rows = Line::new(line, Default::default()).rows(width.max(1));
    rows.into_iter().map(|row| row.text())
}

/// What the commands do, for `/help`.
pub(crate) const HELP: &str = "\
/model [NAME]             ask another model from here on; without a name, list them
/approve-mode [ask|auto|deny]  who decides about calls that no rule decides
/approvals [test CALL|remove N]  the approval rules; what they say of a call, as bash: rm x; take one out
/status                   model, session, workspace, how full the window is
/usage [session|day|model|cause]  what this session has cost; `/usage day`: all sessions by day
/context [exact]          what fills the model's window; or the last request to the byte
/thinking [N]             the model's last reasoning, whole; the Nth from the end
/output [N]               all that the last tool said; the Nth from the end
/jobs [stop NAME]         commands that run in the background; end one
/todo                     the list of what is to be done
/steer TEXT               say it to the agent now, in the middle of its work (Ctrl-S)
/queue [edit|remove|steer N]  what waits to be said: write it otherwise, take it out, say it now
/retry                    ask an overloaded or absent model again now, or again after a run that failed
/rewind [N]               go back to before an input: conversation, files or both; says first what that undoes
/rewind undo              files are again as they were before they were put back
/fork [EVENT]             try another way in a copy of this session, from here or an earlier event
/diff [SESSION]           compare this branch with the one it was forked from, or another
/compact [WORDS]          condense all but the latest exchanges now, minding these words
/compact undo             take the latest summary out again: all is as it was
/pin [N], /unpin [N]      what you said last, or Nth, stays whatever is condensed
/title TEXT               name this session
/sessions                 the latest sessions
/who                      who is at this session of a server
/wheel [take|ask|give WHO|release]  who drives it; take it, ask for it, hand it over, let it go
/quit                     leave (also Ctrl-D, and Ctrl-C twice on an empty line)

Enter sends, Alt-Enter or a \\ at the end begins a new line, // sends a text that begins with /.
@FILE sends a file or a picture along, !COMMAND runs a command and shows it to the agent.
Ctrl-T shows or folds reasoning from here on, Ctrl-O shows all that the last tool said.
Tab completes commands, models and files; Ctrl-R searches what was typed before.
Ctrl-X Ctrl-E writes the line in $VISUAL or $EDITOR.
A question is answered by y, s, a or n and Enter, or at once with Alt; n WORDS says why, s PATTERN keeps another rule.
What is typed while the agent works is queued: Alt-↑ takes the last back, Ctrl-S says it at once.
Ctrl-C or Esc stops the agent, and what is queued comes back into the line; the session goes on.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_fits_wherever_it_is_read() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for width in [40, 80, 200] {
            let text = help(width);
            assert!(
                text.lines().all(|line| agentx_terminal::width(line) <= width),
                "{text}"
            );
            assert_eq!(words(&text), words(HELP), "no word is lost");
        }
        let wide = help(80);
        assert!(
            wide.contains("\n/todo                     the list of what is to be done\n"),
            "{wide}"
        );
        assert!(help(40).contains("\n/todo\n    the list of what is to be done\n"));
    }
}
