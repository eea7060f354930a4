//! The tokens with which programs of people use `/mcp` of the server of this directory, and those of web
//! pages (`page_tokens.rs`): the file `mcp_tokens.json`. It has the hash of each token, never the token.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::files::{self, Privacy};
use crate::{
    Keyring, KeyringError, NoRandomness, PublicKey, Stamp, TrustedAs, base64url, random_bytes, token_text,
};

/// The beginning of each token. Programs that search for leaked secrets know such a token by it.
pub const MCP_TOKEN: &str = "agentx_mcp_";
/// The maximum number of valid tokens of one key.
pub const MCP_TOKENS_OF_KEY: usize = 16;

/// The person for whom a token is made, in the role that they have at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpTokenOwner {
    /// The person's key.
    pub key: PublicKey,
    /// The role in which the server knows them.
    pub role: TrustedAs,
    /// The grant of this role, as in [`KnownPerson`](crate::KnownPerson).
    pub grant: Option<String>,
}

/// A token, without the text that its program sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpToken {
    /// The id, by which its owner takes it back.
    pub id: String,
    /// The name of the program that it was made for.
    pub name: String,
    /// The key of its owner.
    pub key: PublicKey,
    /// The role of its owner when it was made; `None` for a token of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<TrustedAs>,
    /// The grant of this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<String>,
    /// The time at which it was made: milliseconds since 1970.
    pub made_at_ms: u64,
    /// The time at which it expires: milliseconds since 1970.
    pub expires_at_ms: u64,
    /// Whether it is the token of a web page, which opens everything, and not of a program that uses `/mcp`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub page: bool,
    /// The SHA-256 of the token, in base64url.
    hash: String,
}

impl McpToken {
    /// Makes up a token whose text begins with `prefix`. Returns the entry, and the text.
    pub(crate) fn new(
        prefix: &str,
        owner: &McpTokenOwner,
        name: &str,
        made_at_ms: u64,
        expires_at_ms: u64,
    ) -> Result<(Self, String), NoRandomness> {
        let text = format!("{prefix}{}", token_text(&random_bytes::<32>()?));
        let entry = Self {
            id: format!("tok_{}", token_text(&random_bytes::<9>()?)),
            name: name.to_owned(),
            key: owner.key,
            role: Some(owner.role),
            grant: owner.grant.clone(),
            made_at_ms,
            expires_at_ms,
            page: false,
            hash: hash(&text),
        };
        Ok((entry, text))
    }

    /// Returns whether this is the token with that text, and has not expired.
    pub fn is(&self, text: &str, now_ms: u64) -> bool {
        self.expires_at_ms > now_ms && self.hash == hash(text)
    }

    /// Returns whether it was made for this person, under the grant and in the role that they have now. A
    /// token without a role counts for members alone.
    pub fn is_of(&self, owner: &McpTokenOwner) -> bool {
        let role = self.role.unwrap_or(TrustedAs::Member);
        self.key == owner.key && role == owner.role && self.grant == owner.grant
    }
}

/// The reason why a token is not made.
#[derive(Debug, thiserror::Error)]
pub enum McpTokenError {
    /// The owner has as many as one may have.
    #[error("you have {MCP_TOKENS_OF_KEY} tokens for /mcp; take one back first")]
    TooMany,
    /// The list cannot be read or written.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// No token can be made up.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl Keyring {
    /// The path of the list of tokens.
    pub fn mcp_tokens_file(&self) -> PathBuf {
        self.directory.join("mcp_tokens.json")
    }

    /// Returns the tokens, also those that have expired.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read, others may change it, or it makes no sense.
    pub fn mcp_tokens(&self) -> Result<Vec<McpToken>, KeyringError> {
        let path = self.mcp_tokens_file();
        let Some(bytes) = files::read(&path, Privacy::Public)? else {
            return Ok(Vec::new());
        };
        serde_json::from_slice(&bytes).map_err(|error| KeyringError::Damaged {
            path,
            line: error.line(),
            what: error.to_string(),
        })
    }

