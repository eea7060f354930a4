//! Messages of a session that lies in the past: whole, in order, as `sessions show` and a resumed chat print them.

use agentx::history::transcript::act_of_another;
use agentx::types::{
    CommandFinished, ContentPart, LeftRunning, MediaPart, Message, OwnerId, Role, RuntimeEvent,
};

use super::clean::{clean, visible};
use super::participants::person;
use super::style::Paint;
use super::table::cut;
use super::tool::describe;
use super::units;

/// The beginnings of message parts that a chat attaches to the words of a person.
pub(crate) const ALONG: [&str; 3] = [
    "\n\n<file path=",
    "\n\n<ran_by_the_person ",
    "\n\n<files_put_back>",
];

/// Maximum number of lines to show of a text. A longer one was pasted: only its first and last lines are
/// shown.
const MOST_LINES: usize = 40;
const HEAD_LINES: usize = 12;
const TAIL_LINES: usize = 4;
/// The longest of them.
const LONGEST_LINE: usize = 2_000;

/// The message that an event adds to the conversation, as text; `None` for all other events. At the beginning of a row stand signs of the
/// program alone: words follow a sign on its row, or are indented, so that nobody's words look like somebody else's.
pub(crate) fn message(event: &RuntimeEvent, style: Paint, width: usize) -> Option<String> {
    match event {
        RuntimeEvent::UserMessageAdded(added) if is_note(&added.message) => {
            let text = clean(own_text(&added.message).trim());
            let note = format!("· AgentX tells the model: {}", text.replace('\n', "\n  "));
            Some(style.dim(&note) + "\n")
        }
        RuntimeEvent::UserMessageAdded(added) => Some(render(&added.message, style, width)),
        RuntimeEvent::AssistantMessageAdded(added) => {
            let mut text = render(&added.message, style, width);
            if added.partial {
                text.push_str(&style.warn("■ interrupted here\n"));
            }
            Some(text)
        }
        RuntimeEvent::ToolResultMessageAdded(added) => Some(render(&added.message, style, width)),
        other => act_of_another(other).map(|(by, what)| act(&person(by), &what, style) + "\n"),
    }
    .filter(|text| !text.is_empty())
}

/// Renders an act of a person who is not the owner of the session.
pub(crate) fn act(who: &str, what: &str, style: Paint) -> String {
    style.dim(&format!("· {who} {}", visible(what)))
}

/// The command that continues a session. If it does not fit on the row, it gets its own, so that it can be copied.
pub fn go_on_with(command: &str, columns: usize) -> String {
    const WORDS: &str = "continue with:";
    let between = if WORDS.len() + 1 + agentx_terminal::width(command) <= columns {
        ' '
    } else {
        '\n'
    };
    format!("{WORDS}{between}{command}\n")
}

/// Returns the notice about queued messages when a person leaves.
pub fn stays_queued(count: usize) -> String {
    match count {
        1 => "1 message stays queued; resume the session and press Enter to send it\n".to_owned(),
        count => format!("{count} messages stay queued; resume the session and press Enter to send them\n"),
    }
}

/// The line on leaving when the stop of a run could not be saved: the run resumes when the session is opened again.
pub fn stop_not_saved(queued: usize) -> String {
    let queued = match queued {
        0 => String::new(),
        1 => " and sends the queued message".to_owned(),
        count => format!(" and sends the {count} queued messages"),
    };
    format!("could not save that the run stopped: opening the session again resumes the run{queued}\n")
}

/// Returns the notice about queued messages when a person comes back and cannot see them.
pub fn is_queued(count: usize) -> String {
    let (are, they) = if count == 1 {
        ("is", "it is")
    } else {
        ("are", "they are")
    };
    let messages = units::counted(count, "message");
    format!("{messages} {are} still queued from before; {they} sent before your next message")
}

/// Returns the notice about commands that a killed program left running, without those that the program named
/// when it ended.
pub fn ended_commands_notice(ended: &[LeftRunning]) -> Option<String> {
    let left: Vec<LeftRunning> = ended.iter().filter(|left| left.processes > 0).cloned().collect();
    let names = names_of_left(&left)?;
    Some(format!("still running from before, now ended: {names}"))
}

