//! Match: an agent that sorts inputs by rules, and gives them to other agents.
//!
//! | part | file |
//! | --- | --- |
//! | rules, and their mistakes | `rule.rs`, `template.rs` |
//! | the fast path, which needs no model | `fast_path.rs`, with `text.rs`, `value.rs`, `disambiguation.rs` and `further_requests.rs` |
//! | the prompt that a model is asked with | `prompt.rs` |
//! | the parser that reads its answer while it comes | `answer.rs`, `answer_line.rs`, `intent.rs` |
//! | the machine that gives each intent to the agent that sees to it | `machine/` |
//!
//! *Rule*: a name, variables, and phrasings. *Pattern*: the words of a rule with variables in brackets.
//! *Intent*: a rule with its variables filled in. *Route*: the agent for some rules. All of it is pure, and
//! bounded for any model and any file.
//!
//! ```
//! use agentx_agent::matching::{FastPath, Intent};
//! use agentx_types::{IntentPattern, IntentRule, IntentVar, VarKind};
//!
//! let rule = IntentRule {
//!     name: "volume".into(),
//!     vars: vec![IntentVar { name: "pct".into(), label: "percent".into(), kind: VarKind::Int }],
//!     patterns: vec![IntentPattern { input: "音量 [pct]".into(), output: None }],
//!     ..IntentRule::default()
//! };
//! let found = FastPath::new(&[rule]).find("音量５０！").unwrap();
//! assert_eq!(found, [Intent::new("volume").with("pct", 50)]);
//! ```

mod answer;
mod answer_line;
mod disambiguation;
mod fast_path;
mod further_requests;
mod intent;
mod machine;
mod prompt;
mod rule;
mod template;
mod text;
mod value;

pub use answer::{AnswerParser, Finding};
pub use fast_path::FastPath;
pub use intent::{Intent, MatchNote};
pub use machine::MatchAgent;
pub use prompt::prompt;
pub use rule::{RuleMistake, RulePart, mistakes};