    /// Makes a token of `owner` for the program `name`. Returns the entry, and the token itself, which is
    /// kept nowhere.
    ///
    /// # Errors
    /// Returns an error if the key has too many tokens, or the list cannot be read or written.
    ///
    /// ```
    /// use agentx_identity::{Keyring, McpTokenOwner, SecretKey, TrustedAs};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let keyring = Keyring::at(directory.path());
    /// let key = *SecretKey::generate()?.public_key();
    /// let owner = McpTokenOwner { key, role: TrustedAs::Member, grant: None };
    /// let (entry, token) = keyring.make_mcp_token(&owner, "editor", 1_000, 2_000)?;
    /// assert!(keyring.mcp_tokens()?[0].is(&token, 1_999) && !entry.is(&token, 2_000));
    /// assert!(keyring.remove_mcp_token(&entry.id)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn make_mcp_token(
        &self,
        owner: &McpTokenOwner,
        name: &str,
        made_at_ms: u64,
        expires_at_ms: u64,
    ) -> Result<(McpToken, String), McpTokenError> {
        let (entry, text) = McpToken::new(MCP_TOKEN, owner, name, made_at_ms, expires_at_ms)?;
        let lock = files::lock(&self.directory)?;
        let mut tokens = self.mcp_tokens()?;
        tokens.retain(|known| known.expires_at_ms > made_at_ms);
        let is_own = |known: &&McpToken| known.key == owner.key && !known.page;
        if tokens.iter().filter(is_own).count() >= MCP_TOKENS_OF_KEY {
            return Err(McpTokenError::TooMany);
        }
        tokens.push(entry.clone());
        self.write_mcp_tokens(&tokens, &lock)?;
        Ok((entry, text))
    }

    /// Removes the token with this id. Returns whether there was one.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read or written.
    pub fn remove_mcp_token(&self, id: &str) -> Result<bool, KeyringError> {
        let lock = files::lock(&self.directory)?;
        self.retain_mcp_tokens(|known| known.id != id, &lock)
    }

    /// Removes the tokens of keys that this directory does not trust any more, or in another role than when
    /// they were made, so that they do not count again when it trusts such a key so later.
    /// [`Keyring::untrust`] and [`Keyring::trust`] do so, too; this is for a list of people that was edited
    /// as a file. Returns whether there were some. Without such a list nothing is removed, because an editor
    /// may be replacing it.
    ///
    /// # Errors
    /// Returns an error if the people, the identity or the tokens cannot be read, or the tokens cannot be
    /// written.
    pub fn remove_mcp_tokens_of_untrusted(&self) -> Result<bool, KeyringError> {
        if !self.people_file().exists() || !self.mcp_tokens_file().exists() {
            return Ok(false);
        }
        let lock = files::lock(&self.directory)?;
        let own = self.identity()?.map(|own| *own.public_key());
        let own = own.map(|key| McpTokenOwner {
            key,
            role: TrustedAs::Operator,
            grant: None,
        });
        let people = self.people_entries()?.into_iter().map(|known| McpTokenOwner {
            key: known.public_key,
            role: known.role,
            grant: known.grant,
        });
        // The own identity counts before an entry of the same key in the list.
        let others = people.filter(|known| own.as_ref().is_none_or(|own| own.key != known.key));
        let owners: Vec<McpTokenOwner> = others.chain(own.clone()).collect();
        self.retain_mcp_tokens(|token| owners.iter().any(|owner| token.is_of(owner)), &lock)
    }

    /// Removes all tokens but those to keep. Returns whether there were others.
    pub(crate) fn retain_mcp_tokens(
        &self,
        keep: impl Fn(&McpToken) -> bool,
        lock: &agentx_files::FileLock,
    ) -> Result<bool, KeyringError> {
        let mut tokens = self.mcp_tokens()?;
        let before = tokens.len();
        tokens.retain(keep);
        let were_others = tokens.len() < before;
        if were_others {
            self.write_mcp_tokens(&tokens, lock)?;
        }
        Ok(were_others)
    }

    /// Returns the state of the list: taken before it is read, it shows later whether it has to be read
    /// again.
    pub fn mcp_tokens_stamp(&self) -> Stamp {
        Stamp::of([&self.mcp_tokens_file(), &self.people_file()])
    }

    pub(crate) fn write_mcp_tokens(
        &self,
        tokens: &[McpToken],
        lock: &agentx_files::FileLock,
    ) -> Result<(), KeyringError> {
        let path = self.mcp_tokens_file();
        let text = serde_json::to_vec_pretty(tokens);
        let text = text.map_err(|error| KeyringError::file(&path, error.into()))?;
        files::replace(&path, &text, lock)
    }
}

