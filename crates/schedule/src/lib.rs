//! Prompts that are run at set times (`agentx schedule`) or when a webhook is called: when they are due, and
//! which process begins which run.
//!
//! | type | is |
//! | --- | --- |
//! | [`Timetable`] | a cron pattern in a time zone: the next time after one, the latest until one |
//! | [`Schedule`] | a prompt with its pattern, and the time for which it was begun last |
//! | [`ScheduleStore`] | the schedules of a data directory, in one file that is replaced as a whole and locked |
//! | [`ScheduleTurn`] | the right to run one schedule for one time: one process has it at a time |
//! | [`DeliveryInbox`] | the deliveries of webhooks that a server took in, each once |
//! | [`DeliveryTurn`] | the right to run one delivery |
//!
//! The file records a time before its run begins, so that no other process also begins it. If the process
//! dies, the next one that takes the turn learns of it ([`ScheduleTurn::is_again`]), and of the session of
//! the run ([`BegunRunRecord`]), so it begins no second one. One run catches up on times that were missed
//! because no process was running.
//!
//! The crate reads no clock: every time comes as an argument. Only the age of keys of old deliveries is that
//! of their files.
//!
//! ```
//! use agentx_schedule::Timetable;
//! use agentx_types::Timestamp;
//!
//! let workdays = Timetable::new("0 8 * * 1-5", "UTC")?;
//! let sunday = Timestamp::from_rfc3339("2026-11-29T12:00:00Z").unwrap_or_default();
//! let next = workdays.next_after(sunday).map(Timestamp::rfc3339);
//! assert_eq!(next.as_deref(), Some("2026-11-30T08:00:00Z"));
//! # Ok::<(), agentx_schedule::ScheduleError>(())
//! ```

mod delivery;
mod error;
mod schedule;
mod store;
mod timetable;
mod turn;

pub use delivery::{DeliveryInbox, DeliveryTurn, MAX_PENDING_DELIVERIES, WebhookDelivery};
pub use error::ScheduleError;
pub use schedule::{BegunTime, MAX_NAME_CHARS, MAX_PROMPT_CHARS, Schedule, check_schedule};
pub use store::{MAX_SCHEDULES, ScheduleStore};
pub use timetable::{Timetable, system_zone};
pub use turn::{BegunRunRecord, ScheduleTurn};
