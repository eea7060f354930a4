//! Drives `agentx_fuzz::records::check` with libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agentx_fuzz::records::check(data));
