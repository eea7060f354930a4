//! The identity of the folder at a path. The path alone is not enough, because another folder may replace it.

use serde::{Deserialize, Serialize};

/// Identifies a folder, its place in its repository, and the `.git` of that repository, as they were when it
/// was read. It is valid on one machine, and does not depend on the folder's contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FolderId(String);

/// The separator before the position in a repository.
const PLACE: char = '/';
/// The separator before the `.git`.
const GIT: char = '+';

/// The current state of the folder at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentFolder {
    /// The folder's identity.
    pub id: FolderId,
    /// Whether it is a folder within a repository that has files in it: a checkout may remove it and make it
    /// again.
    pub is_checked_out: bool,
}

impl CurrentFolder {
    /// Returns whether the recorded folder is the one that exists now.
    ///
    /// ```
    /// use agentx_types::{FolderId, CurrentFolder};
    /// let known = FolderId::new("a", Some("git")).at("place");
    /// let id = FolderId::new("b", Some("git")).at("place");
    /// assert!(CurrentFolder { id: id.clone(), is_checked_out: true }.matches(&known));
    /// assert!(!CurrentFolder { id, is_checked_out: false }.matches(&known));
    /// let id = FolderId::new("b", Some("git")).at("elsewhere");
    /// assert!(!CurrentFolder { id, is_checked_out: true }.matches(&known));
    /// ```
    pub fn matches(&self, known: &FolderId) -> bool {
        known.matches(Some(&self.id)) || (self.is_checked_out && known.is_remade_as(&self.id))
    }
}

impl FolderId {
    /// Identifies a folder, and the `.git` of its repository if it has one.
    pub fn new(folder: &str, git: Option<&str>) -> Self {
        Self(match git {
            Some(git) => format!("{folder}{GIT}{git}"),
            None => folder.to_owned(),
        })
    }

    /// The same folder, at a path below the top of its repository.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        let (folder, _, git) = self.parts();
        Self::new(&format!("{folder}{PLACE}{place}"), git)
    }

    /// Reads a recorded id.
    pub fn from_recorded(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the id as it is recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether it is part of a repository.
    pub fn has_git(&self) -> bool {
        self.parts().2.is_some()
    }

    /// Returns whether the recorded folder is the one that exists `now`. A `.git` may have been added since
    /// (`git init`), but a recorded one must still exist.
    ///
    /// ```
    /// use agentx_types::FolderId;
    /// let (before, now) = (FolderId::new("a", None), FolderId::new("a", Some("b")));
    /// assert!(before.matches(Some(&now)) && !now.matches(Some(&before)) && !before.matches(None));
    /// assert!(!now.matches(Some(&FolderId::new("a", Some("c")))) && !before.matches(Some(&FolderId::new("ab", None))));
    /// ```
    pub fn matches(&self, now: Option<&Self>) -> bool {
        let Some((now, _, git_now)) = now.map(Self::parts) else {
            return false;
        };
        let (folder, _, git) = self.parts();
        folder == now && (git.is_none() || git == git_now)
    }

    /// Returns whether another folder is `now` at the place of this one in the same repository.
    pub fn is_remade_as(&self, now: &Self) -> bool {
        let ((_, place, git), (_, place_now, git_now)) = (self.parts(), now.parts());
        place.is_some() && git.is_some() && place == place_now && git == git_now
    }

    /// Returns the folder, its place in its repository, and the repository's `.git`.
    fn parts(&self) -> (&str, Option<&str>, Option<&str>) {
        let (rest, git) = match self.0.split_once(GIT) {
            Some((rest, git)) => (rest, Some(git)),
            None => (self.0.as_str(), None),
        };
        match rest.split_once(PLACE) {
            Some((folder, place)) => (folder, Some(place), git),
            None => (rest, None, git),
        }
    }
}
