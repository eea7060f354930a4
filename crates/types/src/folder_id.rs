//! Which folder lies at a path: the path alone does not say, because another folder may come to lie there.

use serde::{Deserialize, Serialize};

/// Names a folder, and the `.git` that it had when it was looked at. It holds on one machine, and says nothing about what the folder
/// holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FolderId(String);

/// Stands before the `.git`.
const GIT: char = '+';

impl FolderId {
    /// A folder, and its `.git` where it has one.
    pub fn new(folder: &str, git: Option<&str>) -> Self {
        Self(match git {
            Some(git) => format!("{folder}{GIT}{git}"),
            None => folder.to_owned(),
        })
    }

    /// One that was written down.
    pub fn written(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As it is written down.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the folder that was written down is the one that is there `now`. A `.git` may have come since (`git init`), but one that
    /// was there has to be there still.
    ///
    /// ```
    /// use agentx_types::FolderId;
    /// let (before, now) = (FolderId::new("a", None), FolderId::new("a", Some("b")));
    /// assert!(before.is(Some(&now)) && !now.is(Some(&before)) && !before.is(None));
    /// assert!(!now.is(Some(&FolderId::new("a", Some("c")))) && !before.is(Some(&FolderId::new("ab", None))));
    /// ```
    pub fn is(&self, now: Option<&Self>) -> bool {
        let rest = now.and_then(|now| now.0.strip_prefix(&self.0));
        rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with(GIT) && !self.0.contains(GIT)))
    }
}
