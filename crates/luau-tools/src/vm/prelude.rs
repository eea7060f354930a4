//! The sandbox's own Luau, which makes the standard library safe and adds the functions for scripts.
//!
//! The parts are compiled once in a process and loaded into each VM. They freeze shared values, replace
//! functions that could leave the sandbox or take unbounded time, and turn effects into ordinary functions.

use std::sync::OnceLock;

use crate::compile::compiler::{compiler, flags};

/// A part of the sandbox's own Luau, as bytecode. It is compiled once and loaded into every VM.
pub(crate) struct PreludePart {
    /// The name of the part in its own errors.
    pub(crate) name: &'static str,
    /// The bytecode, without lines.
    pub(crate) code: Vec<u8>,
}

/// Returns the parts that every VM loads.
pub(crate) fn parts() -> &'static [PreludePart] {
    static PARTS: OnceLock<[PreludePart; 6]> = OnceLock::new();
    PARTS.get_or_init(|| {
        [
            PreludePart::new("sandbox", include_str!("../luau/sandbox.luau")),
            PreludePart::new("library", include_str!("../luau/library.luau")),
            PreludePart::new("scheduler", include_str!("../luau/scheduler.luau")),
            PreludePart::new("promises", include_str!("../luau/promises.luau")),
            PreludePart::new("ctx", include_str!("../luau/ctx.luau")),
            PreludePart::new("main", include_str!("../luau/main.luau")),
        ]
    })
}

/// Returns the part that VMs load for scripts that name it.
pub(crate) fn older() -> &'static PreludePart {
    static OLDER: OnceLock<PreludePart> = OnceLock::new();
    OLDER.get_or_init(|| PreludePart::new("rt", include_str!("../luau/rt.luau")))
}

impl PreludePart {
    /// Compiled without lines, for only those of a script are shown.
    fn new(name: &'static str, text: &str) -> Self {
        flags();
        let lean = compiler().set_optimization_level(2).set_debug_level(0);
        let code = lean.compile(text).unwrap_or_default();
        Self { name, code }
    }
}
