//! Finds secrets in text and replaces them with words that name them.
//!
//! A runtime calls this crate where it creates facts, so that no secret reaches its log, a model or a screen.
//! The crate is pure: the values come in as a [`SecretSet`], and it reads no file, variable or keyring.
//!
//! | part | does |
//! | --- | --- |
//! | [`SecretSet`] | the values that are known, each with its name and origin |
//! | [`Redactor`] | finds the values in their usual encodings, and keys by their published form |
//! | [`StreamRedactor`] | the same for text that arrives in pieces |
//!
//! ```
//! use agentx_secrets::{Origin, Redactor, SecretSet};
//! let mut set = SecretSet::default();
//! assert!(set.add("DEPLOY_TOKEN", Origin::Variable, "q8Zr-made-up-value"));
//! let redactor = Redactor::new(&set);
//! assert_eq!(redactor.redact("token=q8Zr-made-up-value;"), "token=[secret DEPLOY_TOKEN];");
//!
//! let mut stream = redactor.stream();
//! assert_eq!(stream.push("the token=q8Zr-ma"), "the ");
//! assert_eq!(stream.push("de-up-value; "), "token=[secret DEPLOY_TOKEN]; ");
//! assert_eq!(stream.finish(), "");
//! ```

mod encodings;
mod hold;
mod patterns;
mod redactor;
mod secret_place;
mod secret_set;
mod spans;
mod stream;
mod token_scan;
mod word_tables;

pub use redactor::Redactor;
pub use secret_place::SecretPlace;
pub use secret_set::{KnownSecret, MIN_SECRET_BYTES, Origin, SecretSet, is_ordinary};
pub use stream::StreamRedactor;
