//! Calls with a key of their own (`idempotency_key` of a tool's file): each key of an owner is used for one
//! call, in whichever session it comes.
//!
//! A row is written before the call begins, and its outcome after the call has ended. So a program that dies
//! in between leaves a key without an outcome: the call itself may continue with it when its session does,
//! and every other call learns that the outcome is unknown. No order of events lets a second call run.
//!
//! Rows are kept for 30 days, at most 4,000 for an owner; the oldest with an outcome go first.

use agentx_luau_tools::EffectError;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::store::{KeyOwner, ToolStore};

/// Rows of one owner.
const MAX_ROWS: i64 = 4_000;
/// Milliseconds for which a row is kept.
const MAX_AGE_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// A call with a key.
pub(crate) struct KeyedCall {
    /// The key, in the space of its tool.
    pub(crate) place: KeyOwner,
    /// A hash of the arguments: a key belongs to the arguments of its first call.
    pub(crate) arguments: String,
    /// The session, the agent and the call. A call that continues after a crash has the same.
    pub(crate) holder: String,
}

/// The state of a key when a call with it comes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeyState {
    /// The key is this call's: it runs.
    Runs,
    /// A call with it has ended with this outcome, as it was recorded.
    Answered(String),
    /// Another call with it has begun, and its outcome is not known.
    Open,
    /// Another call with it had other arguments.
    OtherArguments,
}

impl ToolStore {
    /// Takes the key for a call, unless another call has it. `now_ms` is the time since 1970.
    pub(crate) fn begin_keyed(&self, call: &KeyedCall, now_ms: i64) -> Result<KeyState, EffectError> {
        let KeyOwner { owner, key, .. } = &call.place;
        self.with(&call.place, |database, space| {
            make_room(database, owner, now_ms)?;
            let added = database
                .prepare_cached(
                    "INSERT INTO answered (owner, space, key, arguments, holder, outcome, at)
                     VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6) ON CONFLICT DO NOTHING",
                )?
                .execute(params![owner, space, key, call.arguments, call.holder, now_ms])?;
            if added == 1 {
                return Ok(KeyState::Runs);
            }
            let found: Option<(String, String, Option<String>)> = database
                .prepare_cached(
                    "SELECT arguments, holder, outcome FROM answered
                     WHERE owner = ?1 AND space = ?2 AND key = ?3",
                )?
                .query_row(params![owner, space, key], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .optional()?;
            Ok(match found {
                Some((arguments, _, _)) if arguments != call.arguments => KeyState::OtherArguments,
                Some((_, _, Some(outcome))) => KeyState::Answered(outcome),
                Some((_, holder, None)) if holder == call.holder => KeyState::Runs,
                _ => KeyState::Open,
            })
        })
    }

    /// Records the outcome of a call that has its key.
    pub(crate) fn end_keyed(&self, call: &KeyedCall, outcome: &str) -> Result<(), EffectError> {
        let KeyOwner { owner, key, .. } = &call.place;
        self.with(&call.place, |database, space| {
            database
                .prepare_cached(
                    "UPDATE answered SET outcome = ?1
                     WHERE owner = ?2 AND space = ?3 AND key = ?4 AND holder = ?5",
                )?
                .execute(params![outcome, owner, space, key, call.holder])
        })?;
        Ok(())
    }
}

/// Removes the rows of an owner that are too old, and the oldest ones with an outcome if there are too many.
fn make_room(database: &Connection, owner: &str, now_ms: i64) -> rusqlite::Result<()> {
    database
        .prepare_cached("DELETE FROM answered WHERE owner = ?1 AND at < ?2")?
        .execute(params![owner, now_ms.saturating_sub(MAX_AGE_MS)])?;
    let rows: i64 = database
        .prepare_cached("SELECT count(*) FROM answered WHERE owner = ?1")?
        .query_row([owner], |row| row.get(0))?;
    if rows >= MAX_ROWS {
        database
            .prepare_cached(
                "DELETE FROM answered WHERE owner = ?1 AND (space, key) IN (
                 SELECT space, key FROM answered WHERE owner = ?1 AND outcome IS NOT NULL
                 ORDER BY at LIMIT ?2)",
            )?
            .execute(params![owner, rows - MAX_ROWS + 1])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(key: &str, arguments: &str, holder: &str) -> KeyedCall {
        KeyedCall {
            place: KeyOwner {
                owner: "own_a".into(),
                space: "pay".into(),
                of_folder: false,
                key: key.into(),
            },
            arguments: arguments.into(),
            holder: holder.into(),
        }
    }

    #[test]
    fn a_key_without_an_outcome_runs_for_nobody_but_the_call_that_has_it() {
        let store = ToolStore::new(None, String::new(), None, None);
        let begins = |key: &str, arguments: &str, holder: &str| {
            store.begin_keyed(&call(key, arguments, holder), 1_000).unwrap()
        };
        assert_eq!(begins("k", "a", "one"), KeyState::Runs);
        // The program dies here.
        assert_eq!(begins("k", "a", "two"), KeyState::Open);
        assert_eq!(begins("k", "b", "two"), KeyState::OtherArguments);
        assert_eq!(begins("k", "a", "one"), KeyState::Runs, "its session continues");
        store.end_keyed(&call("k", "a", "two"), "forged").unwrap();
        assert_eq!(
            begins("k", "a", "two"),
            KeyState::Open,
            "only its own call ends it"
        );
        store.end_keyed(&call("k", "a", "one"), "paid").unwrap();
        for holder in ["one", "two"] {
            assert_eq!(begins("k", "a", holder), KeyState::Answered("paid".into()));
        }
        assert_eq!(begins("other", "a", "two"), KeyState::Runs);
    }

    #[test]
    fn keys_are_kept_for_a_time_and_so_many() {
        let store = ToolStore::new(None, String::new(), None, None);
        let begins = |key: &str, now: i64| store.begin_keyed(&call(key, "a", "one"), now).unwrap();
        begins("old", 0);
        store.end_keyed(&call("old", "a", "one"), "done").unwrap();
        assert_eq!(begins("old", MAX_AGE_MS), KeyState::Answered("done".into()));
        assert_eq!(begins("old", MAX_AGE_MS + 1), KeyState::Runs);
        begins("open", MAX_AGE_MS + 1);
        for number in 0..MAX_ROWS {
            let key = number.to_string();
            begins(&key, MAX_AGE_MS + 2 + number);
            store.end_keyed(&call(&key, "a", "one"), "done").unwrap();
        }
        let now = MAX_AGE_MS + 2 + MAX_ROWS;
        let by_other = store.begin_keyed(&call("open", "a", "two"), now).unwrap();
        assert_eq!(by_other, KeyState::Open, "a key without an outcome stays");
        assert_eq!(begins("0", now), KeyState::Runs, "the oldest went");
        let last = (MAX_ROWS - 1).to_string();
        assert_eq!(begins(&last, now), KeyState::Answered("done".into()));
    }
}
