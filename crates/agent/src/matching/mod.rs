//! Match: rules and what is wrong with them, the fast path that needs no model, the prompt that a model is asked with, the
//! parser that reads its answer while it comes, and the machine that gives each intent to the agent that sees to it. All of it
//! is pure, and bounded whatever a model or a file says.
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
mod fast;
mod intent;
mod line;
mod machine;
mod more;
mod narrower;
mod prompt;
mod rule;
mod template;
mod text;
mod value;

pub use answer::{AnswerParser, Finding};
pub use fast::FastPath;
pub use intent::{Intent, Note};
pub use machine::MatchAgent;
pub use prompt::prompt;
pub use rule::{RuleMistake, RulePart, mistakes};
