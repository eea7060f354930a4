//! The links that the terminal may follow.

/// Maximum length of the address of a link.
const LONGEST_LINK: usize = 2_000;

/// Returns whether an address may be sent to the terminal unchanged.
pub(super) fn can_be_followed(url: &str) -> bool {
    let known = ["https://", "http://", "mailto:", "file://"];
    known.iter().any(|begin| url.starts_with(begin))
        && url.len() <= LONGEST_LINK
        && url.bytes().all(|byte| byte.is_ascii_graphic())
}
