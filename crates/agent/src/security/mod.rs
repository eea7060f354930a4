//! The risk of calls: the built-in analyzer, the signs that words of a call come from outside, and the
//! decision that follows from the verdicts of all analyzers.
//!
//! Everything here is a function of a call, the configuration and the conversation. The machine asks
//! analyzers by actions (`react/assessing.rs`); those that need a model, a program or a server are elsewhere,
//! as responders (`SecurityAnalyzer` in agentx-runtime).
//!
//! | file | holds |
//! | --- | --- |
//! | `command_risk` | the risk of a command line, by its structure and by patterns |
//! | `line_files` | lines that write files of others, or send files |
//! | `rules_analyzer` | the analyzer `rules`: the risk of a call of any tool |
//! | `injection` | signs that a call follows text from outside |
//! | `quotes` | the longest quote of one text in another |
//! | `hosts_named` | the hosts that a call names, and whether it sends data |
//! | `policy` | the decision about an assessed call |
//! | `call_assessment` | the verdicts about one call, and those that are still awaited |
//! | `overruling` | calls that a judge refused, and the decisions of people about them |

pub(crate) mod call_assessment;
mod command_risk;
mod hosts_named;
mod injection;
mod line_files;
pub(crate) mod overruling;
mod policy;
mod quotes;
mod rules_analyzer;

pub use call_assessment::{AwaitedVerdict, CallAssessment};
pub use injection::{OutsideText, injection_signs};
pub use overruling::RefusedCall;
pub(crate) use policy::decide_nested_assessed;
pub use policy::{AssessedDecision, decide_assessed, needs_assessment, verdict_words};
pub use rules_analyzer::assess_by_rules;
