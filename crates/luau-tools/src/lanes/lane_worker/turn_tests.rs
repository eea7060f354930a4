//! Bounds, in turns, how long a neighbour of a hostile script waits. A test owns the lane and assigns the
//! turns itself, without a clock.

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;

use super::*;
use crate::run::run_channel::{LaneMessage, RunReceiver, RunStart, line};
use crate::waiting::spin_wait::SpinWaiter;
use crate::{Libraries, Script, ScriptLimits};

const HOSTILE: u64 = 1;
const NEIGHBOUR: u64 = 2;
/// Maximum number of turns of the hostile script before the turn of the neighbour.
const MOST: usize = 2;
/// Number of turns after which the hostile script is assumed to continue forever.
const TURNS: usize = 12;

/// The ways in which a hostile script may end.
#[derive(Debug)]
enum Ends {
    /// The script yields its turn each time and never ends.
    Never,
    /// The limit `turn` ends the script, because it cannot yield its turn.
    ByTurn,
}

/// Made-up hostile scripts.
const SCRIPTS: &[(&str, Ends)] = &[
    ("while true do end", Ends::Never),
    (
        "while true do pcall(function() while true do end end) end",
        Ends::Never,
    ),
    (
        "while true do table.sort(table.create(1e4, 1), function(a, b) return a < b end) end",
        Ends::Never,
    ),
    (
        "table.sort({2, 1}, function() while true do end end)",
        Ends::Never,
    ),
    (
        "while true do table.sort(table.create(1e3, ('x'):rep(9))) end",
        Ends::Never,
    ),
    ("('x'):gsub('.', function() while true do end end)", Ends::Never),
    (
        "while true do (('x'):rep(1e4)):gsub('.', function() return 'y' end) end",
        Ends::Never,
    ),
    (
        "local text = ('a'):rep(1e5) while true do text:find('b$') end",
        Ends::Never,
    ),
    (
        "local text = ('x'):rep(1e4) while true do text:upper():lower() end",
        Ends::Never,
    ),
    (
        "local text = '[' .. ('1,'):rep(4e4) .. '1]' while true do ctx.json.decode(text) end",
        Ends::Never,
    ),
    (
        "local list = table.create(1e4, 1) while true do ctx.json.encode(list) end",
        Ends::Never,
    ),
    (
        "ctx.json.encode(table.create(1e5, (table.create(1.5e6))))",
        Ends::ByTurn,
    ),
    ("(('a'):rep(40)):find(('.-'):rep(30) .. 'b')", Ends::ByTurn),
    ("(('a'):rep(3e4)):match('.-.-.-.-b')", Ends::ByTurn),
    (
        "tostring(setmetatable({}, {__tostring = function() while true do end end}))",
        Ends::ByTurn,
    ),
    (
        "('x'):gsub('.', setmetatable({}, {__index = function() while true do end end}))",
        Ends::ByTurn,
    ),
];

/// A lane that no thread runs, with a neighbour that waits again and again and a hostile script.
struct Held {
    lane: LaneWorker,
    spot: WaitSpot,
    neighbour: RunReceiver,
    hostile: RunReceiver,
}

impl Held {
    /// Both have begun.
    fn with(body: &str) -> Result<Self, ScriptError> {
        let mut lane = LaneWorker::new(Arc::default());
        let neighbour = start(&mut lane, NEIGHBOUR, "while true do ctx.sleep(1) end")?;
        let hostile = start(&mut lane, HOSTILE, body)?;
        Ok(Self {
            lane,
            spot: WaitSpot::default(),
            neighbour,
            hostile,
        })
    }

    /// Delivers the outcome for which the neighbour waits, if it waits.
    fn answer_the_neighbour(&mut self) {
        let step = match heard(&mut self.neighbour, &self.spot) {
            Some(LaneMessage::Began(effect)) => effect.step,
            Some(LaneMessage::Ended(result)) => panic!("the neighbour ends: {result:?}"),
            None => return,
        };
        self.lane.handle(LaneCommand::Outcome {
            run: NEIGHBOUR,
            step,
            outcome: Ok(FlatValue::of(&Value::Null, 1, 8).unwrap_or_default()),
        });
    }

    /// Why the hostile script ended, if it did.
    fn ended(&mut self) -> Option<Reason> {
        match heard(&mut self.hostile, &self.spot)? {
            LaneMessage::Ended(Err(error)) => Some(error.reason),
            LaneMessage::Ended(Ok(value)) => panic!("the hostile script ends well: {value}"),
            LaneMessage::Began(effect) => panic!("the hostile script asks for {effect:?}"),
        }
    }
}

fn start(lane: &mut LaneWorker, id: u64, body: &str) -> Result<RunReceiver, ScriptError> {
    let text = format!("function invoke(ctx) {body} end");
    let script = Script::compile("x", &text, Libraries::new())?;
    let long = Duration::from_secs(3600);
    let limits = ScriptLimits {
        cpu: long,
        wall: long,
        ..ScriptLimits::default()
    };
    let script = script.compiled;
    let (speaker, listener) = line(RunStart { id, script, limits });
    lane.handle(LaneCommand::Start(speaker, FlatValue::default()));
    Ok(listener)
}

fn heard(listener: &mut RunReceiver, spot: &WaitSpot) -> Option<LaneMessage> {
    listener.recv(&mut SpinWaiter::at(spot)).now_or_never().flatten()
}

#[test]
fn a_neighbour_waits_for_two_turns_of_a_hostile_script_at_most() -> Result<(), ScriptError> {
    for (body, ends) in SCRIPTS {
        let mut held = Held::with(body)?;
        let (mut turns, mut in_a_row) = (0, 0);
        let mut ended = held.ended();
        while turns < TURNS && ended.is_none() {
            // From now on the neighbour is ready, even if its last turn ended before it requested something.
            held.answer_the_neighbour();
            if held.lane.next_turn() == Some(NEIGHBOUR) {
                in_a_row = 0;
                continue;
            }
            (turns, in_a_row) = (turns + 1, in_a_row + 1);
            assert!(
                in_a_row <= MOST,
                "the neighbour waits for {in_a_row} turns of: {body}"
            );
            ended = held.ended();
        }
        let right = match ends {
            Ends::Never => ended.is_none(),
            Ends::ByTurn => matches!(ended, Some(Reason::Limit(LimitExceeded::Turn(_)))),
        };
        assert!(
            right,
            "ends by {ended:?} after {turns} turns, not {ends:?}: {body}"
        );
    }
    Ok(())
}
