//! Drives `agentx_fuzz::luau_values::check` with libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentx_fuzz::luau_values::check(data));
