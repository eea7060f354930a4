//! The analyzers of risk as responders: those of the runtime itself, and programs and servers of the person's
//! settings (`analyzers.*`).
//!
//! Each analyzer is a responder of its own for `security.requests` with its name as the key, so a program
//! that uses this library can attach another one for a name while sessions run. An analyzer that nobody
//! serves gives the verdict `UNKNOWN`.
//!
//! The names `rules` and `model` always mean the built-in ones, so that settings mean the same
//! wherever a session continues.
//!
//! Verdicts are facts of the session, and a replay asks no analyzer.

use std::sync::Arc;

use agentx_bus::{KeyPattern, Serve};
use agentx_runtime::{
    ActionDispatcher, AnalyzerResponder, Effector, ModelJudge, RulesAnalyzer, SecurityAnalyzer,
};
use agentx_types::{ActionKind, MODEL_ANALYZER, RULES_ANALYZER, topic};

use crate::node_parts::AnalyzerServices;

/// Serves the analyzers `rules` and `model`, and these others. One of another name replaces neither.
pub(crate) fn serve_analyzers(
    actions: &ActionDispatcher,
    models: Arc<dyn Effector>,
    others: AnalyzerServices,
) {
    let own: [(&str, Arc<dyn SecurityAnalyzer>); 2] = [
        (RULES_ANALYZER, Arc::new(RulesAnalyzer)),
        (MODEL_ANALYZER, Arc::new(ModelJudge::new(models))),
    ];
    let own = own.map(|(name, analyzer)| (name.to_owned(), analyzer));
    let is_other = |(name, _): &(String, Arc<dyn SecurityAnalyzer>)| {
        ![RULES_ANALYZER, MODEL_ANALYZER].contains(&name.as_str())
    };
    for (name, analyzer) in own.into_iter().chain(others.into_iter().filter(is_other)) {
        let topic = topic::of_action(ActionKind::AssessRisk);
        let serve = Serve::new(&name).on(topic, KeyPattern::exact(&name));
        actions.serve_as(serve, Arc::new(AnalyzerResponder::new(analyzer)));
    }
}

#[cfg(feature = "settings")]
pub(crate) use of_settings::analyzers_of;

#[cfg(feature = "settings")]
mod of_settings {
    use std::sync::Arc;

    use agentx_config::{AnalyzerTarget, Settings};
    use agentx_runtime::SecurityAnalyzer;
    use agentx_tools::ProgramEnvironment;

    use crate::analyzer_program::ProgramAnalyzer;
    use crate::analyzer_server::ServerAnalyzer;
    use crate::node_parts::AnalyzerServices;

    /// The analyzers that the person's settings name. Programs get the variables of `environment`.
    pub(crate) fn analyzers_of(settings: &Settings, environment: &ProgramEnvironment) -> AnalyzerServices {
        let one = |target: &AnalyzerTarget| -> Arc<dyn SecurityAnalyzer> {
            match target {
                AnalyzerTarget::Program { command, args } => Arc::new(ProgramAnalyzer {
                    command: command.clone(),
                    args: args.clone(),
                    withheld: environment
                        .withheld()
                        .into_iter()
                        .map(|variable| variable.name)
                        .collect(),
                }),
                AnalyzerTarget::Address { url, headers } => Arc::new(ServerAnalyzer {
                    url: url.clone(),
                    headers: headers.clone(),
                }),
            }
        };
        let all = settings.analyzers.iter();
        all.map(|analyzer| (analyzer.name.clone(), one(&analyzer.target)))
            .collect()
    }
}
