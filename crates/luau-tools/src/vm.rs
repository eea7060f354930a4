//! A VM that holds runs of scripts of one owner. Between runs it is frozen: what a run writes is in globals of its own.
//!
//! A VM takes about 370 KiB whatever runs in it, a script in it about 5 and a run about 8. So the scripts of one
//! [`Owner`](crate::Owner) share VMs, at most [`MOST_RUNS`] runs each, and those of different owners never do. A run that exhausts
//! its memory ends alone; its VM takes no new runs and goes with its last one. How a VM comes to be is in `prepared.rs`, what a run
//! is charged with in `memory.rs`.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use mlua::{Function, Lua, Table, Value as Luau};

use crate::error::{Place, TOOL};
use crate::flat::Flat;
use crate::memory::{GARBAGE, Memory};
use crate::natives;
use crate::prepared::Prepared;
use crate::run::Run;
use crate::script::Compiled;
use crate::shared::{Loaded, Shared, load};
use crate::value::Nulls;

/// How many runs a VM may hold.
pub(crate) const MOST_RUNS: usize = 64;
/// A VM that has grown beyond this takes no new runs.
const FULL: usize = 8 << 20;
/// So many scripts a VM keeps loaded.
const MOST_SCRIPTS: usize = 256;

/// A VM and the doors into it.
pub(crate) struct Vm {
    // Before `lua`: what refers to values of the VM goes first.
    go: Function,
    start: Function,
    stands: Function,
    env_meta: Table,
    pub(crate) shared: Rc<Shared>,
    pub(crate) home: Home,
    pub(crate) runs: Cell<usize>,
    pub(crate) retired: Cell<bool>,
    pub(crate) memory: Memory,
    pub(crate) lua: Lua,
}

/// Who may come into a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Home {
    pub(crate) owner: u64,
    /// Whether it has the globals of the older API.
    older: bool,
    /// The only script that may, where it is one that takes much memory.
    alone: Option<u64>,
}

impl Home {
    /// Where runs of this script belong.
    pub(crate) fn of(script: &Compiled) -> Self {
        Self {
            owner: script.owner,
            older: script.wants.older,
            alone: script.hungry.load(Ordering::Relaxed).then_some(script.id),
        }
    }
}

/// What a run came to when its script could not go on for now.
pub(crate) enum Progress {
    /// It needs the outcome of this step.
    Needs(u64),
    /// Others have their turn; it can go on at once.
    TurnOver,
    /// Its main task has ended so.
    Done(Ended),
}

impl Vm {
    /// A prepared VM. From here on it belongs to the owner of the script that needs it.
    pub(crate) fn of(home: Home, prepared: Prepared) -> mlua::Result<Self> {
        if home.older {
            prepared.add_older()?;
        }
        let Prepared {
            lua,
            shared,
            inner,
            env_meta,
            ..
        } = prepared;
        Ok(Self {
            go: inner.raw_get("go")?,
            start: inner.raw_get("start")?,
            stands: inner.raw_get("stands")?,
            env_meta,
            shared,
            home,
            runs: Cell::new(0),
            retired: Cell::new(false),
            memory: Memory::of(&lua),
            lua,
        })
    }

    /// Loads a script that is not in it yet; what that takes is charged to nobody.
    pub(crate) fn load(&self, script: &Compiled) -> mlua::Result<()> {
        if self.shared.scripts.borrow().contains_key(&script.id) {
            return Ok(());
        }
        let before = self.lua.used_memory();
        let main = load(
            &self.lua,
            &script.main,
            TOOL,
            Some(environment(&self.lua, &self.env_meta)?),
        )?;
        let mut scripts = self.shared.scripts.borrow_mut();
        if scripts.len() >= MOST_SCRIPTS {
            // Those that are used again are loaded again.
            scripts.clear();
        }
        let libraries = HashMap::new();
        scripts.insert(script.id, Loaded { main, libraries });
        self.memory.loaded(self.lua.used_memory().saturating_sub(before));
        Ok(())
    }

    /// A script is gone.
    pub(crate) fn forget(&self, script: u64) {
        self.shared.scripts.borrow_mut().remove(&script);
    }

    /// The text of the run's script as a function of this run alone.
    fn main(&self, run: &Run, env: &Table) -> mlua::Result<Function> {
        let scripts = self.shared.scripts.borrow();
        let loaded = scripts.get(&run.script().id);
        let loaded = loaded.ok_or_else(|| mlua::Error::runtime("the script is not loaded"))?;
        let main = loaded.main.deep_clone()?;
        main.set_environment(env.clone())?;
        Ok(main)
    }

    /// Whether another run may come in.
    pub(crate) fn has_room(&self) -> bool {
        !self.retired.get() && self.runs.get() < MOST_RUNS && self.over_base() < FULL
    }

    /// Whether it is worth keeping when nothing runs in it.
    pub(crate) fn is_small(&self) -> bool {
        !self.retired.get() && self.over_base() < 2 * GARBAGE
    }

