//! Environments that send inputs by themselves.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use agentx_runtime::SystemBus;
use agentx_testing::{Gate, ModelScript, fixture};
use agentx_types::{ContentPart, EnvironmentEvent, InputMode, RunStatus, Source};

use crate::reactors::World;

#[tokio::test]
async fn an_environment_speaks_by_itself_and_is_taken_for_nobody_else() {
    let world = World::new([ModelScript::text("I close the window")]).await;
    let bus = SystemBus::of(&world.memory.parts);
    for (name, why) in [
        (
            "not a name",
            "the name `not a name` of an environment has ' ' in it: it may have ASCII letters, digits, `-` and `_`",
        ),
        (
            "",
            "the name of an environment is empty: it needs 1 to 40 letters, digits, `-` or `_`",
        ),
        (
            &"x".repeat(41),
            "the name of an environment has 41 characters; at most 40 are allowed",
        ),
    ] {
        assert_eq!(bus.ingress(name).unwrap_err().to_string(), why);
    }
    let sensor = bus.ingress("rain-sensor").unwrap();
    assert_eq!(sensor.sessions(), [fixture::session_id()]);
    let words = || vec![ContentPart::text("it rains")];
    let said = sensor
        .send(&sensor.sessions()[0], words(), InputMode::Queue)
        .await
        .unwrap();
    assert_eq!(world.finished(said).await, RunStatus::Completed);
    let facts = world.memory.log.facts(&fixture::session_id());
    let fact = facts.iter().find(|fact| fact.seq == said).unwrap();
    let by = match &fact.event {
        EnvironmentEvent::UserMessage(message) => message.by.as_ref().map(ToString::to_string),
        other => panic!("{other:?} is not an input"),
    };
    assert_eq!(
        (fact.source, by.as_deref()),
        (Source::Environment, Some("env_rain-sensor"))
    );
    let asked = world.memory.model.requests().remove(0);
    let read = asked.messages.last().unwrap().text();
    assert!(
        read.starts_with("<said_by_another_person") && read.contains("it rains"),
        "{read}"
    );

    world.session.close().await;
    assert!(sensor.sessions().is_empty());
    let gone = sensor
        .send(&fixture::session_id(), words(), InputMode::Queue)
        .await;
    assert!(gone.unwrap_err().to_string().contains("not open in this process"));
}

#[tokio::test]
async fn an_environment_floods_no_session() {
    let gate = Gate::closed();
    let world = World::new([ModelScript::text("slow").then_stall(&gate)]).await;
    let sensor = SystemBus::of(&world.memory.parts).ingress("sensor").unwrap();
    let say = || {
        let content = vec![ContentPart::text("it rains")];
        sensor.send(world.session.id(), content, InputMode::Queue)
    };
    say().await.unwrap();
    gate.reached().await;
    for _ in 0..64 {
        say().await.unwrap();
    }
    let refused = say().await.unwrap_err().to_string();
    assert!(refused.contains("64 waiting inputs"), "{refused}");
}
