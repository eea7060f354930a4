//! Agents that make each other, tools that are steps of each other: a circle would never be set up to its end.

use std::collections::{BTreeMap, BTreeSet};

use crate::loading::Loading;
use crate::mistake::Mistake;
use crate::shape::RefKind;

/// From an entry to others, each with the reference that leads there.
type Edges = BTreeMap<usize, Vec<(usize, usize)>>;

/// Finds each circle once, and says its whole path where it begins.
pub(crate) fn find(loading: &mut Loading<'_>) {
    let edges = edges(loading);
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for start in 0..loading.entries.len() {
        walk(start, &edges, &mut done, &mut found);
    }
    for path in found {
        report(loading, &path);
    }
}

fn edges(loading: &Loading<'_>) -> Edges {
    let mut edges = Edges::new();
    for (index, entry) in loading.entries.iter().enumerate() {
        let links = entry.read.findings.links.iter().enumerate();
        let leads = links.filter_map(|(number, link)| {
            let name = entry.renamed.get(&link.name).unwrap_or(&link.name);
            let target = loading.names.get(&(link.kind, name.clone()))?;
            // A tool of an agent is no part of the agent's own making.
            let same = entry.kind.reference() == link.kind;
            (same && matches!(link.kind, RefKind::Agent | RefKind::Tool)).then_some((*target, number))
        });
        edges.insert(index, leads.collect());
    }
    edges
}

/// Depth first, without calling itself: a chain may be as long as there are files.
fn walk(start: usize, edges: &Edges, done: &mut BTreeSet<usize>, found: &mut Vec<Vec<(usize, usize)>>) {
    if done.contains(&start) {
        return;
    }
    // Each entry of the path with the reference that is being followed.
    let mut path: Vec<(usize, usize)> = vec![(start, 0)];
    let mut on_path = BTreeSet::from([start]);
    while let Some((index, next)) = path.last().copied() {
        let Some((target, _)) = edges.get(&index).and_then(|leads| leads.get(next)).copied() else {
            path.pop();
            on_path.remove(&index);
            done.insert(index);
            if let Some(last) = path.last_mut() {
                last.1 += 1;
            }
            continue;
        };
        if on_path.contains(&target) {
            let from = path.iter().position(|(index, _)| *index == target).unwrap_or(0);
            let circle = path.iter().skip(from).filter_map(|(index, next)| {
                let (_, link) = edges.get(index)?.get(*next)?;
                Some((*index, *link))
            });
            found.push(circle.collect());
        } else if !done.contains(&target) {
            path.push((target, 0));
            on_path.insert(target);
            continue;
        }
        if let Some(last) = path.last_mut() {
            last.1 += 1;
        }
    }
}

fn report(loading: &mut Loading<'_>, path: &[(usize, usize)]) {
    let name = |(index, _): &(usize, usize)| {
        loading
            .entries
            .get(*index)
            .map(|entry| entry.read.name.clone())
            .unwrap_or_default()
    };
    let mut names: Vec<String> = path.iter().map(name).collect();
    names.extend(path.first().map(name));
    let Some((first, link)) = path.first().copied() else {
        return;
    };
    let Some(entry) = loading.entries.get_mut(first) else {
        return;
    };
    let Some(at) = entry.read.findings.links.get(link).map(|link| link.at) else {
        return;
    };
    let message = format!("references go in a circle: {}", names.join(" → "));
    let mistake = Mistake::new(&entry.source.file, at, message);
    entry.read.findings.mistakes.push(mistake);
}
