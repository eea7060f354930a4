//! The key by which push services know this server (RFC 8292): a key of P-256, made once, in a file of the
//! data directory that only its owner can read.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use agentx_files::{ReplaceOptions, SecretFileError, open_secret, replace};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

/// The name of the file in the data directory.
const FILE: &str = "push_key";
/// The longest file, in bytes.
const MOST_BYTES: u64 = 4_096;
/// The lifetime of a signature, in seconds: at most a day is permitted.
const SIGNED_S: u64 = 12 * 3_600;

/// The reason why there is no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PushKeyError {
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Others may know the key, or have put it there.
    #[error(
        "{} is secret, but others have access to it (mode {mode:04o}): `chmod 600 {}` if nobody has read or changed it; \
         otherwise delete it, and pages subscribe to a new key",
        path.display(),
        path.display()
    )]
    OpenToOthers {
        /// The path of the file.
        path: PathBuf,
        /// The Unix permissions.
        mode: u32,
    },
    /// Another user may know the key, or have put it there.
    #[error(
        "{} belongs to another user (user id {owner}): check it, then `chown $(id -u) {}`; \
         otherwise delete it, and pages subscribe to a new key",
        path.display(),
        path.display()
    )]
    OtherOwner {
        /// The path of the file.
        path: PathBuf,
        /// The id of the user.
        owner: u32,
    },
    /// The file has no key.
    #[error("{}: it has no key; delete it, and pages subscribe to a new one", path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
    },
    /// The system has no randomness.
    #[error("the system has no randomness")]
    NoRandomness,
}

/// The key of a server.
pub(crate) struct PushKey {
    pair: EcdsaKeyPair,
}

impl PushKey {
    /// Reads the key of the server of this directory, or makes one if there is none.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, others have access to it, or it has no key.
    pub(crate) fn read_or_make(data_dir: &Path) -> Result<Self, PushKeyError> {
        let path = data_dir.join(FILE);
        let failed = |error: io::Error| PushKeyError::File {
            path: path.clone(),
            error,
        };
        let text = match open_secret(&path) {
            Ok(file) => io::read_to_string(file.take(MOST_BYTES)).map_err(failed)?,
            Err(SecretFileError::OpenToOthers(mode)) => {
                return Err(PushKeyError::OpenToOthers { path, mode });
            }
            Err(SecretFileError::OtherOwner(owner)) => {
                return Err(PushKeyError::OtherOwner { path, owner });
            }
            Err(SecretFileError::System(error)) if error.kind() == io::ErrorKind::NotFound => {
                let text = new_key()?;
                let options = ReplaceOptions {
                    durable: true,
                    ..ReplaceOptions::default()
                };
                replace(&path, text.as_bytes(), options).map_err(failed)?;
                text
            }
            Err(SecretFileError::System(error)) => return Err(failed(error)),
        };
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end()).ok();
        let random = SystemRandom::new();
        let pair = bytes.and_then(|bytes| {
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &random).ok()
        });
        let pair = pair.ok_or(PushKeyError::Damaged { path })?;
        Ok(Self { pair })
    }

    /// Returns the public key as browsers and push services take it: 65 bytes in base64url.
    pub(crate) fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key())
    }

    /// Returns the header `Authorization` of a request to the origin `audience`, signed at `now_s`, in
    /// seconds since 1970.
    ///
    /// # Errors
    /// Returns an error if the system has no randomness.
    pub(super) fn authorization(
        &self,
        audience: &str,
        contact: Option<&str>,
        now_s: u64,
    ) -> Result<String, String> {
        let mut claims = json!({"aud": audience, "exp": now_s + SIGNED_S});
        if let Some(contact) = contact {
            claims["sub"] = contact.into();
        }
        let head = json!({"typ": "JWT", "alg": "ES256"});
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&head), part(&claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|_| "the system has no randomness".to_owned())?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(format!("vapid t={signed}.{signature}, k={}", self.public()))
    }
}

/// Returns a new key as it is kept.
fn new_key() -> Result<String, PushKeyError> {
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    let made = made.map_err(|_| PushKeyError::NoRandomness)?;
    Ok(format!("{}\n", URL_SAFE_NO_PAD.encode(made)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    fn read(directory: &tempfile::TempDir) -> Result<PushKey, PushKeyError> {
        PushKey::read_or_make(directory.path())
    }

    #[test]
    fn a_key_is_made_once_and_refused_if_others_have_access_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let made = read(&directory).unwrap().public();
        assert_eq!(read(&directory).unwrap().public(), made);
        assert_eq!(URL_SAFE_NO_PAD.decode(&made).unwrap().len(), 65);
        let file = directory.path().join(FILE);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            let set_mode =
                |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            for open in [0o666, 0o644] {
                set_mode(open);
                let refused = read(&directory).map(|key| key.public()).unwrap_err();
                let told = refused.to_string();
                assert!(
                    told.contains("`chmod 600 ") && told.contains("delete it"),
                    "{told}"
                );
            }
            set_mode(0o600);
            assert_eq!(read(&directory).unwrap().public(), made);
        }
        std::fs::write(&file, "no key").unwrap();
        let damaged = read(&directory).map(|key| key.public()).unwrap_err();
        assert!(matches!(damaged, PushKeyError::Damaged { .. }), "{damaged}");
    }

    #[test]
    fn a_request_is_signed_for_one_push_service_and_for_half_a_day() {
        let directory = tempfile::tempdir().unwrap();
        let key = read(&directory).unwrap();
        for contact in [None, Some("https://agents.example")] {
            let header = key.authorization("https://push.example", contact, 1_000).unwrap();
            let (token, public) = header
                .strip_prefix("vapid t=")
                .unwrap()
                .split_once(", k=")
                .unwrap();
            assert_eq!(public, key.public());
            let (signed, signature) = token.rsplit_once('.').unwrap();
            let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
            let verifier = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decode(public));
            verifier.verify(signed.as_bytes(), &decode(signature)).unwrap();
            let (head, claims) = signed.split_once('.').unwrap();
            let value = |text: &str| serde_json::from_slice::<Value>(&decode(text)).unwrap();
            assert_eq!(value(head), json!({"typ": "JWT", "alg": "ES256"}));
            let claims = value(claims);
            assert_eq!(claims["aud"], "https://push.example");
            assert_eq!(claims["exp"], 1_000 + SIGNED_S);
            assert_eq!(claims.get("sub").and_then(Value::as_str), contact);
        }
    }
}
