//! Bounds, in turns, how long a neighbour of a hostile script waits. A test owns the lane and assigns the
//! turns itself, without a clock.

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;

use super::*;
use crate::cost_tests::table::COSTS;
use crate::limits::LimitExceeded;
use crate::run::run_channel::{LaneMessage, RunReceiver, RunStart, line};
use crate::waiting::spin_wait::{SpinWaiter, WaitSpot};
use crate::{Libraries, Script, ScriptLimits};

const HOSTILE: u64 = 1;
const NEIGHBOUR: u64 = 1_000;
/// The time that hostile scripts, all together, may compute before the neighbour's turn, besides their
/// longest turn. So it waits for the end of a turn that had begun, which is a slice and the limit `turn` long
/// at most, and for hardly anything else. It is computing time, which is the same on a busy machine; the time
/// of two long turns is beyond it.
const MOST: Duration = TURN.saturating_mul(2);
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

/// Computes for several times a slice in a metamethod, which cannot be left in between.
const METAMETHOD: &str = "setmetatable({}, {__index = function()
    local x = 0 for i = 1, 3e6 do x = x + i % 7 end return x
end})";

/// A script that computes like that again and again.
fn overruns() -> String {
    format!("local t, sum = {METAMETHOD}, 0 while true do sum += t.x end")
}

/// A lane that no thread runs, with a neighbour that waits again and again and hostile scripts.
struct Held {
    lane: LaneWorker,
    spot: WaitSpot,
    neighbour: RunReceiver,
    hostile: Vec<RunReceiver>,
}

/// Limits without a bound on time except for that of a turn.
fn limits() -> ScriptLimits {
    let long = Duration::from_secs(3600);
    ScriptLimits {
        cpu: long,
        wall: long,
        effects: u64::MAX,
        ..ScriptLimits::default()
    }
}

/// Limits for a script that may overrun its turns, for this person.
fn patient(person: Option<u64>) -> ScriptLimits {
    ScriptLimits {
        turn: Duration::from_secs(600),
        person,
        ..limits()
    }
}

impl Held {
    /// The neighbour has begun, and then each of the hostile scripts.
    fn with(person: Option<u64>, hostile: &[(&str, ScriptLimits)]) -> Result<Self, ScriptError> {
        let mut lane = LaneWorker::new(Arc::default(), Vms::default());
        let waits = "while true do ctx.sleep(1) end";
        let neighbour = start(&mut lane, NEIGHBOUR, waits, ScriptLimits { person, ..limits() })?;
        let hostile = (HOSTILE..).zip(hostile);
        let hostile = hostile.map(|(id, (body, limits))| start(&mut lane, id, body, limits.clone()));
        let hostile = hostile.collect::<Result<_, _>>()?;
        Ok(Self {
            lane,
            spot: WaitSpot::default(),
            neighbour,
            hostile,
        })
    }

    /// Delivers the outcome for which the neighbour waits, if it waits.
    fn answer_the_neighbour(&mut self) {
        match heard(&mut self.neighbour, &self.spot) {
            Some(LaneMessage::Began(effect)) => answer(&mut self.lane, NEIGHBOUR, effect.step),
            Some(LaneMessage::Ended(result)) => panic!("the neighbour ends: {result:?}"),
            None => {}
        }
    }

    /// Delivers the outcomes for which hostile scripts wait. Returns why one ended, if one did.
    fn ended(&mut self) -> Option<Reason> {
        for (id, hostile) in (HOSTILE..).zip(&mut self.hostile) {
            while let Some(message) = heard(hostile, &self.spot) {
                match message {
                    LaneMessage::Began(effect) => answer(&mut self.lane, id, effect.step),
                    LaneMessage::Ended(Err(error)) => return Some(error.reason),
                    LaneMessage::Ended(Ok(value)) => panic!("a hostile script ends well: {value}"),
                }
            }
        }
        None
    }

    /// Gives turns until hostile scripts have had this many or one of them has ended: their number, and why
    /// it ended.
    fn turns(&mut self, most: usize, name: &str) -> (usize, Option<Reason>) {
        let (mut turns, mut in_a_row) = (0, Vec::new());
        let mut ended = self.ended();
        while turns < most && ended.is_none() {
            // From now on the neighbour is ready, even if its last turn ended before it requested something.
            self.answer_the_neighbour();
            let began = computed_by_thread().unwrap_or_default();
            match self.lane.next_turn() {
                None => panic!("nobody is ready beside: {name}"),
                Some(NEIGHBOUR) => {
                    in_a_row.clear();
                    continue;
                }
                Some(_) => turns += 1,
            }
            in_a_row.push(computed_by_thread().unwrap_or_default().saturating_sub(began));
            let longest = in_a_row.iter().max().copied().unwrap_or_default();
            let others = in_a_row.iter().sum::<Duration>().saturating_sub(longest);
            assert!(others <= MOST, "the neighbour waits for {in_a_row:?} of: {name}");
            ended = self.ended();
        }
        (turns, ended)
    }
}

