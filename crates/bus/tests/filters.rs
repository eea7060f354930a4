//! Filters and topic patterns against oracles that are too simple to be wrong.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::support::{Event, read_all};
use agentx_bus::{Bus, Filter, Queue, TopicPattern};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const TYPES: [&str; 3] = ["text_delta", "tool_call", "error"];
const IDS: [&str; 3] = ["one", "two", "three"];

/// The rule of patterns, written as it is documented: segment by segment, from the front.
fn oracle_matches(pattern: &[&str], topic: &[&str]) -> bool {
    match (pattern, topic) {
        (["**"], _) => true,
        ([], []) => true,
        (["*", pattern @ ..], [_, topic @ ..]) => oracle_matches(pattern, topic),
        ([literal, pattern @ ..], [segment, topic @ ..]) => {
            literal == segment && oracle_matches(pattern, topic)
        }
        _ => false,
    }
}

/// A clause as plain lists.
#[derive(Clone, Debug)]
struct Wish {
    types: Vec<&'static str>,
    topics: Vec<String>,
    sessions: Vec<&'static str>,
    agent_states: Vec<&'static str>,
    runs: Vec<&'static str>,
}

impl Wish {
    fn filter(&self) -> Filter {
        let mut filter = Filter::all();
        filter = self
            .types
            .iter()
            .fold(filter, |filter, name| filter.event_type(name));
        filter = self
            .topics
            .iter()
            .fold(filter, |filter, topic| filter.topic(topic.parse().unwrap()));
        filter = self.sessions.iter().fold(filter, |filter, id| filter.session(id));
        filter = self
            .agent_states
            .iter()
            .fold(filter, |filter, id| filter.agent_state(id));
        self.runs.iter().fold(filter, |filter, id| filter.run(id))
    }

    fn wants(&self, event: &Event) -> bool {
        let named = |names: &[&str], name: Option<&str>| {
            names.is_empty() || name.is_some_and(|name| names.contains(&name))
        };
        let topic: Vec<_> = event.topic.split('.').collect();
        let on_topic = |pattern: &String| oracle_matches(&pattern.split('.').collect::<Vec<_>>(), &topic);
        named(&self.types, Some(event.event_type))
            && (self.topics.is_empty() || self.topics.iter().any(on_topic))
            && named(&self.sessions, event.session)
            && named(&self.agent_states, event.agent_state)
            && named(&self.runs, event.run)
    }
}

prop_compose! {
    fn topics()(segments in vec(select(vec!["tools", "llm", "requests"]), 1..4)) -> String {
        segments.join(".")
    }
}

prop_compose! {
    fn patterns()(
        mut segments in vec(select(vec!["tools", "llm", "requests", "*"]), 0..4),
        rest in any::<bool>(),
    ) -> String {
        if rest || segments.is_empty() {
            segments.push("**");
        }
        segments.join(".")
    }
}

prop_compose! {
    fn events()(
        event_type in select(TYPES.to_vec()),
        topic in topics(),
        session in option::of(select(IDS.to_vec())),
        agent_state in option::of(select(IDS.to_vec())),
        run in option::of(select(IDS.to_vec())),
    ) -> Event {
        Event { number: 0, event_type, topic, session, agent_state, run }
    }
}

prop_compose! {
    fn wishes()(
        types in vec(select(TYPES.to_vec()), 0..3),
        topics in vec(patterns(), 0..3),
        sessions in vec(select(IDS.to_vec()), 0..3),
        agent_states in vec(select(IDS.to_vec()), 0..2),
        runs in vec(select(IDS.to_vec()), 0..2),
    ) -> Wish {
        Wish { types, topics, sessions, agent_states, runs }
    }
}

proptest! {
    #[test]
    fn a_pattern_matches_what_the_oracle_says(pattern in patterns(), topic in topics()) {
        let expected = oracle_matches(
            &pattern.split('.').collect::<Vec<_>>(),
            &topic.split('.').collect::<Vec<_>>(),
        );
        let parsed: TopicPattern = pattern.parse().unwrap();
        prop_assert_eq!(parsed.matches(&topic), expected);
        prop_assert_eq!(parsed.to_string(), pattern);
        prop_assert!(TopicPattern::exact(&topic).matches(&topic));
        let below = topic.clone() + ".more";
        prop_assert!(TopicPattern::under(&topic).matches(&below));
    }

    #[test]
    fn any_text_is_a_pattern_or_an_error(text in "[a.*]{0,8}", topic in topics()) {
        if let Ok(pattern) = text.parse::<TopicPattern>() {
            pattern.matches(&topic);
            prop_assert_eq!(pattern.to_string(), text);
        }
    }

    #[test]
    fn a_filter_wants_what_any_of_its_clauses_wants(
        wishes in vec(wishes(), 1..4),
        events in vec(events(), 1..16),
    ) {
        let filter = wishes.iter().map(Wish::filter).reduce(Filter::or).unwrap();
        let bus = Bus::new();
        let mut reader = bus.subscribe("reader", filter.clone(), Queue::lag(16)).unwrap();
        let mut expected = Vec::new();
        for (number, event) in events.into_iter().enumerate() {
            let event = Event { number: number as u32, ..event };
            let wanted = wishes.iter().any(|wish| wish.wants(&event));
            prop_assert_eq!(filter.matches(&event), wanted);
            expected.extend(wanted.then(|| number.to_string()));
            bus.try_publish(event).unwrap();
        }
        prop_assert_eq!(read_all(&mut reader), expected.join(" "));
    }
}