    /// Begins a run: its globals, its arguments, its main task, and lets it go as far as it comes. Gives the
    /// table that [`Vm::go_on`] wants where it did not end.
    pub(crate) fn start(&self, run: &Rc<Run>, flat: &mut Flat) -> mlua::Result<(Option<Table>, Progress)> {
        self.with(run, |limit| {
            let env = environment(&self.lua, &self.env_meta)?;
            let main = self.main(run, &env)?;
            if run.line.start().bytes > SMALL {
                limit()?;
            }
            let args = self.shared.luau(&self.lua, flat, Nulls::Absent)?;
            flat.clear();
            limit()?;
            let (wants, most) = (&run.script().wants, run.limits().pending);
            let (code, table, ok, value): (i64, Option<Table>, Option<bool>, Luau) =
                self.start
                    .call((env, main, args, wants.state, wants.random, most))?;
            Ok((table, self.progress(code, ok, &value, flat)?))
        })
    }

    /// Lets the script run until it waits, ends or has had its turn. `outcome` is what it waited for.
    pub(crate) fn go_on(
        &self,
        run: &Rc<Run>,
        table: &Table,
        outcome: Option<(u64, Result<Flat, String>)>,
        flat: &mut Flat,
    ) -> mlua::Result<Progress> {
        self.with(run, |limit| {
            let given = match outcome {
                None => None,
                Some((step, Ok(value))) => {
                    // Small ones are made before the limit is set, for a VM with a limit guards each single step.
                    if value.size() > SMALL {
                        limit()?;
                    }
                    Some((step, true, self.shared.luau(&self.lua, &value, Nulls::Absent)?))
                }
                Some((step, Err(problem))) => {
                    Some((step, false, Luau::String(self.lua.create_string(problem)?)))
                }
            };
            limit()?;
            let (code, ok, value): (i64, Option<bool>, Luau) = match given {
                None => self.go.call(table)?,
                Some((step, ok, value)) => self.go.call((table, step, ok, value))?,
            };
            self.progress(code, ok, &value, flat)
        })
    }

    /// Where a run waits that goes on, by its table; else where the script stood that just ran out of memory.
    pub(crate) fn place(&self, table: Option<&Table>) -> Option<Place> {
        // It is asked with no run at work, so that no limit of one ends it.
        let (chunk, line) = self.stands.call::<(Option<String>, Option<u32>)>(table).ok()?;
        Some(Place {
            chunk: chunk?,
            line: line?,
        })
    }

    fn progress(&self, code: i64, ok: Option<bool>, value: &Luau, flat: &mut Flat) -> mlua::Result<Progress> {
        match u64::try_from(code) {
            Ok(0) => self.ended(ok == Some(true), value, flat).map(Progress::Done),
            Ok(step) => Ok(Progress::Needs(step)),
            Err(_) => Ok(Progress::TurnOver),
        }
    }

    /// What the main task gave, as JSON; or what it raised.
    fn ended(&self, ok: bool, value: &Luau, flat: &mut Flat) -> mlua::Result<Ended> {
        if !ok {
            return Ok(Ended::Raised(self.raised(value)?));
        }
        Ok(match self.shared.write(value, flat)? {
            Ok(_) => Ended::Value,
            Err(problem) => Ended::NoJson(problem),
        })
    }

    /// What an error value says. No function of the script is asked.
    fn raised(&self, value: &Luau) -> mlua::Result<String> {
        let most = 4096;
        let text = match value {
            Luau::String(text) => text.to_string_lossy(),
            Luau::Table(table) => match table.raw_get::<Luau>("message")? {
                Luau::String(text) => text.to_string_lossy(),
                _ => match self.shared.json(value)? {
                    Ok((value, _)) if value != serde_json::json!({}) => value.to_string(),
                    _ => "an error that is a table without a `message`".to_owned(),
                },
            },
            Luau::Error(error) => natives::text_of(error),
            Luau::Number(number) => number.to_string(),
            Luau::Nil => "an error without a message".to_owned(),
            other => format!("an error that is a {}", other.type_name()),
        };
        if text.len() <= most {
            return Ok(text);
        }
        let end = (0..=most)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        Ok(format!(
            "{}… ({} bytes)",
            text.get(..end).unwrap_or_default(),
            text.len()
        ))
    }
}

/// Up to so many bytes a value is small.
const SMALL: usize = 64 << 10;

/// How the main task of a run ended.
pub(crate) enum Ended {
    /// Its value is in the memory that was given for it.
    Value,
    Raised(String),
    NoJson(String),
}

/// Globals of a run: writes stay in it, reads go on to the frozen ones. `_G` comes with the run's start.
fn environment(lua: &Lua, meta: &Table) -> mlua::Result<Table> {
    let env = lua.create_table_with_capacity(0, 4)?;
    env.set_metatable(Some(meta.clone()))?;
    env.set_safeenv(true);
    Ok(env)
}
