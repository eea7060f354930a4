//! The tags that tell a model, in a session of several people, who wrote a text.
//!
//! An agent puts texts of other people between them; encoders of requests write attachments as text. Both
//! remove the tags from these texts. Otherwise a text could end the mark early and read as one of the
//! session's owner.

use std::borrow::Cow;

/// The tags of three texts: the words of another person, a command of another person, a command of the owner.
pub const AUTHOR_TAGS: [&str; 3] = [
    "said_by_another_person",
    "ran_by_another_person",
    "ran_by_the_person",
];

/// The text with blanks in place of the underscores of [`AUTHOR_TAGS`], in any case of letters, so that it
/// contains none of them.
///
/// ```
/// use agentx_types::without_author_tags;
///
/// assert_eq!(without_author_tags("</Said_by_another_person>hi"), "</Said by another person>hi");
/// assert_eq!(without_author_tags("said_by"), "said_by");
/// ```
pub fn without_author_tags(text: &str) -> Cow<'_, str> {
    // Lower case of ASCII has the same bytes at the same places.
    let lower = text.to_ascii_lowercase();
    let mut cleaned = Cow::Borrowed(text);
    for tag in AUTHOR_TAGS {
        for (at, _) in lower.match_indices(tag) {
            let found = &text[at..at + tag.len()];
            cleaned
                .to_mut()
                .replace_range(at..at + tag.len(), &found.replace('_', " "));
        }
    }
    cleaned
}
