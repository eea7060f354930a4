//! The question at the first start in a folder, and after an accepted file has changed. It is asked before
//! anything of the folder is loaded, line by line, so that every terminal can do it.

use agentx::assembly::{FileRole, FolderContents, folder_contents};
use agentx::config::{FolderTrust, Loaded, check_folder_decisions, trust_folder};

use super::rows::ShortRows;
use super::screen::{changes, folder_summary, short_list};
use super::withdraw_trust::RevokedGrants;
use crate::error::ChatError;
use crate::exit::exit_words::leaves;
use crate::render::clean::visible;
use crate::render::wrapped_text::wrap_lines;
use crate::terminal::console::Console;
use crate::terminal::question_line::answer;

/// Number of rows of a small terminal, which the text of instructions does not exceed.
const SMALL_TERMINAL: usize = 24;

/// The outcome of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderDecision {
    /// There was nothing to ask.
    NotAsked,
    /// A decision was recorded, so the settings have to be read again.
    Said,
    /// The person wants to leave.
    Leave,
}

/// Asks the user how far to trust the folder, if there is no decision yet or the folder has changed since.
pub fn ask(loaded: &Loaded, console: &mut Console) -> Result<FolderDecision, ChatError> {
    let is_there = console.terminal.input && console.terminal.output;
    if !is_there || loaded.settings.connect.is_some() || loaded.settings.folder.trusted_by_env {
        return Ok(FolderDecision::NotAsked);
    }
    // Otherwise the answer could not be recorded.
    check_folder_decisions(&loaded.trust_dir)?;
    let brings = folder_contents(&loaded.settings);
    match loaded.settings.folder.trust {
        FolderTrust::Unknown => first(loaded, &brings, console),
        FolderTrust::Trusted if has_changed(&brings) => ask_again(loaded, &brings, console),
        FolderTrust::Trusted | FolderTrust::Restricted | FolderTrust::ReadOnly => {
            Ok(FolderDecision::NotAsked)
        }
    }
}

/// Instructions may change in a trusted folder; files that run code may not.
fn has_changed(brings: &FolderContents) -> bool {
    brings
        .not_accepted()
        .any(|file| file.role != FileRole::Instructions)
}

/// Returns the meaning of each answer: to trust the folder, to read it only, to ignore it. Commands that only
/// read run without a question in a trusted folder alone.
fn meanings(has_settings: bool, is_empty: bool) -> [&'static str; 3] {
    let trusts = if has_settings {
        "load all of this; its settings decide what AgentX asks about"
    } else if is_empty {
        "AgentX asks before changes and commands"
    } else {
        "load its files; AgentX still asks before changes and commands"
    };
    let ignores = if is_empty {
        "ask before every command too; never load files added later"
    } else {
        "load nothing; ask before changes and commands"
    };
    let reads = if is_empty {
        "the agent cannot change files or run commands"
    } else {
        "load its instructions; no changes, no commands"
    };
    [trusts, reads, ignores]
}

/// Returns the rows above the question, and whether all effects of the folder are in them.
fn screen(loaded: &Loaded, brings: &FolderContents, question: &str, width: usize) -> ShortRows {
    let [trusts, reads, ignores] = meanings(!loaded.ignored.is_empty(), brings.is_empty());
    let heading = format!("This folder is new to AgentX:\n{}\n", folder_summary(loaded));
    let answers = format!(
        "\n1  trust it    {trusts}\n\
         2  read only   {reads}\n\
         3  ignore it   {ignores}\n"
    );
    let others = wrap_lines(&format!("{heading}{answers}{question}"), width);
    let room = SMALL_TERMINAL.saturating_sub(others.lines().count());
    let list = short_list(loaded, brings, width, room);
    ShortRows {
        text: format!("{heading}{}{answers}", list.text),
        is_whole: list.is_whole,
    }
}

