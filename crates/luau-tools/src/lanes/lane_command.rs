//! The commands that a lane gets from outside.

use crate::host::EffectError;
use crate::json::flat_value::FlatValue;
use crate::run::run_channel::RunSender;

/// A command to a lane. Its inbox is bounded by the runs on it and by `ScriptLimits::pending` of each.
pub(crate) enum LaneCommand {
    /// A new run, and its arguments.
    Start(RunSender, FlatValue),
    Outcome {
        run: u64,
        step: u64,
        outcome: Result<FlatValue, EffectError>,
    },
    Stop {
        run: u64,
    },
    /// A script is gone.
    Forget {
        owner: u64,
        script: u64,
    },
    /// All scripts of an owner are gone.
    Leave {
        owner: u64,
    },
}
