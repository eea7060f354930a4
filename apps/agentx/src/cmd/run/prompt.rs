//! The prompt of a headless run: the words of the command line, and standard input below them.

use std::io::Read as _;
use std::time::Duration;

use crate::console::Console;
use crate::error::CliError;
use crate::render::units;

/// The longest standard input that joins a prompt.
const MAX_BYTES: u64 = 16 << 20;
/// After this time without an end, a person is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reads the prompt. `None` is no prompt, where one may go without.
pub(crate) async fn read(
    words: &[String],
    may_go_without: bool,
    console: &mut Console,
) -> Result<Option<String>, CliError> {
    let typed = if words == ["-"] {
        String::new()
    } else {
        words.join(" ")
    };
    let (prompt, hint) = match console.terminal.input {
        true => (typed, "give one: agentx run \"list the files here\""),
        false => {
            let input = standard_input(console).await?;
            (joined(&typed, &input), "give one, or write it to standard input")
        }
    };
    match prompt.trim().is_empty() {
        true if may_go_without => Ok(None),
        true => Err(CliError::usage("there is no prompt", hint)),
        false => Ok(Some(prompt)),
    }
}

fn joined(typed: &str, input: &str) -> String {
    match (typed.trim().is_empty(), input.trim().is_empty()) {
        (false, false) => format!("{typed}\n\n{}", input.trim_end()),
        (false, true) => typed.to_owned(),
        (true, _) => input.trim_end().to_owned(),
    }
}

async fn standard_input(console: &mut Console) -> Result<String, CliError> {
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
    let failed = |what: String| CliError::File {
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
        assert_eq!(joined("explain", "a log\n"), "explain\n\na log");
        assert_eq!(joined("explain", "\n"), "explain");
        assert_eq!(joined("", "do it\n"), "do it");
    }
}
