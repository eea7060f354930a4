//! The prompt of a headless run: the words of the command line, and standard input below them.

use std::io::Read as _;
use std::time::Duration;

use agentx::config::Settings;
use agentx::types::ContentPart;

use crate::args::RunArgs;
use crate::attach::attached_by_run;
use crate::chat::slash::prompt_commands::{prompt_of_input, prompt_of_run};
use crate::console::Console;
use crate::error::ChatError;
use crate::render::units;

const MAX_BYTES: u64 = 16 << 20;
/// After this time without the end of input, a note says what the program waits for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads the prompt, with the files that its words name; `None` if there is none and the run needs none.
pub(crate) async fn read(
    args: &RunArgs,
    may_go_without: bool,
    settings: &Settings,
    console: &mut Console,
) -> Result<Option<Vec<ContentPart>>, ChatError> {
    let words = &args.prompt;
    let typed = if *words == ["-"] {
        String::new()
    } else {
        words.join(" ")
    };
    // A watch begins this run, and its standard input is not the prompt.
    let (input, hint) = if console.terminal.input || args.longest_wait.is_some() {
        (String::new(), "give one: agentx run \"list the files here\"")
    } else {
        let input = standard_input(console).await?;
        (input, "give one, or write it to standard input")
    };
    if typed.trim().is_empty() && input.trim().is_empty() {
        let missing = ChatError::usage("there is no prompt", hint);
        return if may_go_without { Ok(None) } else { Err(missing) };
    }
    let is_typed = !typed.trim().is_empty();
    let (prompt, below) = if is_typed {
        (prompt_of_run(&typed, settings)?, input.as_str())
    } else {
        (prompt_of_input(input.trim_end(), settings)?, "")
    };
    for note in prompt.notes.iter().filter(|_| !args.quiet) {
        console.say(&console.err_style().dim(&format!("note: {note}\n")));
    }
    let named = if is_typed && prompt.attaches_files {
        prompt.text.as_str()
    } else {
        ""
    };
    let mut attached = attached_by_run(named, settings)?;
    for note in attached.notes.iter().filter(|_| !args.quiet) {
        console.say(&console.err_style().dim(&format!("note: {note}\n")));
    }
    let files = attached.content.split_off(1);
    let words = joined(&prompt.text, below).map(ContentPart::text);
    Ok(Some(words.chain(files).collect()))
}

/// The prompt as parts: what was typed, and below it what another program wrote, if it wrote anything.
fn joined(typed: &str, input: &str) -> impl Iterator<Item = String> {
    let is_alone = typed.trim().is_empty() || input.trim().is_empty();
    let input = input.trim_end();
    let input = if is_alone {
        input.to_owned()
    } else {
        format!("\n\n{input}")
    };
    [typed.to_owned(), input]
        .into_iter()
        .filter(|part| !part.trim().is_empty())
}

async fn standard_input(console: &mut Console) -> Result<String, ChatError> {
    let (sender, mut receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin()
            .lock()
            .take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map(|_| bytes);
        let _ = sender.send(read);
    });
    let read = match tokio::time::timeout(PATIENCE, &mut receiver).await {
        Ok(read) => read,
        Err(_) => {
            console.say("reading the prompt from standard input until it ends\n");
            receiver.await
        }
    };
    let failed = |what: String| ChatError::File {
        path: "standard input".into(),
        what,
    };
    let bytes = read
        .map_err(|_| failed("it could not be read".into()))?
        .map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(format!("it is longer than {}", units::bytes(MAX_BYTES))));
    }
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_before_standard_input() {
        let parts = |typed, input| joined(typed, input).collect::<Vec<_>>();
        assert_eq!(parts("explain", "a log\n"), ["explain", "\n\na log"]);
        assert_eq!(parts("explain", "\n"), ["explain"]);
        assert_eq!(parts("", "do it\n"), ["do it"]);
    }
}
