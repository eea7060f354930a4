//! Arguments of the commands that look after the program, not after one session.

use agentx::runtime::{Since, UsageBy};
use agentx::types::Timestamp;
use clap::{Args, Subcommand, ValueEnum};

use crate::cache_why::CacheQuestion;
use crate::render::units;
use crate::spending::SpendingQuestion;

/// `agentx cache`
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show the first byte in which a request differs from its predecessor, why, and what that cost
    Why {
        /// Event at or after the request; by default the latest request that lost something
        #[arg(value_name = "SEQ", value_parser = super::numbers::event)]
        seq: Option<u64>,
        /// Session; by default the latest of this directory
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
}

impl From<CacheCommand> for CacheQuestion {
    fn from(CacheCommand::Why { seq, session }: CacheCommand) -> Self {
        Self { session, seq }
    }
}

/// `agentx usage`
#[derive(Args, Debug)]
pub(crate) struct UsageArgs {
    /// Group by
    #[arg(long, value_name = "WHAT", default_value = "day")]
    pub(crate) by: UsageByArg,
    /// Count only what was spent since then: 12h, 7d, 4w, or a day such as 2026-11-21
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    pub(crate) since: Option<When>,
    /// Raise the limit of a day (`limits.day_*`) for 24 hours: dollars, or tokens as 50000t
    #[arg(long, value_name = "AMOUNT", value_parser = crate::spending::day_raise, conflicts_with = "since")]
    pub(crate) raise_day: Option<agentx::config::DayRaise>,
}

impl From<UsageArgs> for SpendingQuestion {
    fn from(args: UsageArgs) -> Self {
        let since = args.since.as_ref().map(|since| since.since(units::now()));
        Self {
            by: args.by.into(),
            since,
            raise: args.raise_day,
        }
    }
}

/// `agentx doctor`
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Do not connect to other machines
    #[arg(long)]
    pub(crate) offline: bool,
}

/// `agentx completions`
#[derive(Args, Debug)]
#[command(
    after_help = "For bash: agentx completions bash > ~/.local/share/bash-completion/completions/agentx"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// `agentx models`
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models and what each one needs
    #[command(alias = "ls")]
    List,
    /// Show all details of a model and their sources
    Show {
        /// An id, an alias, or PROVIDER/MODEL
        name: String,
    },
    /// Read windows, limits and prices of models from a list in the format of models.dev
    #[command(after_help = HELP_REFRESH)]
    Refresh(RefreshModelsArgs),
}

/// `agentx models refresh`
#[derive(Args, Debug)]
pub(crate) struct RefreshModelsArgs {
    /// The file or address of the list
    #[arg(value_name = "FILE|URL", default_value = MODELS_DEV)]
    pub(crate) from: String,
    /// Show what would change without saving it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Discard the list that was read and use the built-in one
    #[arg(long, conflicts_with_all = ["from", "dry_run"])]
    pub(crate) forget: bool,
}

/// The public list.
pub(crate) const MODELS_DEV: &str = "https://models.dev/api.json";

const HELP_REFRESH: &str = "\
Only windows, limits, prices and media are taken, of models that call tools, at providers that AgentX
knows. Your own settings take precedence. AgentX never reads such a list unless you ask for it.";

/// The kinds of words that a shell completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompleteArg {
    /// Ids of the latest sessions, with their titles
    Sessions,
    /// Agents defined in files
    Agents,
    /// Models that can be used
    Models,
    /// Tools available to an agent
    Tools,
    /// Keys of the configuration
    Settings,
    /// Commands that have help
    Commands,
}

/// The grouping of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsageByArg {
    /// By session, latest spending first
    Session,
    /// By day, in the local time zone
    Day,
    /// By model, as PROVIDER/ID
    Model,
    /// By day and model
    DayModel,
    /// By the reason: answer, tool round, retry, tool, compaction, learning
    Cause,
}

impl From<UsageByArg> for UsageBy {
    fn from(by: UsageByArg) -> Self {
        match by {
            UsageByArg::Session => Self::Session,
            UsageByArg::Day => Self::Day,
            UsageByArg::Model => Self::Model,
            UsageByArg::DayModel => Self::DayModel,
            UsageByArg::Cause => Self::Cause,
        }
    }
}

/// A point in time, as a person types it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// So many seconds ago.
    Ago(u64),
    /// From the beginning of a day.
    Day(String),
}

impl When {
    fn parse(words: &str) -> Result<Self, String> {
        let wrong = || "expected a time such as 12h, 7d or 4w, or a day such as 2026-11-21".to_owned();
        if let Some(millis) = agentx::config::parse_duration(words) {
            return Ok(Self::Ago(millis / 1_000));
        }
        let parts: Vec<&str> = words.split('-').collect();
        let is_number = |part: &str, digits: usize| {
            part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let within = |part: &str, most: u8| part.parse::<u8>().is_ok_and(|n| (1..=most).contains(&n));
        match parts.as_slice() {
            [year, month, day]
                if is_number(year, 4)
                    && is_number(month, 2)
                    && is_number(day, 2)
                    && within(month, 12)
                    && within(day, 31) =>
            {
                Ok(Self::Day(words.to_owned()))
            }
            _ => Err(wrong()),
        }
    }

    /// Returns the point in time, seen from `now`.
    pub(crate) fn since(&self, now: Timestamp) -> Since {
        match self {
            Self::Day(day) => Since::Day(day.clone()),
            Self::Ago(seconds) => {
                let micros = i64::try_from(*seconds)
                    .unwrap_or(i64::MAX)
                    .saturating_mul(1_000_000);
                Since::At(Timestamp(now.0.saturating_sub(micros)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_be_said_in_two_ways() {
        assert_eq!(When::parse("7d"), Ok(When::Ago(604_800)));
        assert_eq!(When::parse("90m"), Ok(When::Ago(5_400)));
        assert_eq!(When::parse("1d12h"), Ok(When::Ago(129_600)));
        assert_eq!(When::parse("2026-11-21"), Ok(When::Day("2026-11-21".into())));
        for wrong in [
            "",
            "d",
            "7",
            "-7d",
            "7 d",
            "2026-13-01",
            "2026-1-1",
            "2026-11-32",
            "yesterday",
            "日",
        ] {
            assert!(When::parse(wrong).is_err(), "{wrong}");
        }
        assert!(When::parse("99999999999999999999w").is_err());
    }
}
