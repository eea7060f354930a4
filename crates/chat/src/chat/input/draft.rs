//! Keeps the unsent text of a chat in a file and restores it, except for text that was sent after all. A chat
//! may be killed after its session has accepted a message and before the file is removed, or while only the
//! beginning of the message was written.

use std::time::Duration;

use agentx::history::{SessionHistory, history_of};
use agentx::runtime::{RuntimeError, SessionInfo, SessionQuery};
use agentx::types::{SessionId, Timestamp};
use tokio::time::{Instant, timeout};

use crate::chat::Chat;
use crate::chat::connection::ConversationSite;
use crate::chat::slash::unescaped;
use crate::render::rewind::own_text;
use crate::terminal::draft::DraftKeeper;
use crate::terminal::line_filter::line_filter;

/// Maximum time for finding out whether a draft was sent: a server may not answer.
const LONGEST_LOOK: Duration = Duration::from_secs(2);
/// Number of the latest sessions of a directory that may have begun with the draft of a new chat.
const LOOKED_AT: usize = 3;

impl Chat<'_> {
    /// Says where the drafts of this chat are. Without a line editor there are none: the terminal has the
    /// line.
    pub(in crate::chat) fn find_drafts(&mut self) {
        if self.display.has_editor() {
            self.composer.draft = DraftKeeper::new(
                &self.settings.data_dir,
                Some(line_filter(self.settings)),
                self.place.address().map(str::to_owned),
                match self.place.remote() {
                    Some(_) => self.place.workspace().unwrap_or_default().to_owned(),
                    None => self.settings.workspace.display().to_string(),
                },
            );
        }
    }

    /// Keeps the unsent text in its file. In another session than before, brings back the text that was kept
    /// for that session.
    pub(in crate::chat) async fn keep_draft(&mut self) {
        let session = self.connection.session().map(|session| session.id().clone());
        let at = session.as_ref().map(SessionId::as_str);
        if !self.composer.draft.is_at(at) {
            let kept = self.composer.draft.move_to(at);
            let mut texts = kept.texts;
            let first = texts.first().cloned();
            if !texts.is_empty() {
                let sent = self.sent_since(kept.after, session.as_ref());
                let sent = timeout(LONGEST_LOOK, sent).await.unwrap_or_default();
                texts = without_sent(texts, sent);
            }
            self.bring_draft_back(&texts, kept.cursor.filter(|_| texts.first() == first.as_ref()));
        }
        self.note_sent_before_draft().await;
        let unsent = self.unsent_for_draft();
        self.composer.draft.note(unsent, Instant::now());
    }

    /// Writes the unsent text immediately, because the chat ends or begins something that must not come back
    /// as unsent.
    pub(in crate::chat) async fn keep_draft_at_once(&mut self) {
        self.keep_draft().await;
        if self.composer.draft.is_due() {
            self.note_sent_before_draft().await;
            let unsent = self.unsent_for_draft();
            self.composer.draft.write(unsent, Instant::now());
        }
    }

    /// Writes the unsent text once more, because a secret in it was marked since.
    pub(in crate::chat) fn rewrite_draft(&mut self) {
        let unsent = self.unsent_for_draft();
        if unsent.is_empty() {
            self.composer.draft.note(unsent, Instant::now());
        } else {
            self.composer.draft.write(unsent, Instant::now());
        }
    }

    /// Returns the unsent texts, and notes the place of the cursor in the first one.
    fn unsent_for_draft(&mut self) -> Vec<String> {
        self.composer.draft.set_cursor(self.composer.unsent_cursor());
        self.composer.unsent()
    }

    /// Tells the draft what its place has already, so that a later message with the same words counts as the
    /// draft, and an earlier one does not. No clock of this machine counts: it may be wrong, or a server's
    /// may be another one.
    async fn note_sent_before_draft(&mut self) {
        match &self.connection.site {
            ConversationSite::Open { events, .. } => {
                self.composer.draft.set_after(Some(events.seq()));
            }
            ConversationSite::New(_) if self.composer.draft.wants_after() => {
                let latest = timeout(LONGEST_LOOK, self.latest_sessions()).await;
                let latest = latest.ok().and_then(Result::ok);
                self.composer.draft.set_after(latest.map(|latest| {
                    let made = latest.iter().map(|info| micros(info.created_at));
                    made.max().unwrap_or_default()
                }));
            }
            ConversationSite::New(_) => {}
        }
    }

    /// The messages and commands as which a draft may have been sent: those of the session after this event,
    /// or the first ones of the latest sessions of the directory that were made after this time if the draft
    /// belongs to that. A draft of an earlier version says neither: the last message and those that wait
    /// count.
    async fn sent_since(&self, after: Option<u64>, session: Option<&SessionId>) -> Vec<String> {
        let runtime = self.place.runtime();
        if let Some(session) = session {
            let history = history_of(runtime, session).await;
            let sent = history.map(|history| sent_in(&history)).unwrap_or_default();
            let waiting = self.status.queue.iter().count();
            return sent_after(sent, after, waiting);
        }
        let mut first = Vec::new();
        for info in self.latest_sessions().await.unwrap_or_default() {
            if after.is_none_or(|after| micros(info.created_at) > after)
                && let Ok(history) = history_of(runtime, &info.session_id).await
            {
                first.extend(sent_in(&history).into_iter().next().map(|(_, text)| text));
            }
        }
        first
    }

    /// The latest sessions of the directory in which a new session works.
    async fn latest_sessions(&self) -> Result<Vec<SessionInfo>, RuntimeError> {
        let runtime = self.place.runtime();
        // A chat with a server may leave the directory to that.
        let workspace = Some(self.composer.draft.workspace().to_owned());
        let query = SessionQuery {
            owner: runtime.owner().clone(),
            workspace: workspace.filter(|workspace| !workspace.is_empty()),
            limit: LOOKED_AT,
            before: None,
        };
        runtime.sessions(query).await
    }

    fn bring_draft_back(&mut self, texts: &[String], cursor: Option<usize>) {
        if texts.is_empty() {
            return;
        }
        self.composer.bring_lines_back(texts);
        if let Some(cursor) = cursor {
            self.composer.editor.place_cursor(cursor);
        }
        let note = if self.composer.editor.is_stashed() {
            "· the text that you had not sent comes back after the question"
        } else {
            "· the text that you had not sent is in the line again"
        };
        let note = self.display.style().dim(note);
        self.display.transcript.print_notice(&note);
    }
}