/// Returns the notice about a copy whose original still has running commands, because its program was killed.
pub fn still_runs(left: &[LeftRunning], command: &str) -> Option<String> {
    let names = names_of_left(left)?;
    Some(format!(
        "commands of the original still run, because the program that ran them was killed: {names}\n{command} ends them\n"
    ))
}

/// The first program, and how many processes there are beside it.
fn names_of_left(ended: &[LeftRunning]) -> Option<String> {
    let first = ended.first()?;
    let more = ended
        .iter()
        .map(|left| left.processes)
        .sum::<u32>()
        .saturating_sub(1);
    let others = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{}{others}", visible(&first.program)))
}

/// Returns what a person said, without attached files and output of commands.
pub(crate) fn own_text(message: &Message) -> String {
    let texts = message.content.iter().filter_map(ContentPart::as_text);
    texts.filter(|text| !went_along(text)).collect()
}

/// Returns the text of a message as a chat shows it: after the name of a person who is not the owner of the
/// session.
pub(crate) fn message_text(message: &Message) -> String {
    speaker_prefix(message.by.as_ref()) + &own_text(message)
}

/// Returns the name of the speaker before a message; nothing for the owner of the session.
fn speaker_prefix(by: Option<&OwnerId>) -> String {
    by.map(|by| format!("{}: ", person(by))).unwrap_or_default()
}

/// A command that a person ran beside the conversation, and what it printed: of a long output the beginning and the end.
pub(crate) fn ran(ran: &CommandFinished, style: Paint) -> String {
    const ENDS: usize = 10;
    let who = speaker_prefix(ran.by.as_ref());
    let mut text = style.dim(&format!("› {who}!{}", visible(&ran.command)));
    let output = clean(&ran.output);
    let lines: Vec<&str> = output.lines().collect();
    let hidden = lines.len().saturating_sub(2 * ENDS);
    for (at, line) in lines.iter().enumerate() {
        if hidden > 0 && at == ENDS {
            text.push_str(&style.dim(&format!("\n  │ … {hidden} lines …")));
        }
        if hidden == 0 || at < ENDS || at >= ENDS + hidden {
            text.push_str(&style.dim(&format!("\n  │ {}", cut(line, LONGEST_LINE))));
        }
    }
    text + &style.dim(&format!("\n  └ {}", visible(&ran.how)))
}

/// Returns whether nobody said it: it tells the model of commands that have ended. A person sees that
/// otherwise.
pub(crate) fn is_note(message: &Message) -> bool {
    message.message_id.as_str().starts_with("msg_ended_")
}

/// Returns whether a text is none that the person typed.
pub(crate) fn went_along(text: &str) -> bool {
    ALONG.iter().any(|begin| text.starts_with(begin))
}

fn render(message: &Message, style: Paint, width: usize) -> String {
    message
        .content
        .iter()
        .map(|part| render_part(message, part, style, width))
        .collect()
}

fn render_part(message: &Message, part: &ContentPart, style: Paint, width: usize) -> String {
    match part {
        ContentPart::Text(text) if message.role == Role::User => {
            input_text(&(speaker_prefix(message.by.as_ref()) + &text.text), style)
        }
        ContentPart::Text(text) => clean(&text.text).lines().map(indented).collect(),
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
            style.dim(&format!("[{}]\n", media_name(media)))
        }
        ContentPart::ToolCall(call) => {
            let what = cut(&describe(&call.input), width.saturating_sub(call.name.len() + 4));
            let line = format!(
                "{} {}  {what}",
                style.person("●"),
                style.bold(&visible(&call.name))
            );
            format!("{}\n", line.trim_end())
        }
        ContentPart::ToolResult(result) => {
            let text: String = result.content.iter().filter_map(ContentPart::as_text).collect();
            let text = clean(&text);
            let lines = text.lines().count();
            let first = cut(text.lines().next().unwrap_or_default(), width.saturating_sub(24));
            let more = if lines > 1 {
                format!(" … {lines} lines")
            } else {
                String::new()
            };
            let sign = if result.is_error {
                style.bad("✗")
            } else {
                style.good("✓")
            };
            format!("└ {sign} {}\n", style.dim(&format!("{first}{more}")))
        }
        ContentPart::Thinking(_) | ContentPart::Opaque(_) => String::new(),
    }
}

/// Renders the words of a person, with a sign before each line.
pub(crate) fn input_text(text: &str, style: Paint) -> String {
    said_in(&clean(text), style)
}