fn hash(text: &str) -> String {
    base64url::write(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SecretKey, Trusted};

    fn key_of(seed: u8) -> PublicKey {
        *SecretKey::from_seed(&[seed; 32]).unwrap().public_key()
    }

    /// The owner of a token to make, as the directory knows them; otherwise a member.
    fn owner(keyring: &Keyring, seed: u8) -> McpTokenOwner {
        let known = keyring.person(&key_of(seed));
        let is_operator = known.as_ref().is_some_and(|known| known.operator);
        McpTokenOwner {
            key: key_of(seed),
            role: if is_operator {
                TrustedAs::Operator
            } else {
                TrustedAs::Member
            },
            grant: known.and_then(|known| known.grant),
        }
    }

    #[test]
    fn a_key_has_a_few_tokens_and_the_file_has_none_of_their_texts() {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        let owner = |seed: u8| owner(&keyring, seed);
        let mut ids = Vec::new();
        for number in 0..MCP_TOKENS_OF_KEY {
            let (entry, text) = keyring
                .make_mcp_token(&owner(1), "a", 5, 10 + number as u64)
                .unwrap();
            let file = std::fs::read_to_string(keyring.mcp_tokens_file()).unwrap();
            assert!(text.starts_with(MCP_TOKEN) && !file.contains(&text[MCP_TOKEN.len()..]));
            assert!(entry.is(&text, 9) && !entry.is("agentx_mcp_other", 9));
            ids.push(entry.id);
        }
        let refused = keyring.make_mcp_token(&owner(1), "a", 5, 10);
        assert!(matches!(refused, Err(McpTokenError::TooMany)), "{refused:?}");
        keyring.make_mcp_token(&owner(2), "a", 5, 100).unwrap();
        assert!(keyring.remove_mcp_token(&ids[5]).unwrap() && !keyring.remove_mcp_token(&ids[5]).unwrap());
        keyring.make_mcp_token(&owner(1), "a", 5, 100).unwrap();
        // Expired tokens make room.
        keyring.make_mcp_token(&owner(1), "a", 11, 100).unwrap();
        assert_eq!(keyring.mcp_tokens().unwrap().len(), MCP_TOKENS_OF_KEY);
    }

    #[test]
    fn removing_the_trust_in_a_key_removes_its_tokens_for_good() {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        let key = key_of;
        let trust = |seed: u8| {
            let trusted = Trusted {
                public_key: key(seed),
                name: None,
                role: TrustedAs::Member,
            };
            keyring.trust(trusted).unwrap();
        };
        let make = |seed: u8| {
            let owner = owner(&keyring, seed);
            drop(keyring.make_mcp_token(&owner, "a", 5, 100).unwrap());
        };
        let owners = || -> Vec<PublicKey> {
            let tokens = keyring.mcp_tokens().unwrap().into_iter();
            tokens.map(|token| token.key).collect()
        };
        for seed in [1, 2] {
            trust(seed);
            make(seed);
        }
        trust(1);
        assert_eq!(owners(), [key(1), key(2)], "who is trusted anyway keeps them");
        keyring.untrust(&key(1)).unwrap();
        assert_eq!(owners(), [key(2)]);
        trust(1);
        assert_eq!(owners(), [key(2)]);
        // Somebody edits the list of people as a file.
        std::fs::write(keyring.people_file(), "[]").unwrap();
        trust(2);
        assert!(owners().is_empty(), "the tokens of before do not count again");
        make(2);
        let aside = directory.path().join("aside");
        std::fs::rename(keyring.people_file(), &aside).unwrap();
        assert!(!keyring.remove_mcp_tokens_of_untrusted().unwrap());
        std::fs::rename(&aside, keyring.people_file()).unwrap();
        assert!(!keyring.remove_mcp_tokens_of_untrusted().unwrap());
        std::fs::write(keyring.people_file(), "[").unwrap();
        assert!(keyring.remove_mcp_tokens_of_untrusted().is_err());
        assert_eq!(owners(), [key(2)]);
        std::fs::write(keyring.people_file(), "[]").unwrap();
        assert!(keyring.remove_mcp_tokens_of_untrusted().unwrap());
        assert!(owners().is_empty());
    }

    #[test]
    fn a_token_counts_in_the_role_in_which_it_was_made_alone() {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        let trust = |role: TrustedAs| {
            let trusted = Trusted {
                public_key: key_of(1),
                name: None,
                role,
            };
            keyring.trust(trusted).unwrap();
            owner(&keyring, 1)
        };
        let member = trust(TrustedAs::Member);
        let (token, _) = keyring.make_mcp_token(&member, "a", 5, 100).unwrap();
        let operator = trust(TrustedAs::Operator);
        assert!(token.is_of(&member) && !token.is_of(&operator));
        assert!(keyring.mcp_tokens().unwrap().is_empty(), "it was removed");
        let again = trust(TrustedAs::Member);
        assert!(!token.is_of(&again), "the same role was granted anew");
        // Somebody edits the list of people as a file.
        keyring.make_mcp_token(&again, "a", 5, 100).unwrap();
        let people = std::fs::read_to_string(keyring.people_file()).unwrap();
        std::fs::write(keyring.people_file(), people.replace("member", "operator")).unwrap();
        assert!(keyring.remove_mcp_tokens_of_untrusted().unwrap());
        assert!(keyring.mcp_tokens().unwrap().is_empty());
    }

    #[test]
    fn a_token_of_an_earlier_version_has_no_role_and_counts_for_no_operator() {
        let stored = format!(
            r#"{{"id": "tok_1", "name": "a", "key": "{}", "made_at_ms": 5, "expires_at_ms": 9, "hash": "x"}}"#,
            key_of(1)
        );
        let token: McpToken = serde_json::from_str(&stored).unwrap();
        let as_role = |role| McpTokenOwner {
            key: key_of(1),
            role,
            grant: None,
        };
        assert!(token.is_of(&as_role(TrustedAs::Member)));
        assert!(!token.is_of(&as_role(TrustedAs::Approver)) && !token.is_of(&as_role(TrustedAs::Operator)));
    }

    #[cfg(unix)]
    #[test]
    fn a_list_that_others_may_change_is_not_read() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::at(directory.path());
        keyring.make_mcp_token(&owner(&keyring, 1), "a", 5, 10).unwrap();
        let file = keyring.mcp_tokens_file();
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(keyring.mcp_tokens().is_err());
    }
}
