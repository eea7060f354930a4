//! Counts for tests while a script runs: safepoints, reads of the clock, and effects. No clock is read, so
//! that the same script has equal counts on any machine.

use std::cell::Cell;

use mlua::Lua;

/// The counts since [`begin`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    /// Bytes that the VM allocated; during the count, the collector is stopped.
    pub(crate) bytes: usize,
    /// Safepoints of the VM, and those of long native work.
    pub(crate) safepoints: usize,
    /// The number of clock reads that were requested because a call may have taken long.
    pub(crate) looks: usize,
    /// Effects that were begun.
    pub(crate) effects: usize,
}

thread_local! {
    static COUNTED: Cell<TestCounts> = const { Cell::new(TestCounts { bytes: 0, safepoints: 0, looks: 0, effects: 0 }) };
}

fn count(add: impl FnOnce(&mut TestCounts)) {
    COUNTED.with(|counted| {
        let mut now = counted.get();
        add(&mut now);
        counted.set(now);
    });
}

/// The script passed a safepoint.
pub(crate) fn safepoint() {
    count(|counted| counted.safepoints += 1);
}

/// Counts a request to read the clock at the next safepoint.
pub(crate) fn look() {
    count(|counted| counted.looks += 1);
}

/// An effect was begun.
pub(crate) fn effect() {
    count(|counted| counted.effects += 1);
}

/// Counts from now on.
pub(crate) fn begin(lua: &Lua) {
    let bytes = lua.used_memory();
    COUNTED.with(|counted| {
        counted.set(TestCounts {
            bytes,
            ..TestCounts::default()
        });
    });
}

/// Returns the counts since [`begin`].
pub(crate) fn end(lua: &Lua) -> TestCounts {
    let mut counted = COUNTED.with(Cell::get);
    counted.bytes = lua.used_memory().saturating_sub(counted.bytes);
    counted
}
