//! The rules of a router as its configuration has them.

use agentx_agent_files::definition::{RuleDefinition, VariableType};
use agentx_types::{IntentExample, IntentPattern, IntentReference, IntentRule, IntentVar, VarKind};

/// Returns the rule of a file for a configuration.
pub(crate) fn intent_rule(rule: &RuleDefinition) -> IntentRule {
    IntentRule {
        name: rule.name.clone(),
        references: rule
            .references
            .iter()
            .map(|(topic, text)| IntentReference {
                topic: topic.clone(),
                text: text.clone(),
            })
            .collect(),
        vars: rule
            .vars
            .iter()
            .map(|(name, var)| IntentVar {
                name: name.clone(),
                label: match var.label.as_str() {
                    "" => name.clone(),
                    label => label.to_owned(),
                },
                kind: match var.kind {
                    VariableType::String => VarKind::String,
                    VariableType::Int => VarKind::Int,
                    VariableType::Float => VarKind::Float,
                    VariableType::Bool => VarKind::Bool,
                },
            })
            .collect(),
        patterns: rule
            .patterns
            .iter()
            .map(|pattern| IntentPattern {
                input: pattern.input.clone(),
                output: pattern.output.clone(),
            })
            .collect(),
        examples: rule
            .examples
            .iter()
            .map(|example| IntentExample {
                subject: example.subject.clone(),
                input: example.user.clone(),
                output: example.output.clone(),
            })
            .collect(),
    }
}
