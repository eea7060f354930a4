//! Ctrl-X Ctrl-E: opens the line in the person's own editor. The chat lends the terminal to the editor and
//! does not read from it; it shows the agent's work afterwards. The written text is never lost, whatever
//! happens to the editor.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use agentx::node::program_environment;
use agentx::tools::ProgramEnvironment;
use agentx_files::private_options;
use tokio::process::{Child, Command};

use crate::chat::{Chat, ChatFlow, ChatInterface};
use crate::error::ChatError;
use crate::exit::Exit;
use crate::terminal::typed_ahead::split_answer;
use crate::terminal::{RawMode, TerminalInput, TerminalLoan};

/// Maximum size of a text from the editor.
const LONGEST: u64 = 1 << 20;
/// The exit codes with which a shell reports that a program does not exist or cannot run.
const NO_PROGRAM: [i32; 2] = [127, 126];

/// Creates a file with this text that only this person can read.
///
/// # Errors
/// Returns an error if there is such a file, or it cannot be written.
pub fn create_private_copy(path: &Path, text: &str) -> io::Result<()> {
    let mut file = private_options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// The result of a visit to the editor.
pub(in crate::chat) enum EditorEnd {
    /// The editor has ended with this status.
    Over(ExitStatus),
    /// The program is asked to leave.
    Leaves(Exit),
}

/// A file that is deleted when this is dropped, unless it has the only copy of a text.
struct EditorFile {
    path: PathBuf,
    keep: bool,
}

impl EditorFile {
    /// Writes the text to a file that only this person can read.
    fn new(text: &str) -> io::Result<Self> {
        let directory = std::env::temp_dir();
        let mut tries = 0_u32;
        loop {
            // The file is created now or not at all, so that no other process can have put one there.
            let path = directory.join(format!("agentx-{}-{tries}.md", std::process::id()));
            match private_options().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    let draft = Self { path, keep: false };
                    file.write_all(text.as_bytes())?;
                    return Ok(draft);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 1_000 => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the present text of the file.
    fn read(&self) -> Result<String, String> {
        let size = self.path.metadata().map_err(|error| error.to_string())?.len();
        if size > LONGEST {
            return Err(format!("it has {size} bytes, and at most {LONGEST} are accepted"));
        }
        let bytes = std::fs::read(&self.path).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
    }
}

impl Drop for EditorFile {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns the editor that the person names, or `vi`.
pub fn wanted_editor(lookup: impl Fn(&str) -> Option<String>) -> String {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(lookup);
    let mut named = named.filter(|name| !name.trim().is_empty());
    named.next().unwrap_or_else(|| "vi".to_owned())
}

/// Runs the editor as a shell would: its name may have arguments. It gets no keys: an editor stays open for
/// long, and commands of the agent could read them from it.
fn begin(editor: &str, path: &Path, environment: &ProgramEnvironment) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(path)
        .env_clear()
        .envs(environment.variables())
        .kill_on_drop(true)
        .spawn()
}

impl Chat<'_> {
    /// Lets the person write the line in their own editor.
    pub(in crate::chat) async fn write_elsewhere(&mut self) -> Result<ChatFlow, ChatError> {
        let was_stashed = self.composer.editor.is_stashed();
        let before = self.composer.editor.whole();
        let editor = wanted_editor(|name| std::env::var(name).ok());
        let mut draft = match EditorFile::new(&before) {
            Ok(draft) => draft,
            Err(error) => {
                return self
                    .display
                    .report_no_editor(&format!("cannot create a file for the editor: {error}"));
            }
        };
        let Some(lent) = self.lend_terminal()? else {
            return Ok(ChatFlow::Continue);
        };
        let visit = match begin(&editor, &draft.path, &program_environment(self.settings)) {
            Ok(child) => self.visit(child).await?,
            Err(error) => {
                drop(lent);
                return self
                    .display
                    .report_no_editor(&format!("{editor} could not be run: {error}"));
            }
        };
        drop(lent);
        self.measure_terminal().await?;
        let status = match visit {
            EditorEnd::Over(status) => status,
            EditorEnd::Leaves(exit) => {
                // The draft is the only copy of the changed text.
                draft.keep = draft.read().is_ok_and(|text| text != before);
                return Ok(ChatFlow::Leave(exit));
            }
        };
        if !status.success() {
            let what = match status.code() {
                Some(code) if NO_PROGRAM.contains(&code) => {
                    format!("editor {editor:?} not found; set $VISUAL or $EDITOR to yours")
                }
                _ => format!("{editor:?} ended with {status}; the input is unchanged"),
            };
            return self.display.report_no_editor(&what);
        }
        match draft.read() {
            Ok(text) => {
                if text != before {
                    self.composer.editor.set_edited(&text, was_stashed);
                }
                Ok(ChatFlow::Continue)
            }
            Err(what) => {
                draft.keep = draft.path.exists();
                let at = draft.path.display();
                self.display.report_no_editor(&format!(
                    "cannot use the text in {at}: {what}; the input is unchanged"
                ))
            }
        }
    }

    /// Clears the live rows from the screen and lends the terminal.
    pub(in crate::chat) fn lend_terminal(&mut self) -> Result<Option<TerminalLoan>, ChatError> {
        Ok(self.clear_live_rows()?.map(RawMode::lend))
    }

    /// Lends the terminal for an answer that is not shown. Also returns the bytes of the answer that were
    /// typed already.
    pub(in crate::chat) fn lend_hidden(&mut self) -> Result<Option<(TerminalLoan, Vec<u8>)>, ChatError> {
        // Inputs that nobody takes would keep the reader of keys from stopping.
        let mut inputs = self.composer.inputs.take_typed();
        let lent = self.clear_live_rows()?.map(RawMode::lend_hidden);
        inputs.extend(self.composer.inputs.take_typed());
        let Some((lent, received)) = lent else {
            inputs
                .into_iter()
                .for_each(|input| self.composer.inputs.keep(input));
            return Ok(None);
        };
        inputs.extend(received);
        let (answer, others) = split_answer(inputs);
        others
            .into_iter()
            .for_each(|input| self.composer.inputs.keep(input));
        Ok(Some((lent, answer)))
    }

    /// Clears the live rows from the screen. `None` if there is no terminal to lend.
    fn clear_live_rows(&mut self) -> Result<Option<&RawMode>, ChatError> {
        self.paint()?;
        let ChatInterface::Editor {
            raw: Some(raw),
            screen,
        } = &mut self.display.face
        else {
            return Ok(None);
        };
        let bytes = screen.stand_aside();
        self.display.console.paint(&bytes)?;
        Ok(Some(raw))
    }

    /// The terminal may have another size than before.
    pub(in crate::chat) async fn measure_terminal(&mut self) -> Result<(), ChatError> {
        if let Ok((columns, rows)) = crossterm::terminal::size() {
            Box::pin(self.input(TerminalInput::Resize(columns.into(), rows.into()))).await?;
        }
        Ok(())
    }

    /// Waits for the program that has the terminal. Takes events meanwhile, to show them when the terminal is
    /// back.
    pub(in crate::chat) async fn visit(&mut self, mut child: Child) -> Result<EditorEnd, ChatError> {
        loop {
            tokio::select! {
                biased;
                ended = child.wait() => {
                    return Ok(EditorEnd::Over(ended.map_err(|error| ChatError::File {
                        path: "the program".into(),
                        what: error.to_string(),
                    })?));
                }
                delivery = self.connection.site.next_delivery() => match delivery? {
                    Some(delivery) => self.delivery(&delivery).await,
                    // The session has ended: the chat says so when it looks for the next event.
                    None => {
                        let ended = child.wait().await;
                        return Ok(ended.map_or(EditorEnd::Leaves(Exit::Storage), EditorEnd::Over));
                    }
                },
                news = self.connection.company.news() => self.display.tell_participants_update(news),
                exit = self.signals.next() => {
                    // Ctrl-C in the terminal is for the program that has it.
                    if exit != Exit::Interrupted {
                        let _ = child.start_kill();
                        let _ = child.wait().await;
                        return Ok(EditorEnd::Leaves(exit));
                    }
                    self.signals.acted();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_private_and_gone_afterwards() {
        let draft = EditorFile::new("one\ntwo").unwrap();
        let path = draft.path.clone();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(draft.read().as_deref(), Ok("one\ntwo"));
        std::fs::write(&path, "three\n").unwrap();
        assert_eq!(draft.read().as_deref(), Ok("three"), "editors end the last line");
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(draft.read().unwrap_err().contains("UTF-8"));
        let second = EditorFile::new("").unwrap();
        assert_ne!(second.path, path);
        drop((draft, second));
        assert!(!path.exists());
    }

    #[test]
    fn the_editor_is_the_one_that_is_named() {
        let named = |set: &[(&str, &str)]| {
            wanted_editor(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(
            named(&[("VISUAL", "code --wait"), ("EDITOR", "ed")]),
            "code --wait"
        );
        assert_eq!(named(&[("VISUAL", ""), ("EDITOR", "ed")]), "ed");
        assert_eq!(named(&[]), "vi");
    }
}
