//! Keeps the unsent text of a chat in a file and restores it, except for text that was sent after all. A chat may be
//! killed after its session has accepted a message and before the file is removed, or while only the beginning of the
//! message was written.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentx::history::{SessionHistory, history_of};
use agentx::runtime::SessionQuery;
use agentx::types::{SessionId, Timestamp};
use tokio::time::{Instant, timeout};

use crate::chat::Chat;
use crate::chat::slash::unescaped;
use crate::render::rewind::own_text;
use crate::terminal::draft::{DraftKeeper, PAUSE};
use crate::terminal::line_filter::line_filter;

/// Maximum time for finding out whether a draft was sent: a server may not answer.
const LONGEST_LOOK: Duration = Duration::from_secs(2);
/// Number of the latest sessions of a directory that may have begun with the draft of a new chat.
const LOOKED_AT: usize = 3;

impl Chat<'_> {
    /// Says where the drafts of this chat are. Without a line editor there are none: the terminal has the line.
    pub(in crate::chat) fn find_drafts(&mut self) {
        if self.display.has_editor() {
            self.composer.draft = DraftKeeper::new(
                &self.settings.data_dir,
                line_filter(self.settings),
                self.place.address().map(str::to_owned),
                match self.place.remote() {
                    Some(_) => self.place.workspace().unwrap_or_default().to_owned(),
                    None => self.settings.workspace.display().to_string(),
                },
            );
        }
    }

    /// Keeps the unsent text in its file. In another session than before, brings back the text that was kept for
    /// that session.
    pub(in crate::chat) async fn keep_draft(&mut self) {
        let session = self.connection.session().map(|session| session.id().clone());
        let at = session.as_ref().map(SessionId::as_str);
        if !self.composer.draft.is_at(at) {
            let mut texts = self.composer.draft.move_to(at);
            if !texts.is_empty() {
                let sent = timeout(LONGEST_LOOK, self.sent_last(session.as_ref())).await;
                // The clock of a server may be another one.
                let written = self.composer.draft.written_at();
                let written = written.filter(|_| self.place.remote().is_none());
                let sent = sent.unwrap_or_default().into_iter();
                let sent = sent.filter(|(at, _)| is_from_before(written, *at));
                let sent: Vec<String> = sent.map(|(_, text)| text).collect();
                texts.retain(|text| !was_sent(text, &sent));
            }
            self.bring_draft_back(&texts);
        }
        let unsent = self.composer.unsent();
        self.composer.draft.note(unsent, Instant::now());
    }

    /// Writes the unsent text at once: the chat ends, or it begins something that must not come back as unsent.
    pub(in crate::chat) async fn keep_draft_at_once(&mut self) {
        self.keep_draft().await;
        if self.composer.draft.is_due() {
            let unsent = self.composer.unsent();
            self.composer.draft.write(unsent, Instant::now());
        }
    }

    /// The messages and commands as which a draft may have been sent: the last one of the session and those that wait,
    /// or the first ones of the latest sessions of the directory if the draft belongs to that. Each has its time.
    async fn sent_last(&self, session: Option<&SessionId>) -> Vec<(Timestamp, String)> {
        let runtime = self.place.runtime();
        if let Some(session) = session {
            let count = 1 + self.status.queue.iter().count();
            let history = history_of(runtime, session).await;
            let mut sent = history.map(|history| sent_in(&history)).unwrap_or_default();
            return sent.split_off(sent.len().saturating_sub(count));
        }
        // A chat with a server may leave the directory to that.
        let workspace = Some(self.composer.draft.workspace().to_owned());
        let query = SessionQuery {
            owner: runtime.owner().clone(),
            workspace: workspace.filter(|workspace| !workspace.is_empty()),
            limit: LOOKED_AT,
            before: None,
        };
        let mut first = Vec::new();
        for info in runtime.sessions(query).await.unwrap_or_default() {
            if let Ok(history) = history_of(runtime, &info.session_id).await {
                first.extend(sent_in(&history).into_iter().next());
            }
        }
        first
    }

    fn bring_draft_back(&mut self, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        self.composer.bring_lines_back(texts);
        let note = if self.composer.editor.is_stashed() {
            "· the text that you had not sent comes back after the question"
        } else {
            "· the text that you had not sent is in the line again"
        };
        let note = self.display.style().dim(note);
        self.display.transcript.print_notice(&note);
    }
}

/// The messages of people and, behind a `!`, the commands that they ran, in order, with their times.
fn sent_in(history: &SessionHistory) -> Vec<(Timestamp, String)> {
    let inputs = history.inputs().iter();
    let inputs = inputs.map(|input| (input.seq, input.at, own_text(&input.texts)));
    let commands = history.commands().iter();
    let commands = commands.map(|(seq, at, command)| (*seq, *at, format!("!{command}")));
    let mut sent: Vec<(u64, Timestamp, String)> = inputs.chain(commands).collect();
    sent.sort_by_key(|(seq, ..)| *seq);
    sent.into_iter().map(|(_, at, text)| (at, text)).collect()
}

/// Returns whether a draft that was written last at `written` may be a message of the time `at`. A later draft was typed
/// after it: the file goes when the session has the message, and the next text is not written within a second.
fn is_from_before(written: Option<SystemTime>, at: Timestamp) -> bool {
    let written = written.and_then(|written| written.duration_since(UNIX_EPOCH).ok());
    written.is_none_or(|written| {
        let latest = Duration::from_micros(u64::try_from(at.0).unwrap_or(0)) + PAUSE;
        written <= latest
    })
}

/// Returns whether one of the messages is this draft, or begins with it: the rest was typed after the last write.
fn was_sent(draft: &str, messages: &[String]) -> bool {
    let draft = match draft.trim().strip_prefix('!') {
        // A second `!` asks for the terminal and is not part of the command.
        Some(command) => format!("!{}", command.trim_start_matches('!').trim()),
        None => unescaped(draft.trim()).to_owned(),
    };
    messages.iter().any(|message| message.trim().starts_with(&draft))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_that_was_sent_whole_or_is_the_beginning_of_what_was_is_none() {
        let messages = [
            "fix the tests\nand the docs".to_owned(),
            "/etc/hosts is odd".to_owned(),
            "!make test".to_owned(),
        ];
        for sent in [
            "fix the tests\nand the docs\n",
            "fix the te",
            "//etc/hosts",
            "! make test",
            "!!make te",
        ] {
            assert!(was_sent(sent, &messages), "{sent}");
        }
        for unsent in [
            "fix the tests\nand the docs, please",
            "the docs",
            "make test",
            "!make tests",
        ] {
            assert!(!was_sent(unsent, &messages), "{unsent}");
        }
        assert!(!was_sent("fix", &[]));
    }

    #[test]
    fn a_draft_that_was_typed_after_a_message_is_not_that_message() {
        let accepted = Timestamp(5_000_000);
        let written = |millis| Some(UNIX_EPOCH + Duration::from_millis(millis));
        for before in [None, written(4_000), written(5_000), written(5_900)] {
            assert!(is_from_before(before, accepted), "{before:?}");
        }
        assert!(!is_from_before(written(6_100), accepted));
    }
}
