//! Agents that files describe: listed, looked at, and opened by their names.

use agentx::runtime::{Agents as _, NamedAgent, RuntimeError};
use agentx::types::ApprovalMode;
use agentx_testing::ModelScript;

use crate::place::Place;
use crate::place::guides::Guides;

pub(crate) async fn agents_of_files_are_those_of_the_runtime(place: Place) {
    assert_eq!(place.runtime.agents().await.unwrap(), Guides.list());
}

pub(crate) async fn a_session_is_opened_with_an_agent_by_its_name(place: Place) {
    let mut wanted = NamedAgent {
        approval: Some(ApprovalMode::Deny),
        system_prompt: Some("You guide slowly.".into()),
        workspace: Some(place.workspace().to_string_lossy().into_owned()),
        ..NamedAgent::new("guide")
    };
    wanted.limits.max_iterations = Some(Some(2));
    let shown = place.runtime.agent(&wanted).await.unwrap();
    assert_eq!(shown, Guides.resolve(&wanted).unwrap());
    let session = place.runtime.open_named(wanted.clone()).await.unwrap();
    let mut config = session.state().await.unwrap().config;
    // A server's rules are not a part of the agent that is asked for.
    config.server_rules = None;
    assert_eq!(config, Guides.resolve(&wanted).unwrap());
    let mut talk = place.talk(session).await;
    place.model.push(ModelScript::text("this way"));
    talk.say("where?").await;
    talk.ends().await;
    let request = place.runtime.context(talk.session.id(), None).await.unwrap();
    assert!(request.body.contains("You guide slowly."), "{}", request.body);
}

pub(crate) async fn an_agent_that_cannot_be_had_is_named(place: Place) {
    for name in ["gudie", "broken"] {
        let wanted = NamedAgent::new(name);
        let shown = place.runtime.agent(&wanted).await.unwrap_err();
        let opened = place.runtime.open_named(wanted).await.err().unwrap();
        assert_eq!(shown.to_string(), opened.to_string());
        match shown {
            RuntimeError::UnknownAgent { agent, nearest } => {
                assert_eq!((agent.as_str(), nearest), ("gudie", vec!["guide".to_owned()]));
            }
            RuntimeError::BadAgent { agent, what } => {
                assert_eq!(agent, "broken");
                // Paths on a server's disk are not reported.
                assert_eq!(
                    what.contains("agents/broken.yaml"),
                    place.remote.is_none(),
                    "{what}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
