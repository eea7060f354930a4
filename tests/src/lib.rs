//! Helpers of the tests that span several crates.
