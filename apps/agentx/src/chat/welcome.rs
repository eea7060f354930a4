//! What a chat says when it opens.

use agentx_types::{Api, ModelSpec};

use crate::render::clean::visible;
use crate::render::style::Style;

/// The first lines of a chat.
pub(crate) fn welcome(model: &ModelSpec, session: Option<&str>, workspace: &str, style: Style) -> String {
    let session = session.map(|id| format!(" · {id}")).unwrap_or_default();
    let name = format!("agentx {}", env!("CARGO_PKG_VERSION"));
    let head = format!(
        "{} · {}{session} · {}\n",
        style.bold(&name),
        visible(&model.id),
        visible(workspace)
    );
    if model.api != Api::Scripted {
        return format!(
            "{head}{}\n",
            style.dim("/help explains, Ctrl-C stops the agent, Ctrl-D leaves")
        );
    }
    format!("{head}\n{}\n", demo(style))
}

fn demo(style: Style) -> String {
    format!(
        "{}\n\
         Nothing leaves this machine. It answers a few phrases and uses the real tools, so that approvals,\n\
         interrupts, sessions and replay can be tried. Say \"help\", \"list the files here\", \"run uname -a\".\n\n\
         To talk to a real model, set a key and start again:\n\
         \x20 export ANTHROPIC_API_KEY=…      or OPENAI_API_KEY=…\n\
         \x20 export OPENAI_BASE_URL=http://localhost:11434/v1      any compatible server, such as Ollama\n\
         or name a provider in the configuration: `agentx config path` shows the file, `agentx help settings` the keys.\n",
        style.warn("This is the offline demo: a script, not a language model, because no key was found.")
    )
}
