//! `!command`: the person's own command, in a shell here. What it says is on the screen, and goes to the agent with the next words.

use std::process::Stdio;
use std::time::Duration;

use agentx::types::ContentPart;
use tokio::process::Command;

use super::{Chat, Flow};
use crate::error::CliError;
use crate::render::clean::clean;
use crate::render::table::cut;

/// No command of this kind takes longer.
const LONGEST: Duration = Duration::from_secs(120);
/// So much of what it says is kept.
const KEPT: usize = 32 * 1024;
/// So many lines of it are shown.
const SHOWN: usize = 40;

impl Chat<'_> {
    /// Runs a command and shows what it says.
    pub(super) async fn shell(&mut self, command: &str) -> Result<Flow, CliError> {
        let mut process = Command::new("sh");
        process
            .args(["-c", command])
            .current_dir(&self.settings.workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let ran = self
            .wait_at_hand(async move { tokio::time::timeout(LONGEST, process.output()).await })
            .await;
        let style = self.console.out_style();
        let (said, end) = match ran {
            None => return self.told(&style.warn("  ■ stopped")),
            Some(Err(_)) => {
                let line = format!("  ■ stopped after {} s", LONGEST.as_secs());
                return self.told(&style.warn(&line));
            }
            Some(Ok(Err(error))) => return self.told(&style.bad(&format!("  it could not be run: {error}"))),
            Some(Ok(Ok(output))) => {
                let said = [output.stdout, output.stderr].concat();
                let end = match output.status.code() {
                    Some(code) => format!("exit {code}"),
                    None => output.status.to_string(),
                };
                (shortened(&clean(&String::from_utf8_lossy(&said))), end)
            }
        };
        let lines: Vec<&str> = said.lines().collect();
        let room = self.console.terminal.width.saturating_sub(4);
        for line in lines.iter().take(SHOWN) {
            self.transcript
                .aside(&style.dim(&format!("  │ {}", cut(line, room))));
        }
        if lines.len() > SHOWN {
            let more = format!("  │ … {} lines more", lines.len() - SHOWN);
            self.transcript.aside(&style.dim(&more));
        }
        let note = style.dim(&format!("  └ {end} · goes to the agent with what you say next"));
        self.shared.push(ContentPart::text(format!(
            "\n\n<ran_by_the_person command=\"{command}\">\n{said}\n{end}\n</ran_by_the_person>"
        )));
        self.told(&note)
    }

    fn told(&mut self, line: &str) -> Result<Flow, CliError> {
        self.transcript.aside(line);
        Ok(Flow::On)
    }
}

/// The beginning and the end of what is too long.
fn shortened(said: &str) -> String {
    let said = said.trim_end();
    if said.len() <= KEPT {
        return said.to_owned();
    }
    let (mut head, mut tail) = (KEPT / 2, said.len() - KEPT / 2);
    while !said.is_char_boundary(head) {
        head -= 1;
    }
    while !said.is_char_boundary(tail) {
        tail += 1;
    }
    format!(
        "{}\n… {} bytes left out …\n{}",
        &said[..head],
        tail - head,
        &said[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end() {
        let said = format!("begin{}end", "好".repeat(40_000));
        let short = shortened(&said);
        assert!(short.starts_with("begin") && short.ends_with("end"));
        assert!(short.len() < KEPT + 64 && short.contains("bytes left out"));
    }
}
