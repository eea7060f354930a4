//! Selects the branch of a V1 conversation that ends at its leaf. Each event names the one before it
//! (`parent_id`), so a conversation is a tree. Logs of earlier versions lack this field and are a single
//! line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::json;

/// The parent of the first event after a navigation to the beginning.
const ROOT: &str = "__root__";

/// Returns the events from the beginning to the leaf, and the number of all others.
///
/// The leaf is the named event, or the last one if none is named or the log does not contain it. An event
/// without a parent follows the one before it in the log.
pub(crate) fn of_leaf(events: Vec<Value>, leaf: &str) -> (Vec<Value>, usize) {
    if !events.iter().any(|event| json::id(event, "parent_id").is_some()) {
        return (events, 0);
    }
    let ids: Vec<Option<String>> = events.iter().map(|event| json::id(event, "id")).collect();
    let places: BTreeMap<&str, usize> = ids
        .iter()
        .enumerate()
        .filter_map(|(index, id)| Some((id.as_deref()?, index)))
        .collect();
    let mut kept = BTreeSet::new();
    let last = events.len().checked_sub(1);
    let mut next = places.get(leaf).copied().or(last);
    while let Some(index) = next {
        if !kept.insert(index) {
            break;
        }
        next = match json::id(&events[index], "parent_id").as_deref() {
            Some(ROOT) => None,
            // A parent that is missing or comes later would lose the events before it.
            Some(parent) => places
                .get(parent)
                .copied()
                .filter(|at| *at < index)
                .or(index.checked_sub(1)),
            None => index.checked_sub(1),
        };
    }
    let all = events.len();
    let branch: Vec<Value> = events
        .into_iter()
        .enumerate()
        .filter(|(index, _)| kept.contains(index))
        .map(|(_, event)| event)
        .collect();
    let others = all - branch.len();
    (branch, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(id: &str, parent: Option<&str>) -> Value {
        json!({"id": id, "parent_id": parent, "kind": "MessageEvent"})
    }

    #[track_caller]
    fn check(events: &[(&str, Option<&str>)], leaf: &str, expected: &str) {
        let events: Vec<Value> = events.iter().map(|(id, parent)| event(id, *parent)).collect();
        let all = events.len();
        let (branch, others) = of_leaf(events, leaf);
        let ids: String = branch.iter().map(|event| json::text(event, "id")).collect();
        assert_eq!((ids.as_str(), others), (expected, all - expected.len()));
    }

    #[test]
    fn the_branch_of_the_leaf_is_kept() {
        check(&[("a", None), ("b", None), ("c", None)], "", "abc");
        let forked = [
            ("a", None),
            ("b", Some("a")),
            ("c", Some("b")),
            ("d", Some("a")),
            ("e", Some("d")),
        ];
        check(&forked, "", "ade");
        check(&forked, "c", "abc");
        check(&forked, "gone", "ade");
        check(&[("a", None), ("b", Some("a")), ("c", Some("__root__"))], "", "c");
    }

    #[test]
    fn a_broken_tree_loses_nothing_before_the_break() {
        check(&[("a", None), ("b", Some("gone")), ("c", Some("b"))], "", "abc");
        check(&[("a", None), ("b", Some("b")), ("c", Some("c"))], "", "abc");
        check(&[("a", Some("b")), ("b", Some("a"))], "", "ab");
    }
}
