//! Prints words that a shell completes: ids of sessions, agents, models, tools, keys. The scripts of `agentx
//! completions` call it; if anything fails, nothing is completed.

use agentx::config::KEYS;
use agentx::runtime::SessionQuery;
use agentx::types::ToolSpec;
use clap::{Command, CommandFactory as _};

use crate::args::{Cli, CompleteArg, Global};
use crate::cmd::block_on;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::table::cut;
use crate::start;

const MOST: usize = 50;
const ABOUT: usize = 60;

/// Prints one word per line, followed by a tab and its description.
pub(crate) fn run(what: CompleteArg, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    let words = start::settings_to_look(global).and_then(|loaded| {
        block_on(async {
            let place = CommandTarget::of(&loaded.settings, global.cwd.as_deref()).await?;
            candidates(what, &place).await
        })
    });
    let mut text = String::new();
    let words = words.unwrap_or_default().into_iter();
    for (word, about) in words.filter(|(word, _)| is_safe(word)) {
        text.push_str(&format!("{word}\t{}\n", cut(&visible(&about), ABOUT)));
    }
    console.out(&text)?;
    Ok(Exit::Ok)
}

/// Returns whether every shell reads this word as plain text: names may come from files of a folder.
fn is_safe(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.:/@+".contains(c);
    !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain)
}

async fn candidates(what: CompleteArg, place: &CommandTarget) -> Result<Vec<(String, String)>, ChatError> {
    let runtime = place.runtime();
    Ok(match what {
        CompleteArg::Sessions => {
            let query = SessionQuery {
                owner: runtime.owner().clone(),
                workspace: None,
                limit: MOST,
                before: None,
            };
            let sessions = runtime.sessions(query).await?;
            let named = sessions
                .into_iter()
                .map(|info| (info.session_id.to_string(), info.title));
            named.collect()
        }
        CompleteArg::Agents => {
            let agents = runtime.agents().await?;
            agents
                .into_iter()
                .map(|agent| (agent.name, agent.description))
                .collect()
        }
        CompleteArg::Models => {
            let models = runtime.models();
            let asked = models.into_iter().filter(|model| model.missing.is_none());
            asked
                .map(|model| (model.spec.called().to_owned(), model.spec.provider))
                .collect()
        }
        CompleteArg::Tools => {
            let tools = runtime.tools();
            let told = |tool: ToolSpec| (tool.name, first_line(&tool.description));
            tools.into_iter().map(told).collect()
        }
        CompleteArg::Settings | CompleteArg::Commands => known(what),
    })
}

/// Returns the completions that need no session or configuration.
fn known(what: CompleteArg) -> Vec<(String, String)> {
    match what {
        CompleteArg::Settings => {
            let keys = KEYS.iter().filter(|spec| !spec.path.contains('*'));
            keys.map(|spec| (spec.path.to_owned(), spec.about.to_owned()))
                .collect()
        }
        _ => {
            let root = Cli::command();
            let shown = root.get_subcommands().filter(|sub| !sub.is_hide_set());
            let about = |sub: &Command| sub.get_about().map(ToString::to_string).unwrap_or_default();
            shown.map(|sub| (sub.get_name().to_owned(), about(sub))).collect()
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
