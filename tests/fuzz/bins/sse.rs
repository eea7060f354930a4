//! Drives `agentx_fuzz::sse::check` with libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentx_fuzz::sse::check(data));
