//! Identifiers as distinct types, so that the compiler rejects a run's id in place of a session's.
//!
//! Ids are cheap to clone (a shared string), because every envelope carries several. This crate creates none:
//! a runtime mints ids of sessions and agents; ids of runs and actions follow from the `seq` of the event
//! that caused them, so that a fold over the same log gives the same ids.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! ids {
    ($($(#[doc = $doc:literal])* $name:ident = $prefix:literal;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The prefix of ids of this kind that AgentX mints.
            pub const PREFIX: &'static str = $prefix;

            /// Creates the id from its text.
            pub fn new(id: impl AsRef<str>) -> Self {
                Self(Arc::from(id.as_ref()))
            }

            /// The prefix of this kind, then `rest`.
            ///
            /// ```
            #[doc = concat!("let id = agentx_types::", stringify!($name), "::with_suffix(\"7\");")]
            #[doc = concat!("assert_eq!(id.as_str(), \"", $prefix, "7\");")]
            /// ```
            pub fn with_suffix(rest: impl fmt::Display) -> Self {
                Self(Arc::from(format!("{}{rest}", $prefix).as_str()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self::new(id)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                id_schema(concat!($($doc),*))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                std::borrow::Cow::<str>::deserialize(deserializer).map(|id| Self(Arc::from(id.as_ref())))
            }
        }
    )*};
}

/// The schema of an id.
#[cfg(feature = "schema")]
fn id_schema(doc: &str) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "description": doc.trim()})
}

ids! {
    /// A durable log: owner, agents, runs.
    SessionId = "ses_";
    /// A living agent instance in a session.
    AgentStateId = "agt_";
    /// A run, from an input of the user to its last answer: `run_` and the `seq` of that input.
    RunId = "run_";
    /// An action that an agent requests: `act_`, the `seq` that it follows from, and its index there.
    ActionId = "act_";
    /// A call of a tool, as the model named it.
    ToolCallId = "call_";
    /// A message of a conversation.
    MessageId = "msg_";
    /// A content-addressed blob: `b3_` and the BLAKE3 hash of its bytes in hexadecimal.
    BlobId = "b3_";
    /// The owner of a session. One owner never sees another's data.
    OwnerId = "own_";
}

/// The letters of minted ids: letters and digits that cannot be taken for one another.
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The number of letters of a minted id after its prefix. 60 bits: among a million sessions, two ids are
/// equal with a probability of one in two million.
const ID_LETTERS: usize = 12;

/// The part of a minted id after its prefix, from random bytes: short, and easy to read aloud.
///
/// ```
/// assert_eq!(agentx_types::id_letters([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255]), "0123456789az");
/// ```
pub fn id_letters(random: [u8; ID_LETTERS]) -> String {
    let letter = |byte: &u8| char::from(ID_ALPHABET[usize::from(byte & 31)]);
    random.iter().map(letter).collect()
}

impl SessionId {
    /// Returns whether the id has the form of those that are minted for sessions; all versions used the same.
    ///
    /// ```
    /// use agentx_types::SessionId;
    /// assert!(SessionId::new("ses_k3v8qm2w7c4t").is_minted());
    /// assert!(!SessionId::new("../../ses_k3v8qm2w7c4t").is_minted());
    /// ```
    pub fn is_minted(&self) -> bool {
        let letters = self.as_str().strip_prefix(Self::PREFIX).unwrap_or_default();
        letters.len() == ID_LETTERS && letters.bytes().all(|letter| ID_ALPHABET.contains(&letter))
    }
}

impl RunId {
    /// The run that the user's input with this `seq` opens.
    pub fn of_input(seq: u64) -> Self {
        Self::with_suffix(seq)
    }

    /// Returns the `seq` of the input that it answers; `None` for an id that no agent derives.
    pub fn input(&self) -> Option<u64> {
        self.as_str().strip_prefix(Self::PREFIX)?.parse().ok()
    }
}

impl ToolCallId {
    /// The call that step `step` of this call makes of another tool.
    ///
    /// ```
    /// let call = agentx_types::ToolCallId::new("call_1");
    /// assert_eq!(call.inner(7).as_str(), "call_1/7");
    /// assert!(call.inner(7).inner(2).is_inside(&call) && !call.is_inside(&call));
    /// ```
    #[must_use]
    pub fn inner(&self, step: u64) -> Self {
        Self(Arc::from(format!("{self}/{step}").as_str()))
    }

    /// Returns whether a step of `outer` made this call, or a step of a call that it made.
    #[must_use]
    pub fn is_inside(&self, outer: &Self) -> bool {
        let rest = self.as_str().strip_prefix(outer.as_str());
        rest.is_some_and(|rest| rest.starts_with('/'))
    }
}

impl ActionId {
    /// The action number `index` that follows from the event with this `seq`.
    pub fn following(seq: u64, index: usize) -> Self {
        Self::with_suffix(format_args!("{seq}_{index}"))
    }

    /// Returns the `seq` of the event that it follows from; `None` for an id that no agent derives.
    ///
    /// ```
    /// use agentx_types::ActionId;
    /// assert_eq!(ActionId::following(12, 1).origin(), Some(12));
    /// assert_eq!(ActionId::new("act_x").origin(), None);
    /// ```
    pub fn origin(&self) -> Option<u64> {
        let (seq, _) = self.as_str().strip_prefix(Self::PREFIX)?.split_once('_')?;
        seq.parse().ok()
    }
}
