//! The identity of the folder at a path. The path alone is not enough, because another folder may replace it.

use serde::{Deserialize, Serialize};

/// Names a folder, where it lies in the repository that it is part of, and the `.git` of that repository, as
/// they were when it was looked at. It holds on one machine, and says nothing about what the folder holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FolderId(String);

/// The separator before the position in a repository.
const PLACE: char = '/';
/// The separator before the `.git`.
const GIT: char = '+';

/// The current state of the folder at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderNow {
    /// The folder's identity.
    pub id: FolderId,
    /// Whether it is a folder within a repository that has files in it: a checkout may remove it and make it
    /// again.
    pub is_checked_out: bool,
}

impl FolderNow {
    /// Returns whether the recorded folder is the one that is there now.
    ///
    /// ```
    /// use agentx_types::{FolderId, FolderNow};
    /// let known = FolderId::new("a", Some("git")).at("place");
    /// let id = FolderId::new("b", Some("git")).at("place");
    /// assert!(FolderNow { id: id.clone(), is_checked_out: true }.matches(&known));
    /// assert!(!FolderNow { id, is_checked_out: false }.matches(&known));
    /// let id = FolderId::new("b", Some("git")).at("elsewhere");
    /// assert!(!FolderNow { id, is_checked_out: true }.matches(&known));
    /// ```
    pub fn matches(&self, known: &FolderId) -> bool {
        known.matches(Some(&self.id)) || (self.is_checked_out && known.is_remade_as(&self.id))
    }
}

impl FolderId {
    /// A folder, and the `.git` of its repository where it has one.
    pub fn new(folder: &str, git: Option<&str>) -> Self {
        Self(match git {
            Some(git) => format!("{folder}{GIT}{git}"),
            None => folder.to_owned(),
        })
    }

    /// The same folder, which lies at a place below the top of its repository.
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

    /// Returns whether the folder that was written down is the one that is there `now`. A `.git` may have
    /// come since (`git init`), but one that was there has to be there still.
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

    /// Returns whether another folder lies `now` at the place of this one in the same repository.
    pub fn is_remade_as(&self, now: &Self) -> bool {
        let ((_, place, git), (_, place_now, git_now)) = (self.parts(), now.parts());
        place.is_some() && git.is_some() && place == place_now && git == git_now
    }

    /// The folder, its place in its repository, and the `.git` of that.
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
