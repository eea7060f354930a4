//! Frames of a connection, facts of a log and our other JSON: a value that was read is written so that it
//! reads as the same value.

use std::fmt::Debug;

use agentx_types::wire::{ClientFrame, ServerNotice};
use agentx_types::{
    Action, AgentConfig, AgentOutput, ConfigChange, Envelope, EnvironmentEvent, Message, RuntimeEvent,
    UiEvent,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The first byte says which type the rest is read as.
pub fn check(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    match kind % 10 {
        0 => again::<ClientFrame>(text),
        1 => again::<ServerNotice>(text),
        2 => again::<Envelope<EnvironmentEvent>>(text),
        3 => again::<Envelope<RuntimeEvent>>(text),
        4 => again::<Envelope<UiEvent>>(text),
        5 => again::<AgentOutput>(text),
        6 => again::<Action>(text),
        7 => again::<AgentConfig>(text),
        8 => again::<ConfigChange>(text),
        _ => again::<Message>(text),
    }
}

fn again<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) {
    let Ok(value) = serde_json::from_str::<T>(text) else {
        return;
    };
    let written = match serde_json::to_string(&value) {
        Ok(written) => written,
        Err(error) => panic!("what was read cannot be written: {error}: {value:?}"),
    };
    match serde_json::from_str::<T>(&written) {
        Ok(same) => {
            assert_eq!(same, value, "{written}");
            assert_eq!(serde_json::to_string(&same).ok(), Some(written));
        }
        Err(error) => panic!("what was written cannot be read: {error}: {written}"),
    }
}
