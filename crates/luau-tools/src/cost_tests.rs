//! Compares the cost class that `tests/costs/table.rs` states for each function with the measured cost of one
//! call, at three sizes.
//!
//! A cost is the number of bytes, values or steps of one call in proportion to its arguments. The table is
//! the promise; a function that a new version of Luau adds fails the test until somebody states its cost.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../tests/costs/calls.rs"]
mod calls;
#[path = "../tests/costs/table.rs"]
pub(crate) mod table;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mlua::{Lua, Table, Value as Luau};

use self::calls::{ALWAYS_FAIL, CALLS, GENERIC, IN_PLACE, LARGE_ARGUMENTS, NOT_WALKED};
use self::table::{COSTS, Cost};
use crate::exchange;
use crate::json::flat_value::FlatValue;
use crate::run::ScriptRun;
use crate::run::run_channel::{RunStart, line};
use crate::test_counts::{self, TestCounts};
use crate::vm::template::PreparedVm;
use crate::vm::{Vm, VmProgress, VmScope};
use crate::waiting::wake_queue::WakeQueue;
use crate::{Libraries, Script, ScriptLimits};

/// Each four times the one before. Texts are large from 65,536 bytes on and tables from 8,192 values on, so
/// that the last two are.
const SIZES: [usize; 3] = [17_000, 68_000, 272_000];
/// Bytes that a call may take more or less, as for the digits of a number in an error.
const SLACK: usize = 512;

/// Maximum number of values or bytes between two safepoints of long work.
const APART: usize = 16_384;

/// A call at one size.
#[derive(Clone, Copy, Debug)]
struct One {
    counted: TestCounts,
    /// Whether it ended without an error. A call that waits for the outcome of an effect did not end.
    ok: bool,
}

/// A call at all three sizes.
type Measured = [One; 3];

/// `library.function` of all functions below a table that a script can name.
fn functions(of: &Table, prefix: &str, into: &mut Vec<String>) {
    for pair in of.pairs::<Luau, Luau>() {
        let (Luau::String(name), value) = pair.unwrap() else {
            continue;
        };
        let name = format!("{prefix}{}", name.to_string_lossy());
        match value {
            Luau::Function(_) => into.push(name),
            Luau::Table(inner) if name != "_G" => functions(&inner, &format!("{name}."), into),
            _ => {}
        }
    }
}

/// All functions that a script can name, sorted.
fn all_functions() -> Vec<String> {
    let prepared = PreparedVm::new().unwrap();
    prepared.add_older().unwrap();
    let mut all = Vec::new();
    functions(&prepared.base, "", &mut all);
    functions(&prepared.inner.raw_get("ctx").unwrap(), "ctx.", &mut all);
    all.sort_unstable();
    all
}

/// Returns the row of a table for a function, by its name or by the name of its library and `*`.
fn row_of<'a, T>(name: &str, rows: &'a [T], names: impl Fn(&T) -> &'static str) -> Option<&'a T> {
    let find = |name: &str| {
        let mut rows = rows.iter();
        rows.find(|row| names(row).split(' ').any(|word| word == name))
    };
    let library = || name.rsplit_once('.').map(|(library, _)| format!("{library}.*"));
    find(name).or_else(|| find(&library()?))
}

/// A script that makes these calls one after the other. `setup | call` has something to do before it counts.
fn script_of(name: &str, calls: &[&str], n: usize) -> String {
    let mut text = format!(
        "local n = {n}
        local text, list, bytes = ('a'):rep(n), table.create(n, 1), buffer.create(n)
        function invoke(ctx)
        local f = {name}\n"
    );
    for call in calls {
        let (setup, call) = call.split_once(" | ").unwrap_or(("", call));
        text += &format!("do {setup} local function call() {call} end begin() counted((pcall(call))) end\n");
    }
    text + "end"
}

/// The counts of a script's calls.
#[derive(Default)]
struct StepCounter {
    begun: Cell<bool>,
    all: RefCell<Vec<One>>,
}

impl StepCounter {
    fn ended(&self, lua: &Lua, ok: bool) {
        if self.begun.take() {
            self.all.borrow_mut().push(One {
                counted: test_counts::end(lua),
                ok,
            });
        }
    }

