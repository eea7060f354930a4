//! The stuck detector: OpenHands' verdicts, planted loops, and false alarms over recorded sessions.

#[cfg(test)]
mod data;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod v0;