/// Returns a time as a draft has it.
fn micros(at: Timestamp) -> u64 {
    u64::try_from(at.0).unwrap_or_default()
}

/// The messages of people and, behind a `!`, the commands that they ran, in order, with the events that
/// recorded them.
fn sent_in(history: &SessionHistory) -> Vec<(u64, String)> {
    let inputs = history.inputs().iter();
    let inputs = inputs.map(|input| (input.seq, own_text(&input.texts)));
    let commands = history.commands().iter();
    let commands = commands.map(|(seq, _, command)| (*seq, format!("!{command}")));
    let mut sent: Vec<(u64, String)> = inputs.chain(commands).collect();
    sent.sort_by_key(|(seq, _)| *seq);
    sent
}

/// Returns the texts after this event; without one, the last text, and as many before it as messages wait.
fn sent_after(mut sent: Vec<(u64, String)>, after: Option<u64>, waiting: usize) -> Vec<String> {
    match after {
        Some(after) => sent.retain(|(seq, _)| *seq > after),
        None => sent = sent.split_off(sent.len().saturating_sub(1 + waiting)),
    }
    sent.into_iter().map(|(_, text)| text).collect()
}

/// Returns the drafts that are none of these messages. Each message was one draft.
fn without_sent(drafts: Vec<String>, mut sent: Vec<String>) -> Vec<String> {
    let is_unsent = |draft: &String| match sent_as(draft, &sent) {
        Some(at) => {
            sent.remove(at);
            false
        }
        None => true,
    };
    drafts.into_iter().filter(is_unsent).collect()
}

/// Returns the place of the message that is this draft, or that begins with it: the rest was typed after the
/// last write.
fn sent_as(draft: &str, messages: &[String]) -> Option<usize> {
    let draft = match draft.trim().strip_prefix('!') {
        // A second `!` asks for the terminal and is not part of the command.
        Some(command) => format!("!{}", command.trim_start_matches('!').trim()),
        None => unescaped(draft.trim()).to_owned(),
    };
    let mut trimmed = messages.iter().map(|message| message.trim());
    let same = trimmed.clone().position(|message| message == draft);
    same.or_else(|| trimmed.position(|message| message.starts_with(&draft)))
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
            assert!(sent_as(sent, &messages).is_some(), "{sent}");
        }
        for unsent in [
            "fix the tests\nand the docs, please",
            "the docs",
            "make test",
            "!make tests",
        ] {
            assert!(sent_as(unsent, &messages).is_none(), "{unsent}");
        }
        assert!(sent_as("fix", &[]).is_none());
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_draft_that_was_typed_after_a_message_is_not_that_message() {
        let sent: Vec<(u64, String)> = [(3, "hello"), (7, "continue"), (9, "!make"), (12, "continue")]
            .map(|(seq, text)| (seq, text.to_owned()))
            .into();
        let after = |seq| sent_after(sent.clone(), seq, 1);
        assert_eq!(after(Some(12)), texts(&[]));
        assert_eq!(after(Some(7)), texts(&["!make", "continue"]));
        assert_eq!(
            after(None),
            texts(&["!make", "continue"]),
            "a file of an earlier version"
        );
        assert_eq!(sent_after(sent.clone(), None, 9).len(), 4);
    }

    #[test]
    fn messages_that_were_sent_since_the_last_write_are_no_drafts_and_each_was_one() {
        let drafts = || texts(&["m1", "m2", "m2", "and a dra"]);
        let left = |sent: &[&str]| without_sent(drafts(), texts(sent));
        assert_eq!(left(&["m1", "m2"]), texts(&["m2", "and a dra"]));
        assert_eq!(left(&["m1 and more", "m2", "m2"]), texts(&["and a dra"]));
        assert_eq!(left(&["m2 whole", "m2", "m1", "and a draft"]), texts(&[]));
        assert_eq!(left(&[]), drafts());
    }
}