    /// Gives scripts the functions `begin` and `test_counts`, between which it counts.
    fn add_to(self: &Rc<Self>, prepared: &PreparedVm) -> mlua::Result<()> {
        let (begins, ends) = (Rc::clone(self), Rc::clone(self));
        let shared = Rc::clone(&prepared.shared);
        let begin = prepared.lua.create_function(move |lua, ()| {
            lua.gc_stop();
            shared.still_until.set(0);
            exchange::delay_clock();
            begins.begun.set(true);
            test_counts::begin(lua);
            Ok(())
        })?;
        let counted = prepared.lua.create_function(move |lua, ok: bool| {
            ends.ended(lua, ok);
            Ok(())
        })?;
        prepared.base.set_readonly(false);
        prepared.base.raw_set("begin", begin)?;
        prepared.base.raw_set("counted", counted)?;
        prepared.base.set_readonly(true);
        Ok(())
    }
}

/// Runs a script in a separate VM, and returns the counts of each of its calls. It ends when a call waits for
/// an effect.
fn measure(name: &str, calls: &[&str], n: usize) -> Vec<One> {
    let long = Duration::from_secs(3600);
    let limits = ScriptLimits {
        memory: 1 << 30,
        cpu: long,
        turn: long,
        wall: long,
        ..ScriptLimits::default()
    };
    let loops = format!("for _ = 1, {n} do end return {{}}");
    let libraries = Libraries::new().with("loops", loops);
    let script = Script::compile("x", &script_of(name, calls, n), libraries).unwrap();
    let prepared = PreparedVm::new().unwrap();
    let tally = Rc::<StepCounter>::default();
    tally.add_to(&prepared).unwrap();

    let vm = Vm::of(VmScope::of(&script.compiled), prepared).unwrap();
    vm.load(&script.compiled).unwrap();
    let start = RunStart {
        id: 1,
        script: Arc::clone(&script.compiled),
        limits,
    };
    let (speaker, _listener) = line(start);
    let run = Rc::new(ScriptRun::new(speaker, Rc::new(WakeQueue::of(Arc::default()))));
    let begun = vm.start(&run, &mut FlatValue::default());
    // A stopped run still has its measurements.
    if let Ok((Some(table), progress)) = begun {
        let _ = go_on(&vm, &run, &table, progress, &tally);
    }
    tally.ended(&vm.lua, false);
    tally.all.take()
}

/// Lets it continue until it ends, or until the measured call waits.
fn go_on(
    vm: &Vm,
    run: &Rc<ScriptRun>,
    table: &Table,
    mut progress: VmProgress,
    tally: &StepCounter,
) -> mlua::Result<()> {
    loop {
        let outcome = match progress {
            VmProgress::Done(_) => return Ok(()),
            VmProgress::Needs(_) if tally.begun.get() => return Ok(()),
            VmProgress::Needs(step) => Some((step, FlatValue::of(&serde_json::json!(7), 8, 64))),
            VmProgress::TurnOver => None,
        };
        progress = vm.resume(run, table, outcome, &mut FlatValue::default())?;
    }
}

/// Returns the reasons why a function does not belong to this class.
fn mistakes(name: &str, cost: Cost) -> Vec<String> {
    let own = row_of(name, CALLS, |row| row.0).map_or(&[][..], |row| row.1);
    let generic = if matches!(cost, Cost::Constant | Cost::Copies | Cost::Charged) {
        GENERIC
    } else {
        &[]
    };
    let calls: Vec<&str> = own.iter().chain(generic).copied().collect();
    let sizes = SIZES.map(|n| measure(name, &calls, n));
    let counted = sizes.iter().map(Vec::len).min().unwrap_or(0);
    let all: Vec<Measured> = (0..counted)
        .map(|call| std::array::from_fn(|size| sizes[size][call]))
        .collect();

    let mut wrong: Vec<String> = wrong_in_all(name, cost, &all)
        .map(str::to_owned)
        .into_iter()
        .collect();
    if counted < calls.len() {
        wrong.push(format!("only {counted} of {} calls end", calls.len()));
    }
    if own.is_empty() && cost != Cost::Constant {
        wrong.push("there is no call whose size is known".to_owned());
    }
    for (at, (call, measured)) in calls.iter().zip(&all).enumerate() {
        let unlike = if at < own.len() {
            unlike(cost, measured)
        } else {
            None
        };
        let found = wrong_in_one(cost, measured).into_iter().chain(unlike);
        wrong.extend(found.map(|what| format!("{what}: `{call}` counts {measured:?}")));
    }
    wrong
        .iter()
        .map(|what| format!("{name}, {cost:?}: {what}"))
        .collect()
}

/// Returns the first violation by all calls of a function together.
fn wrong_in_all(name: &str, cost: Cost, all: &[Measured]) -> Option<&'static str> {
    let has = |names: &str| names.split(' ').any(|word| word == name);
    let works = all.iter().flatten().any(|one| one.ok || one.counted.effects > 0);
    if !works && !has(ALWAYS_FAIL) {
        return Some("each call is an error");
    }
    let grows = all
        .iter()
        .any(|[a, _, c]| c.counted.bytes > a.counted.bytes + SIZES[1]);
    (cost == Cost::Copies && !grows && !has(IN_PLACE)).then_some("it copies nothing")
}

