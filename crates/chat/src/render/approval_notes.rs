//! The notes below a question about a call: a link that it follows, why it will fail, a file that is not
//! shown, and the sandbox of a command. They come from the machine of the session, and not from the model.

use agentx::runtime::FileChangePreview;
use agentx::types::ApprovalRequested;

use super::clean::visible;
use super::style::AnsiStyle;

/// Returns the notes, each in a row of its own; empty if there are none. `fails` is the reason for which the
/// call will fail.
pub(super) fn notes(
    file: &FileChangePreview,
    fails: Option<&str>,
    is_command: bool,
    style: AnsiStyle,
) -> String {
    let link = file.leads_to.as_ref();
    let warnings = [
        link.map(|place| format!("  it is a link to {}", visible(place))),
        fails.map(|why| format!("  {why}, so this call will fail")),
    ];
    let withheld = file.withheld.as_ref();
    let hidden = withheld.map(|why| format!("  the current file is not shown: {}", visible(why)));
    let mut text: String = warnings
        .iter()
        .flatten()
        .map(|words| format!("{}\n", style.warn(words)))
        .collect();
    text.extend(hidden.map(|words| format!("{}\n", style.dim(&words))));
    if is_command {
        text.push_str(&sandbox_note(file.sandbox.as_deref(), style));
    }
    text
}

/// Returns the note about the sandbox of a command; empty if the question says nothing about it.
fn sandbox_note(step: Option<&str>, style: AnsiStyle) -> String {
    match step {
        None => String::new(),
        Some("unavailable") => {
            let words = "  the sandbox does not work here, so this call will fail: see `agentx doctor`";
            format!("{}\n", style.warn(words))
        }
        Some("none") => {
            let words = "  not in a sandbox, because none works here: see `agentx doctor`";
            format!("{}\n", style.warn(words))
        }
        Some(step) => format!("{}\n", style.dim(&format!("  in the sandbox: {}", visible(step)))),
    }
}

/// The end of a reason after which every pattern of a person is refused.
const NO_PATTERN: &str = "so no pattern allows it";

/// Returns the hint at another rule than the proposed one; empty if no other one is taken, or a screen is too
/// small for it.
pub(super) fn other_rule(request: &ApprovalRequested, is_brief: bool) -> &'static str {
    if is_brief || request.reason.ends_with(NO_PATTERN) {
        ""
    } else {
        "  (or write your own: `a PATTERN`)"
    }
}

/// Returns whether a reason says no more than the first row of a question: the host that a call sends to.
pub(super) fn repeats(wish: &str, reason: &str) -> bool {
    let host = reason.strip_prefix("it sends to ").map(visible);
    host.is_some_and(|host| wish.ends_with(&format!(" wants to send to {host}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_once() {
        let wish = "web_extract wants to send to 127.0.0.1";
        for (reason, told) in [
            ("it sends to 127.0.0.1", true),
            ("it sends to 127.0.0.1, gets the variables TOKEN", false),
            ("it sends to another.example", false),
            ("1", false),
        ] {
            assert_eq!(repeats(wish, reason), told, "{reason}");
        }
    }
}
