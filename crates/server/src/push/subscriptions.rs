//! The subscriptions of pages, in a file of the data directory. Each belongs to the login of a page, which is
//! checked before each message: it ends when the login does. A page has one; a person has as many as pages.

use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentx_files::{ReplaceOptions, SecretFileError, open_secret, replace};
use agentx_types::OwnerId;
use serde::{Deserialize, Serialize};

use crate::push::encryption::PushReceiver;

/// The name of the file in the data directory.
const FILE: &str = "push_subscriptions.json";
/// The longest file, in bytes: more than the subscriptions of a server need.
const MOST_BYTES: u64 = 32 << 20;
/// The maximum number of subscriptions of a person: as many as they may have pages.
const OF_PERSON: usize = 16;
/// The maximum number of subscriptions of a server.
const OF_SERVER: usize = 4_096;

/// A page that gets messages. The browser made its endpoint and its keys.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct PushSubscription {
    /// The id of the token with which the page is signed in.
    pub(crate) login: String,
    /// The person whose page it is.
    pub(crate) person: OwnerId,
    /// The address to which messages go. Whoever has it can send to this page.
    pub(crate) endpoint: String,
    /// The public key of the page, in base64url.
    pub(crate) p256dh: String,
    /// The secret of the page, in base64url.
    pub(crate) auth: String,
}

impl PushSubscription {
    /// Returns the keys for which messages are encrypted.
    ///
    /// # Errors
    /// Returns an error that names the key that has another form.
    pub(super) fn receiver(&self) -> Result<PushReceiver, String> {
        PushReceiver::read(&self.p256dh, &self.auth)
    }
}

/// The reason why a subscription is not kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubscriptionError {
    /// The server has as many as it keeps.
    #[error("the server keeps {OF_SERVER} subscriptions of pages, and there is no room for another one")]
    Full,
    /// The file cannot be written.
    #[error("{}: {error}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

/// The subscriptions of all pages of a server.
pub(crate) struct PushSubscriptions {
    file: PathBuf,
    all: Mutex<Vec<PushSubscription>>,
    /// Held while the file is replaced, so that readers do not wait for the disk.
    writing: Mutex<()>,
}

impl PushSubscriptions {
    /// Reads those that an earlier server kept in this directory. A file that is damaged, or that others have
    /// access to, counts as empty: pages subscribe again when they are opened.
    pub(super) fn read(data_dir: &Path) -> Self {
        let file = data_dir.join(FILE);
        let read = match open_secret(&file) {
            Ok(opened) => serde_json::from_reader(BufReader::new(opened.take(MOST_BYTES)))
                .map_err(|error| SecretFileError::System(error.into())),
            Err(SecretFileError::System(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        let mut all: Vec<PushSubscription> = read.unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "cannot read which pages get messages");
            Vec::new()
        });
        all.truncate(OF_SERVER);
        Self {
            file,
            all: Mutex::new(all),
            writing: Mutex::default(),
        }
    }

    /// Returns all of them.
    pub(crate) fn all(&self) -> Vec<PushSubscription> {
        self.lock().clone()
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Returns whether the page with this login has one.
    pub(crate) fn has(&self, login: &str) -> bool {
        self.lock().iter().any(|one| one.login == login)
    }

    /// Adds a subscription in place of an earlier one of its page. If the person has as many as they may
    /// have, the oldest one is removed. Waits for the disk.
    ///
    /// # Errors
    /// Returns an error if the server has too many, or the file cannot be written; then nothing has changed.
    pub(crate) fn put(&self, new: PushSubscription) -> Result<(), SubscriptionError> {
        self.change(|all| {
            all.retain(|one| one.login != new.login);
            let is_own = |one: &PushSubscription| one.person == new.person;
            while all.iter().filter(|one| is_own(one)).count() >= OF_PERSON {
                let Some(oldest) = all.iter().position(is_own) else {
                    break;
                };
                all.remove(oldest);
            }
            if all.len() >= OF_SERVER {
                return Err(SubscriptionError::Full);
            }
            all.push(new);
            Ok(())
        })
    }

    /// Removes the subscriptions of these logins. Waits for the disk.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written; then nothing has changed.
    pub(crate) fn remove(&self, logins: &[String]) -> Result<(), SubscriptionError> {
        self.change(|all| {
            all.retain(|one| !logins.contains(&one.login));
            Ok(())
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Vec<PushSubscription>) -> Result<(), SubscriptionError>,
    ) -> Result<(), SubscriptionError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.all();
        let mut all = before.clone();
        change(&mut all)?;
        if all == before {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(&all).map_err(io::Error::from);
        let written = text.and_then(|text| replace(&self.file, &text, ReplaceOptions::default()));
        written.map_err(|error| SubscriptionError::File {
            path: self.file.clone(),
            error,
        })?;
        *self.lock() = all;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PushSubscription>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn subscription(login: &str, person: &str) -> PushSubscription {
        PushSubscription {
            login: login.to_owned(),
            person: person.into(),
            endpoint: format!("https://push.example/{login}"),
            p256dh: "made-up".to_owned(),
            auth: "made-up".to_owned(),
        }
    }

    #[test]
    fn a_page_has_one_subscription_and_a_person_a_few_over_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let kept = PushSubscriptions::read(directory.path());
        assert!(kept.is_empty());
        for number in 0..=OF_PERSON {
            kept.put(subscription(&format!("tok_{number}"), "own_1")).unwrap();
        }
        kept.put(subscription("tok_other", "own_2")).unwrap();
        assert!(!kept.has("tok_0") && kept.has("tok_1") && kept.has("tok_other"));
        let mut changed = subscription("tok_1", "own_1");
        changed.endpoint = "https://push.example/changed".to_owned();
        kept.put(changed.clone()).unwrap();
        assert_eq!(kept.all().len(), OF_PERSON + 1);
        let again = PushSubscriptions::read(directory.path());
        assert_eq!(again.all(), kept.all());
        assert!(again.all().contains(&changed));
        again
            .remove(&["tok_1".to_owned(), "tok_none".to_owned()])
            .unwrap();
        assert!(!again.has("tok_1"));
        assert_eq!(PushSubscriptions::read(directory.path()).all(), again.all());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_of_the_directory_can_read_the_endpoints() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let kept = PushSubscriptions::read(directory.path());
        kept.put(subscription("tok_1", "own_1")).unwrap();
        let file = directory.path().join(FILE);
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        let left = PushSubscriptions::read(directory.path());
        assert!(left.is_empty(), "others may have put addresses there");
        left.put(subscription("tok_2", "own_1")).unwrap();
        let again = PushSubscriptions::read(directory.path());
        assert!(again.has("tok_2") && !again.has("tok_1"));
        std::fs::write(&file, "[").unwrap();
        assert!(PushSubscriptions::read(directory.path()).is_empty());
    }
}
