//! Drives `agentx_fuzz::files::check` with libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentx_fuzz::files::check(data));
