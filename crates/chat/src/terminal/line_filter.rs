//! Keeps known secrets out of the lines that a chat writes to files: the history of what was typed, and drafts.

use agentx::config::Settings;
use agentx_terminal::LineFilter;

/// Takes known secrets out of lines that are written to a file; `None` if the settings switch that off.
pub(crate) fn line_filter(settings: &Settings) -> Option<LineFilter> {
    let redactor = agentx::node::redactor(settings)?;
    Some(LineFilter::new(move |line| redactor.redact(line).into_owned()))
}