/// Delivers an outcome.
fn answer(lane: &mut LaneWorker, run: u64, step: u64) {
    let outcome = FlatValue::of(&Value::from(7), 8, 64).unwrap_or_default();
    lane.handle(LaneCommand::Outcome {
        run,
        step,
        outcome: Ok(outcome),
    });
}

fn start(
    lane: &mut LaneWorker,
    id: u64,
    body: &str,
    limits: ScriptLimits,
) -> Result<RunReceiver, ScriptError> {
    let text = format!("function invoke(ctx) {body} end");
    let script = Script::compile("x", &text, Libraries::new())?;
    let script = script.compiled;
    let (speaker, listener) = line(RunStart { id, script, limits });
    lane.handle(LaneCommand::Start(speaker, FlatValue::default()));
    Ok(listener)
}

fn heard(listener: &mut RunReceiver, spot: &WaitSpot) -> Option<LaneMessage> {
    listener.recv(&mut SpinWaiter::at(spot)).now_or_never().flatten()
}

#[test]
fn a_neighbour_waits_for_one_turn_of_a_hostile_script_at_most() -> Result<(), ScriptError> {
    for (body, ends) in SCRIPTS {
        let mut held = Held::with(None, &[(*body, limits())])?;
        let (turns, ended) = held.turns(TURNS, body);
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

#[test]
fn a_neighbour_waits_for_one_turn_of_a_script_that_repeats_any_costly_call() -> Result<(), ScriptError> {
    for body in COSTS.iter().flat_map(|(_, _, bodies)| bodies.iter()) {
        let text = format!("while true do pcall(function() {body} end) end");
        let mut held = Held::with(None, &[(text.as_str(), limits())])?;
        // Some end by a limit, and some raise an error outside of it.
        held.turns(4, body);
    }
    Ok(())
}

#[test]
fn a_neighbour_waits_for_one_turn_beside_any_number_of_scripts_that_overrun_their_turns()
-> Result<(), ScriptError> {
    let body = overruns();
    let beside = |count: usize, limits: &ScriptLimits| vec![(body.as_str(), limits.clone()); count];
    let (hers, his) = (patient(Some(1)), patient(Some(2)));
    let each = patient(None);
    for (name, hostile) in [
        ("one of nobody", beside(1, &each)),
        ("one of another person", beside(1, &his)),
        ("sixteen of another person", beside(16, &his)),
    ] {
        let mut held = Held::with(hers.person, &hostile)?;
        let (turns, ended) = held.turns(TURNS, name);
        assert_eq!((turns, ended), (TURNS, None), "{name}");
    }
    Ok(())
}

#[test]
fn sixteen_computing_scripts_of_one_person_have_as_many_turns_as_one_of_another() -> Result<(), ScriptError> {
    let (hers, his) = (patient(Some(1)), patient(Some(2)));
    let mut all = vec![("while true do end", his); 16];
    all.push(("while true do end", hers));
    let mut held = Held::with(None, &all)?;
    let single = HOSTILE + 16;
    let turns: Vec<_> = (0..64).filter_map(|_| held.lane.next_turn()).collect();
    let had = turns.iter().filter(|id| **id == single).count();
    // Some turns are longer than others, where the machine is busy.
    assert!((24..=40).contains(&had), "{had} of 64 turns: {turns:?}");
    Ok(())
}

#[test]
fn runs_that_begin_at_once_let_others_have_their_outcomes() -> Result<(), ScriptError> {
    let mut held = Held::with(None, &[])?;
    held.lane.begin_commands();
    let body = format!("return ({METAMETHOD}).x");
    for id in HOSTILE..HOSTILE + 16 {
        let hostile = start(&mut held.lane, id, &body, patient(Some(2)))?;
        held.hostile.push(hostile);
    }
    held.answer_the_neighbour();
    let spot = &held.spot;
    let ended = held.hostile.iter_mut().filter_map(|run| heard(run, spot)).count();
    assert!(
        ended <= 2,
        "{ended} began and ended before the commands were handled"
    );
    assert_eq!(held.lane.next_turn(), Some(NEIGHBOUR));
    Ok(())
}
