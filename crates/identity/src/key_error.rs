//! Reasons why a key or a signature of any format cannot be read.

/// The error of reading a key or a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A text that begins like a public key.
    #[error("not a public key: `ed25519:` must be followed by 43 characters of base64url")]
    PublicText,
    /// A point with which anybody can sign.
    #[error(
        "not a usable key: anybody could sign for it (it is a point of small order), and no program makes such a key; \
         ask its owner for the key that `agentx identity show` prints"
    )]
    SmallOrder,
    /// An invalid signature.
    #[error("not a signature: expected 86 characters of base64url")]
    SignatureText,
    /// A text in an unknown form.
    #[error(
        "not a public key: expected `ed25519:…` or the line of an OpenSSH .pub file (`ssh-ed25519 AAAA…`)"
    )]
    NoPublicKey,
    /// An OpenSSH key of another kind.
    #[error(
        "unsupported key type {kind}; only ed25519 keys are supported: `ssh-keygen -t ed25519` creates one"
    )]
    OtherKind {
        /// The type of the key, as OpenSSH names it.
        kind: String,
    },
    /// Not a private key of OpenSSH.
    #[error(
        "not an OpenSSH private key, which begins with `-----BEGIN OPENSSH PRIVATE KEY-----`; `ssh-keygen -t \
         ed25519` creates one"
    )]
    NoSecretKey,
    /// The other file.
    #[error("this is a public key; the private key is in the file without .pub")]
    PublicHalf,
    /// A private key with a passphrase.
    #[error("the key has a passphrase, which is needed to read it")]
    Encrypted,
    /// A private key whose passphrase would take too long to be tried.
    #[error(
        "the key asks for {rounds} rounds of bcrypt to read its passphrase; at most {most} are supported: `ssh-keygen -p -a 100 -f FILE` rewrites it"
    )]
    TooManyRounds {
        /// The number of rounds in the file; each takes a few milliseconds.
        rounds: u32,
        /// The maximum number.
        most: u32,
    },
    /// Another passphrase than that of the key.
    #[error("this is not the passphrase of the key")]
    WrongPassphrase,
    /// The line or the file is not in a format of OpenSSH.
    #[error("the OpenSSH key is damaged: {what}")]
    Damaged {
        /// The problem.
        what: &'static str,
    },
    /// No key can be made.
    #[error("{0}")]
    NoRandomness(String),
    /// The library refuses it.
    #[error("the key is not usable")]
    Rejected,
}
