//! Analyzers of risk as responders: the trait [`SecurityAnalyzer`], the built-in one that reads the call
//! alone, and the model that judges. Programs and servers as analyzers are in agentx-node-runtime.

pub(crate) mod analyzer;
pub(crate) mod judge_answer;
pub(crate) mod model_judge;