fn first(
    loaded: &Loaded,
    brings: &FolderContents,
    console: &mut Console,
) -> Result<FolderDecision, ChatError> {
    let question = if brings.is_empty() {
        "How far do you trust it? [1, 2, 3, q to leave] "
    } else {
        "How far do you trust it? [1, 2, 3, s to show its files, q to leave] "
    };
    let screen = screen(loaded, brings, question, console.width());
    console.out_lines(&screen.text)?;
    let mut was_shown = screen.is_whole;
    loop {
        let given = answer(question, console)?;
        let trust = match given.to_lowercase().as_str() {
            "1" if !was_shown => {
                console.out("Not all effects of this folder fit here: type s to see them first.\n")?;
                continue;
            }
            "1" => FolderTrust::Trusted,
            "2" => FolderTrust::ReadOnly,
            "3" => FolderTrust::Restricted,
            "s" => {
                console.out(&changes(loaded, brings, console.out_style()))?;
                was_shown = true;
                continue;
            }
            word if wants_to_leave(word) => return Ok(FolderDecision::Leave),
            _ => {
                not_understood(&given, console)?;
                continue;
            }
        };
        let accepted = match trust {
            FolderTrust::Trusted => brings.accepted(),
            FolderTrust::ReadOnly => brings.instructions(),
            FolderTrust::Restricted => match wants_instructions(loaded, brings, console)? {
                Some(true) => brings.instructions(),
                Some(false) => Vec::new(),
                None => return Ok(FolderDecision::Leave),
            },
            FolderTrust::Unknown => Vec::new(),
        };
        let taken_back = RevokedGrants::find(loaded);
        trust_folder(&loaded.trust_dir, &loaded.places.workspace_root, trust, &accepted)?;
        if trust == FolderTrust::Restricted {
            console.out(&taken_back.take(loaded, false)?)?;
        }
        return Ok(FolderDecision::Said);
    }
}

/// Shows the instructions of a restricted folder, and asks whether they are given to the model; `None` if the
/// person wants to leave.
fn wants_instructions(
    loaded: &Loaded,
    brings: &FolderContents,
    console: &mut Console,
) -> Result<Option<bool>, ChatError> {
    let mut alone = FolderContents::default();
    let files = brings
        .files
        .iter()
        .filter(|file| file.role == FileRole::Instructions);
    alone.files.extend(files.cloned());
    if alone.is_empty() {
        return Ok(Some(false));
    }
    console.out(&changes(loaded, &alone, console.out_style()))?;
    loop {
        let given = answer(
            "Give these instructions to the model? [y, n, q to leave] ",
            console,
        )?;
        match given.to_lowercase().as_str() {
            "y" | "yes" => return Ok(Some(true)),
            "n" | "no" => return Ok(Some(false)),
            word if wants_to_leave(word) => return Ok(None),
            _ => not_understood(&given, console)?,
        }
    }
}

fn ask_again(
    loaded: &Loaded,
    brings: &FolderContents,
    console: &mut Console,
) -> Result<FolderDecision, ChatError> {
    console.out(&format!(
        "Changed since you trusted this folder:\n\n{}\n\
         1  accept  load it as it is now\n\
         2  skip    leave out what changed\n",
        changes(loaded, brings, console.out_style())
    ))?;
    loop {
        let given = answer("Your choice [1, 2, q to leave]: ", console)?;
        match given.to_lowercase().as_str() {
            "1" => {
                let (dir, root) = (&loaded.trust_dir, &loaded.places.workspace_root);
                trust_folder(dir, root, FolderTrust::Trusted, &brings.accepted())?;
                return Ok(FolderDecision::Said);
            }
            "2" => return Ok(FolderDecision::NotAsked),
            word if wants_to_leave(word) => return Ok(FolderDecision::Leave),
            _ => not_understood(&given, console)?,
        }
    }
}

/// Prints that an answer was not among the choices, before the question is repeated.
fn not_understood(answer: &str, console: &mut Console) -> Result<(), ChatError> {
    let message = match answer {
        "" => "Please type one of the answers in brackets.\n".to_owned(),
        other => format!("`{}` is not one of the answers.\n", visible(other)),
    };
    console.out(&message)
}

/// Returns whether an answer is a wish to leave.
fn wants_to_leave(word: &str) -> bool {
    word == "q" || leaves(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_is_said_to_be_like_another_that_asks_less() {
        for (has_settings, is_empty) in [(false, false), (false, true), (true, false)] {
            let [_, _, ignores] = meanings(has_settings, is_empty);
            assert!(ignores.contains("ask before"), "{ignores}");
        }
        let [_, _, ignores] = meanings(false, true);
        assert!(
            ignores.contains("every command") && ignores.len() <= 65,
            "{ignores}"
        );
    }
}