/// Renders earlier words of a person: of a long paste, the beginning, the end, and the number of lines
/// between.
pub(crate) fn shortened_input(text: &str, style: Paint) -> String {
    let text = clean(text);
    let lines: Vec<&str> = text.lines().collect();
    let shown = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| cut(line, LONGEST_LINE))
            .collect::<Vec<_>>()
    };
    if lines.len() <= MOST_LINES {
        return said_in(&shown(&lines).join("\n"), style);
    }
    let (head, rest) = lines.split_at(HEAD_LINES);
    let (out, tail) = rest.split_at(rest.len() - TAIL_LINES);
    let mut short = shown(head);
    short.push(format!("… {} …", units::counted(out.len(), "line")));
    short.extend(shown(tail));
    said_in(&short.join("\n"), style)
}

fn said_in(text: &str, style: Paint) -> String {
    let mut lines = text.lines();
    let mut shown = format!(
        "{}\n",
        style.person(&format!(
            "{}{}",
            style.sign("› ", "you: "),
            lines.next().unwrap_or_default()
        ))
    );
    for line in lines {
        shown.push_str(&format!("{}\n", style.person(&format!("  {line}"))));
    }
    shown
}

fn media_name(media: &MediaPart) -> String {
    visible(media.name.as_deref().unwrap_or(&media.media_type))
}

fn indented(line: &str) -> String {
    if line.is_empty() {
        "\n".to_owned()
    } else {
        format!("  {line}\n")
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{ConversationInterrupted, ToolCallPart, ToolResultPart};

    use super::*;

    #[test]
    fn of_a_long_paste_a_chat_shows_both_ends() {
        let lines = |n: usize| (1..=n).map(|i| format!("line {i}\n")).collect::<String>();
        let shown = shortened_input(&lines(5_000), Paint::default());
        let shown: Vec<&str> = shown.lines().collect();
        assert_eq!(shown.len(), HEAD_LINES + 1 + TAIL_LINES);
        assert_eq!(
            (shown[0], shown[12], shown[16]),
            ("› line 1", "  … 4984 lines …", "  line 5000")
        );
        let whole = shortened_input(&lines(40), Paint::default());
        assert_eq!(
            whole,
            input_text(&lines(40), Paint::default()),
            "what a person writes is shown"
        );
        assert!(
            shortened_input(&"好".repeat(50_000), Paint::default())
                .chars()
                .count()
                < 1_100
        );
    }

    #[test]
    fn another_person_who_stopped_a_run_is_named() {
        let stopped = |by: Option<&str>| {
            let event = ConversationInterrupted {
                reason: "stopped by the user".into(),
                by: by.map(OwnerId::new),
            };
            message(&event.into(), Paint::default(), 80)
        };
        assert_eq!(
            stopped(Some("own_b")).as_deref(),
            Some("· own_b stopped the run\n")
        );
        assert_eq!(stopped(None), None, "the owner needs no name");
    }

    /// Words that look like signs of the program stand behind a sign or are indented.
    #[test]
    fn nobodys_words_look_like_somebody_elses() {
        let hostile =
            "ok\n› yes\nyou: yes\n● bash  rm\n└ ✓ done\n■ interrupted here\n· AgentX tells the model: no";
        let message = |role: Role, content: ContentPart| Message {
            message_id: "msg_1".into(),
            role,
            content: vec![content],
            by: Some("own_other".into()),
        };
        let call = ToolCallPart {
            tool_call_id: "call_1".into(),
            name: hostile.to_owned(),
            input: serde_json::json!({ "command": hostile }),
            provider: None,
        };
        let result = ToolResultPart {
            tool_call_id: "call_1".into(),
            name: hostile.to_owned(),
            content: vec![ContentPart::text(hostile)],
            is_error: false,
        };
        for (message, sign) in [
            (message(Role::User, ContentPart::text(hostile)), "› "),
            (message(Role::Assistant, ContentPart::text(hostile)), "  "),
            (message(Role::Assistant, ContentPart::ToolCall(call)), "● "),
            (message(Role::Tool, ContentPart::ToolResult(result)), "└ "),
        ] {
            let shown = render(&message, Paint::default(), 80);
            let mut lines = shown.lines();
            assert!(lines.next().unwrap().starts_with(sign), "{shown}");
            assert!(lines.all(|line| line.starts_with("  ")), "{shown}");
        }
    }
}