/// Returns the first violation of this class by a single call.
fn wrong_in_one(cost: Cost, measured: &Measured) -> Option<&'static str> {
    let [a, b, c] = measured.map(|one| one.counted);
    let linear = b.bytes <= 5 * a.bytes + SLACK && c.bytes <= 5 * b.bytes + SLACK;
    match cost {
        Cost::Constant if b.bytes.max(c.bytes) > a.bytes + SLACK => Some("it takes more memory for more"),
        Cost::Constant | Cost::Copies if b.looks.max(c.looks) > a.looks => Some("it is charged"),
        Cost::Constant | Cost::Copies if b.safepoints.max(c.safepoints) > a.safepoints => {
            Some("it has safepoints")
        }
        Cost::Copies | Cost::Charged if !linear => Some("its memory grows faster than its arguments"),
        _ => None,
    }
}

/// Returns how a measured call differs from its cost class.
fn unlike(cost: Cost, [a, b, c]: &Measured) -> Option<&'static str> {
    let between = (SIZES[2] - SIZES[1]) / APART;
    match cost {
        Cost::Charged if b.counted.looks == 0 || c.counted.looks == 0 => Some("no clock is read after it"),
        Cost::Watched if c.counted.safepoints < b.counted.safepoints + between => {
            Some("it has no safepoints")
        }
        Cost::Refuses if !a.ok || c.ok => Some("it refuses nothing, or all"),
        Cost::Effect if [a, b, c].iter().any(|one| one.counted.effects != 1) => Some("it is not one effect"),
        _ => None,
    }
}

#[test]
fn every_function_that_a_script_can_name_has_a_stated_cost() {
    let all = all_functions();
    assert!(all.len() > 200, "{all:?}");
    let stated = |name: &&String| row_of(name, COSTS, |row| row.1).is_some();
    let missing: Vec<_> = all.iter().filter(|name| !stated(name)).collect();
    assert!(missing.is_empty(), "no cost is stated of {missing:?}");
    let calls = CALLS.iter().flat_map(|row| row.0.split(' '));
    for word in COSTS.iter().flat_map(|row| row.1.split(' ')).chain(calls) {
        let known = word.ends_with(".*") || all.iter().any(|name| name == word);
        assert!(known, "{word} is not a function of the library");
    }
}

#[test]
fn every_large_argument_is_charged_or_is_not_walked_for_a_reason() {
    let mut wrong = Vec::new();
    for name in all_functions() {
        let cost = row_of(&name, COSTS, |row| row.1).map(|row| row.0);
        let large = LARGE_ARGUMENTS
            .iter()
            .find(|row| row.0.split(' ').any(|word| word == name));
        let calls = row_of(&name, CALLS, |row| row.0).map_or(0, |row| row.1.len());
        let reason = row_of(&name, NOT_WALKED, |row| row.0);
        match cost {
            Some(Cost::Constant) if reason.is_none_or(|row| row.1.is_empty()) => {
                wrong.push(format!("{name}: no reason why its arguments are not walked"));
            }
            Some(Cost::Charged) if large.is_none() => wrong.push(format!("{name}: no large argument")),
            // `every_function_costs_what_is_stated` requires that each of these calls is charged.
            Some(Cost::Charged) if large.is_some_and(|row| calls < row.1.len()) => {
                wrong.push(format!("{name}: a large argument is not measured"));
            }
            Some(cost) if cost != Cost::Charged && large.is_some() => {
                wrong.push(format!("{name}: it has large arguments, uncharged"));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_function_costs_what_is_stated() {
    let of = |name: &String| {
        let stated = row_of(name, COSTS, |row| row.1);
        stated.map_or_else(Vec::new, |row| mistakes(name, row.0))
    };
    let all = all_functions();
    let wrong: Vec<String> = thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(4));
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().flat_map(of).collect::<Vec<_>>()))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_counted_tells_each_class_from_the_others() {
    use Cost::{Charged, Constant, Copies, Effect, Refuses, Watched};
    let all = [
        ("string.len", Constant),
        ("string.rep", Copies),
        ("string.lower", Charged),
        ("string.find", Watched),
        ("table.move", Refuses),
        ("ctx.emit", Effect),
    ];
    for (name, is) in all {
        for (_, other) in all {
            let wrong = mistakes(name, other);
            assert_eq!(
                wrong.is_empty(),
                is == other,
                "{name} is {is:?}, not {other:?}: {wrong:?}"
            );
        }
    }
}
