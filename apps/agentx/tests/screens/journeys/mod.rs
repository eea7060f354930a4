//! Journeys of people in a terminal, from the first start on.

mod asked;
mod branches;
mod broken;
mod choosing;
mod copied_code;
mod delegated;
mod diff;
mod first;
mod first_own;
mod in_sight;
mod interrupts;
mod killed;
mod leaving;
mod models;
mod parallel;
mod paste;
mod pictures;
mod repaired;
mod resize;
mod run_at_terminal;
mod server_claims;
mod server_logins;
mod servers;
mod steering;
mod strange;
mod wide;
