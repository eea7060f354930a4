//! The text at the opening of a chat.

use std::path::Path;

use agentx::types::{Api, ModelSpec};
use agentx_terminal::{Line, Row};

use crate::render::clean::visible;
use crate::render::style::AnsiStyle;

/// Maximum width of a paragraph.
const WIDEST: usize = 76;

/// The place of a chat, as far as the welcome text mentions it.
#[derive(Clone, Copy, Debug)]
pub enum WelcomeContext<'a> {
    /// The chat is on this machine, with this file for settings.
    Here(&'a Path),
    /// The chat is on this machine, and the answers come from a file because no model is connected.
    Answered(&'a Path),
    /// The chat is on this machine, and the person asked for the demo although a model is connected.
    Demo,
    /// The chat is on the server at this address.
    Server(&'a str),
}

/// The first lines of a chat.
pub fn welcome(
    model: &ModelSpec,
    session: Option<&str>,
    workspace: &str,
    place: WelcomeContext<'_>,
    (style, width): (AnsiStyle, usize),
) -> String {
    let session = session.map(|id| format!(" · {id}")).unwrap_or_default();
    let name = format!("agentx {}", env!("CARGO_PKG_VERSION"));
    let server = match place {
        WelcomeContext::Server(address) => format!(" · {}", visible(address)),
        WelcomeContext::Here(_) | WelcomeContext::Answered(_) | WelcomeContext::Demo => String::new(),
    };
    let head = format!(
        "{} · {}{session} · {}{server}\n",
        style.bold(&name),
        visible(&model.id),
        visible(workspace)
    );
    match place {
        WelcomeContext::Here(file) if model.api == Api::Scripted && session.is_empty() => {
            format!(
                "{head}\n{}{}\n",
                demo(", because no API key is set", style, width),
                real(file, width)
            )
        }
        WelcomeContext::Answered(file) if model.api == Api::Scripted && session.is_empty() => {
            format!("{head}\n{}{}\n", answered(style, width), real(file, width))
        }
        WelcomeContext::Demo if session.is_empty() => format!("{head}\n{}", demo("", style, width)),
        WelcomeContext::Here(_) | WelcomeContext::Answered(_) | WelcomeContext::Demo => format!(
            "{head}{}\n",
            style.dim("/help explains, Ctrl-C stops the agent, Ctrl-D leaves")
        ),
        WelcomeContext::Server(_) => format!(
            "{head}{}\n",
            style.dim(
                "/help explains, /who shows who is there, Ctrl-C stops the agent, Ctrl-D leaves it running"
            )
        ),
    }
}

/// Sentences in rows that are good to read, and no wider than the terminal.
fn prose(text: &str, width: usize) -> String {
    let rows = Line::new(text, Default::default()).rows(width.min(WIDEST));
    rows.iter().map(Row::text).collect::<Vec<_>>().join("\n")
}

fn demo(why: &str, style: AnsiStyle, width: usize) -> String {
    format!(
        "{}\n{}\nSay \"tour\", \"help\", \"list the files here\", \"run uname -a\".\n{}\n\n",
        style.bold(&format!(
            "This is the offline demo: a script, not a language model{why}."
        )),
        prose(
            "Nothing leaves this machine. The demo answers a few phrases and uses the real tools, so you can \
             try approvals, interrupts, sessions and replay.",
            width
        ),
        style.dim("Enter sends · Ctrl-C stops · Ctrl-D leaves · /help lists commands and keys"),
    )
}

fn answered(style: AnsiStyle, width: usize) -> String {
    format!(
        "{}\n{}\n\n",
        style.bold("No language model is connected, because no API key is set."),
        prose(
            "Answers come from the file set in `scripted_answers`, and otherwise from the offline demo. \
             Agents, tools and sessions are real.",
            width
        )
    )
}

/// Returns a path as people write it: paths in their home begin with `~`.
fn tilde_path(file: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let below = home.and_then(|home| file.strip_prefix(home).ok().map(Path::to_owned));
    match below {
        Some(below) => format!("~/{}", below.display()),
        None => file.display().to_string(),
    }
}

/// Describes how to use a real model instead.
fn real(file: &Path, width: usize) -> String {
    if width < WIDEST {
        return format!(
            "{}\n  ANTHROPIC_API_KEY\n  OPENAI_API_KEY\n  OPENAI_BASE_URL (any compatible server)\n{}\n",
            prose(
                "To talk to a real model, set one of these and start again:",
                width
            ),
            prose(
                "or set a provider in the configuration (`agentx help settings`)",
                width
            )
        );
    }
    format!(
        "To talk to a real model, set a key and start again:\n\
         \x20 export ANTHROPIC_API_KEY=…     or OPENAI_API_KEY=…\n\
         \x20 export OPENAI_BASE_URL=http://localhost:11434/v1     any compatible server\n\
         or set a provider in the configuration (`agentx help settings` lists the keys):\n\
         \x20 {}\n",
        tilde_path(file)
    )
}
