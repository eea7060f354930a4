//! docs/LIBRARY.md lists every type of event with its topic, because a subscriber filters by them.

use std::collections::BTreeSet;

use agentx::types::{Action, EnvironmentEvent, RuntimeEvent, Vocabulary as _, topic};

use crate::markdown::{quoted, read, rows, section};
use crate::none;
use crate::protocol::golden;

const HEADING: &str = "### Events and topics";

#[test]
fn every_type_of_event_is_listed_with_its_topic() {
    let page = read("docs/LIBRARY.md");
    let listed: Vec<(Vec<String>, Vec<String>)> = rows(section(&page, HEADING))
        .iter()
        .map(|row| (quoted(&row[0]), quoted(&row[1])))
        .collect();
    let facts = golden("environment");
    let facts = facts
        .iter()
        .map(|line| serde_json::from_value::<EnvironmentEvent>(line.clone()).unwrap());
    let mut wrong = BTreeSet::new();
    for fact in facts {
        let (tag, topic) = (fact.tag().to_owned(), topic::of_environment(&fact).to_owned());
        if !listed
            .iter()
            .any(|(topics, tags)| topics.contains(&topic) && tags.contains(&tag))
        {
            wrong.insert(format!("the fact {tag} of the topic {topic}"));
        }
    }
    for tag in RuntimeEvent::TAGS {
        if !listed
            .iter()
            .any(|(tags, _)| tags.iter().any(|listed| listed == tag))
        {
            wrong.insert(format!("the meaning {tag}"));
        }
    }
    for line in golden("whole_action") {
        let kind = serde_json::from_value::<Action>(line).unwrap().body.kind();
        let tag = serde_json::to_value(kind).unwrap();
        let (tag, topic) = (
            tag.as_str().unwrap().to_owned(),
            topic::of_action(kind).to_owned(),
        );
        if !listed
            .iter()
            .any(|(topics, tags)| topics.contains(&topic) && tags.contains(&tag))
        {
            wrong.insert(format!("the action {tag} of the topic {topic}"));
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    none(&wrong, "docs/LIBRARY.md does not list");
}
