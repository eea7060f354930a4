//! The sandbox's own Luau, which makes the standard library safe and gives scripts what they are given; and the flags of the VM.

use std::sync::OnceLock;

use mlua::Lua;

use crate::script::compiler;

/// The sandbox's own Luau, compiled once.
pub(crate) fn prelude(older: bool) -> impl Iterator<Item = (&'static Vec<u8>, &'static str)> {
    static CODE: OnceLock<Vec<(Vec<u8>, &'static str)>> = OnceLock::new();
    let parts = CODE.get_or_init(|| {
        let parts = [
            (include_str!("luau/sandbox.luau"), "sandbox"),
            (include_str!("luau/scheduler.luau"), "scheduler"),
            (include_str!("luau/ctx.luau"), "ctx"),
            (include_str!("luau/main.luau"), "main"),
            (include_str!("luau/rt.luau"), "rt"),
        ];
        // Without lines, for only those of a script are shown.
        let lean = compiler().set_optimization_level(2).set_debug_level(0);
        let compile = |(text, name): (&str, _)| (lean.compile(text).unwrap_or_default(), name);
        parts.into_iter().map(compile).collect()
    });
    parts
        .iter()
        .filter(move |(_, name)| older || *name != "rt")
        .map(|(code, name)| (code, *name))
}

/// Makes the VM robust where Luau guards it by a flag: tables when memory runs out, long moves, long splits. Called before
/// anything is compiled, and so before any VM.
pub(crate) fn flags() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        for name in [
            "LuauTableRobustOom",
            "LuauTableMoveTimeoutFix",
            "LuauOptimizeStringSplit",
        ] {
            // A newer Luau may have made it the rule and dropped the flag.
            let _ = Lua::set_fflag(name, true);
        }
    });
}
