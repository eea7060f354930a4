//! The tokens of web pages: each signs one browser in as its person, until it expires or is taken back. They
//! are in the list of tokens for `/mcp`, so that a person sees and takes back both kinds in one place, and
//! both end when the trust in their person does.

use crate::mcp_tokens::{McpToken, McpTokenError, McpTokenOwner};
use crate::{Keyring, files};

/// The beginning of each token of a page. Programs that search for leaked secrets know such a token by it.
pub const PAGE_TOKEN: &str = "agentx_page_";
/// The maximum number of valid tokens of pages of one key.
pub const PAGE_TOKENS_OF_KEY: usize = 16;

impl Keyring {
    /// Makes a token of `owner` for the web page in the browser `name`. If the key has as many as it may
    /// have, its oldest one is removed. Returns the entry, and the token itself, which is kept nowhere.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read or written, or the system has no randomness.
    ///
    /// ```
    /// use agentx_identity::{Keyring, McpTokenOwner, PAGE_TOKEN, SecretKey, TrustedAs};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let keyring = Keyring::at(directory.path());
    /// let key = *SecretKey::generate()?.public_key();
    /// let owner = McpTokenOwner { key, role: TrustedAs::Operator, grant: None };
    /// let (entry, token) = keyring.make_page_token(&owner, "Firefox", 1_000, 2_000)?;
    /// assert!(entry.page && token.starts_with(PAGE_TOKEN));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn make_page_token(
        &self,
        owner: &McpTokenOwner,
        name: &str,
        made_at_ms: u64,
        expires_at_ms: u64,
    ) -> Result<(McpToken, String), McpTokenError> {
        let (mut entry, text) = McpToken::new(PAGE_TOKEN, owner, name, made_at_ms, expires_at_ms)?;
        entry.page = true;
        let lock = files::lock(&self.directory)?;
        let mut tokens = self.mcp_tokens()?;
        tokens.retain(|known| known.expires_at_ms > made_at_ms);
        let is_own = |known: &McpToken| known.page && known.key == owner.key;
        while tokens.iter().filter(|known| is_own(known)).count() >= PAGE_TOKENS_OF_KEY {
            let Some(oldest) = tokens.iter().position(is_own) else {
                break;
            };
            tokens.remove(oldest);
        }
        tokens.push(entry.clone());
        self.write_mcp_tokens(&tokens, &lock)?;
        Ok((entry, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MCP_TOKENS_OF_KEY, SecretKey, TrustedAs};

    #[test]
    fn a_new_page_takes_the_place_of_the_oldest_and_leaves_programs_alone() {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        let owner = McpTokenOwner {
            key: *SecretKey::from_seed(&[1; 32]).unwrap().public_key(),
            role: TrustedAs::Operator,
            grant: None,
        };
        for _ in 0..MCP_TOKENS_OF_KEY {
            keyring.make_mcp_token(&owner, "editor", 5, 100).unwrap();
        }
        let pages: Vec<String> = (0..=PAGE_TOKENS_OF_KEY)
            .map(|_| keyring.make_page_token(&owner, "Firefox", 5, 100).unwrap().0.id)
            .collect();
        let kept = keyring.mcp_tokens().unwrap();
        let kept_pages: Vec<&String> = kept
            .iter()
            .filter(|token| token.page)
            .map(|token| &token.id)
            .collect();
        assert_eq!(kept_pages, pages[1..].iter().collect::<Vec<_>>());
        assert_eq!(kept.len(), MCP_TOKENS_OF_KEY + PAGE_TOKENS_OF_KEY);
    }

    #[test]
    fn the_list_has_no_text_of_a_token_of_a_page() {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        let owner = McpTokenOwner {
            key: *SecretKey::from_seed(&[1; 32]).unwrap().public_key(),
            role: TrustedAs::Member,
            grant: None,
        };
        let (entry, text) = keyring.make_page_token(&owner, "Firefox", 5, 10).unwrap();
        let file = std::fs::read_to_string(keyring.mcp_tokens_file()).unwrap();
        assert!(text.starts_with(PAGE_TOKEN) && !file.contains(&text[PAGE_TOKEN.len()..]));
        assert!(entry.is(&text, 9) && !entry.is(&text, 10));
        let read: McpToken = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
        assert!(read.page && read == entry);
    }
}
