//! `/init`, `/export`, `/config`, `/memory` and `/doctor`: the project's instructions, the session as a file,
//! the settings, the memories, and problems.

use std::path::{Path, PathBuf};

use crate::attach::place_of;
use crate::chat::{Chat, ConversationSite};
use crate::configuration::{self, SettingsShown};
use crate::doctor;
use crate::error::ChatError;
use crate::memory;
use crate::sessions::export::{self, SessionFileFormat};

/// Maximum number of names that an export tries if files of earlier ones exist.
const MOST_NAMES: usize = 100;

/// The message of `/init`.
const INIT: &str = "\
Write an AGENTS.md for this project, or improve the one that is there: it is read at the start of every session. \
First look at the project: its README, build files, CI configuration, and the layout of its source. \
Then write down what somebody who changes this code has to know and would not guess:
- the commands that build, test, lint and run it, also how to run one test
- the architecture in a few lines: the main parts, where they are, and how they work together
- conventions that the code follows and that differ from what is usual
Keep it under 60 lines, state only what you found, and leave out what is obvious or easy to see. \
If there is a CLAUDE.md, .cursorrules or .github/copilot-instructions.md, take over what is still true.";

/// The answer to `/init` where the agent can write nothing.
const READ_ONLY: &str =
    "this folder is read-only, so no AGENTS.md can be written; `agentx config trust` changes that";

impl Chat<'_> {
    /// Runs `/init`: it sends an ordinary message, so the files are written with the usual questions.
    pub(super) async fn init(&mut self) -> Result<String, ChatError> {
        if self.is_read_only() {
            return Ok(READ_ONLY.to_owned());
        }
        // Its outcome is shown by the conversation; a message never leaves the chat.
        let _ = self.say(INIT).await?;
        Ok(String::new())
    }

    /// Runs `/export`.
    pub(super) async fn export(&mut self, file: Option<String>) -> Result<String, ChatError> {
        let ConversationSite::Open { session, .. } = &self.connection.site else {
            return Ok("there is nothing to export yet".to_owned());
        };
        let (id, runtime) = (session.id().clone(), self.place.shared());
        let format = match &file {
            Some(named) => SessionFileFormat::of_file(Path::new(named))?,
            None => SessionFileFormat::Markdown,
        };
        let folder = self.export_folder();
        let file = match file {
            Some(named) => place_of(&named, &folder),
            None => free_name(&folder, id.as_str()),
        };
        if file.exists() {
            return Ok(format!("{} already exists; name another file", file.display()));
        }
        let written = self
            .wait_for(async { export::text(&*runtime, &id, format).await })
            .await?;
        export::write(&file, &written.text, false)?;
        let mut said = format!("exported {id} to {}", file.display());
        for blob in &written.missing_blobs {
            said.push_str(&format!("\nnote: {blob} is not there any more and is left out"));
        }
        Ok(said)
    }

    /// The folder for exports: the workspace, or for a session of a server the current directory of this
    /// program.
    fn export_folder(&self) -> PathBuf {
        match self.place.remote() {
            None => self.settings.workspace.clone(),
            Some(_) => std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        }
    }

    /// Runs `/config`.
    pub(in crate::chat) fn configuration(&self, shown: SettingsShown) -> String {
        let Some(loaded) = self.start.loaded else {
            return "this program has no configuration".to_owned();
        };
        let text = configuration::table_of(loaded, shown, self.display.console);
        let about = match self.place.remote() {
            None => "`agentx config edit` changes them; a chat reads them when it starts",
            Some(_) => "these settings are for this program; the agent uses the settings of the server",
        };
        let more = match shown {
            SettingsShown::Changed => "`/config all` also lists the defaults",
            SettingsShown::Set | SettingsShown::All => "`agentx config show` also lists what is not set",
        };
        format!("{text}{about}; {more}\n")
    }

    /// Runs `/memory`. The memories of a server's person are on its machine.
    pub(super) fn memory(&self, line: &str) -> Result<String, ChatError> {
        if self.place.remote().is_some() {
            return Ok(
                "the memories are on the server; `agentx memory` on its machine shows them".to_owned(),
            );
        }
        memory::in_chat(line, self.settings, self.display.width())
    }

    /// Runs `/doctor`.
    pub(super) async fn doctor(&mut self) -> Result<String, ChatError> {
        let Some(loaded) = self.start.loaded else {
            return Ok("this program has no configuration to check".to_owned());
        };
        let mut checks = vec![doctor::of_configuration(Ok(loaded))];
        let of_settings = self.wait_for(async { Ok(doctor::of_settings(loaded, false).await) });
        checks.extend(of_settings.await?);
        checks.extend(doctor::of_machine(&self.display.console.terminal));
        let mut text = doctor::render(&checks, self.display.console);
        if self.place.remote().is_some() {
            text.push_str(
                "these checks are about this machine; run `agentx doctor` on the server for its own\n",
            );
        }
        Ok(text)
    }
}

/// A name for the file of a session that no file has yet, as far as a few tries go.
fn free_name(folder: &Path, id: &str) -> PathBuf {
    let names = (1..=MOST_NAMES).map(|number| match number {
        1 => folder.join(format!("agentx-{id}.md")),
        number => folder.join(format!("agentx-{id}-{number}.md")),
    });
    let mut free = names.filter(|name| !name.exists());
    free.next()
        .unwrap_or_else(|| folder.join(format!("agentx-{id}.md")))
}
