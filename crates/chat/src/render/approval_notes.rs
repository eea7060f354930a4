//! The notes below a question about a call: the links that it follows, why it will fail, a file that is not
//! shown, and the sandbox of a command. They come from the machine of the session, and not from the model.

use agentx::runtime::FileChangePreview;
use agentx::types::ApprovalRequested;
use agentx_terminal::lookalikes::unmistakable;

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
    let refused = file.refused.as_ref();
    let in_line = file
        .links
        .iter()
        .map(|link| Some(format!("  {}", unmistakable(link))));
    let warnings = [
        link.map(|place| format!("  it is a link to {}", unmistakable(place))),
        fails.map(|why| format!("  {why}, so this call will fail")),
        refused.map(|why| {
            format!(
                "  this call will be refused even if you allow it: {}",
                unmistakable(why)
            )
        }),
    ];
    let withheld = file.withheld.as_ref();
    let hidden = withheld.map(|why| format!("  the current file is not shown: {}", unmistakable(why)));
    let mut text: String = in_line
        .chain(warnings)
        .flatten()
        .map(|words| format!("{}\n", style.warn(&words)))
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
        Some(step) => format!(
            "{}\n",
            style.dim(&format!("  in the sandbox: {}", unmistakable(step)))
        ),
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
    let host = reason.strip_prefix("it sends to ").map(unmistakable);
    host.is_some_and(|host| wish.ends_with(&format!(" wants to send to {host}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_a_call_are_named_and_a_refusal_is_announced() {
        let file = FileChangePreview {
            links: vec!["conf/a leads to /home/me/a\u{202e}".to_owned()],
            refused: Some("it leads to /home/me/a, outside the workspace".to_owned()),
            ..FileChangePreview::default()
        };
        assert_eq!(
            notes(&file, None, true, AnsiStyle::default()),
            "  conf/a leads to /home/me/a<U+202E>\n  this call will be refused even if you allow it: it leads \
             to /home/me/a, outside the workspace\n"
        );
    }

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
