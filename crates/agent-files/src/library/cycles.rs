//! Finds cycles of agents that create each other, and of tools that are steps of each other, because their
//! setup would never end; and agents that are nested too deep.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::MAX_AGENT_DEPTH;

use crate::keys::file_kind::FileKind;
use crate::keys::key_tables::RefKind;
use crate::library::loading::{LoadedFile, Loading};
use crate::mistake::DefinitionMistake;

/// From an entry to others, each with the reference that leads there.
type Edges = BTreeMap<usize, Vec<(usize, usize)>>;

/// Finds each cycle once, and reports its whole path at its start.
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
    for path in chains(loading, &edges) {
        report_chain(loading, &path);
    }
}

/// The depth below an entry, and the reference that leads there.
type Depth = (u32, Option<(usize, usize)>);

/// Returns the chains of agents that are nested too deep, each from the innermost agent beyond the limit.
/// Members of a cycle have no depth.
fn chains(loading: &Loading<'_>, edges: &Edges) -> Vec<Vec<(usize, usize)>> {
    let mut callers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut waits: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, leads) in edges {
        waits.insert(*index, leads.len());
        for (target, _) in leads {
            callers.entry(*target).or_default().push(*index);
        }
    }
    let leaves = waits.iter().filter(|(_, count)| **count == 0);
    let mut ready: Vec<usize> = leaves.map(|(index, _)| *index).collect();
    let mut depths = BTreeMap::new();
    let mut found = Vec::new();
    while let Some(index) = ready.pop() {
        let (depth, lead) = depth_of(loading, index, edges, &depths);
        depths.insert(index, (depth, lead));
        let is_agent = |entry: &LoadedFile| entry.kind == FileKind::Agent;
        let inner = lead.and_then(|(target, _)| depths.get(&target));
        let goes_too_far =
            depth > MAX_AGENT_DEPTH && inner.is_some_and(|(inner, _)| *inner <= MAX_AGENT_DEPTH);
        if goes_too_far && loading.entries.get(index).is_some_and(is_agent) {
            found.push(chain(index, &depths));
        }
        for caller in callers.get(&index).into_iter().flatten() {
            if let Some(count) = waits.get_mut(caller) {
                *count -= 1;
                if *count == 0 {
                    ready.push(*caller);
                }
            }
        }
    }
    found
}

fn depth_of(loading: &Loading<'_>, index: usize, edges: &Edges, depths: &BTreeMap<usize, Depth>) -> Depth {
    let Some(entry) = loading.entries.get(index) else {
        return Depth::default();
    };
    let findings = &entry.read.findings;
    let leads = edges.get(&index).into_iter().flatten().map(|(target, link)| {
        let around = findings.links.get(*link).map_or(0, |link| link.depth);
        let inside = depths.get(target).map_or(0, |(depth, _)| *depth);
        let depth = around.saturating_add(1).saturating_add(inside);
        (depth, Some((*target, *link)))
    });
    let own = (findings.agents, None);
    leads.chain([own]).max_by_key(|(depth, _)| *depth).unwrap_or(own)
}

/// Returns the deepest chain below an entry, each with the reference that leads on.
fn chain(from: usize, depths: &BTreeMap<usize, Depth>) -> Vec<(usize, usize)> {
    let mut path = Vec::new();
    let mut at = Some(from);
    while let Some(index) = at {
        let lead = depths.get(&index).and_then(|(_, lead)| *lead);
        path.push((index, lead.map_or(0, |(_, link)| link)));
        at = lead.map(|(target, _)| target);
    }
    path
}

fn report_chain(loading: &mut Loading<'_>, path: &[(usize, usize)]) {
    let names = names(loading, path).join(" → ");
    let message = format!("agents are nested more than {MAX_AGENT_DEPTH} levels deep: {names}");
    place(loading, path, message);
}

fn edges(loading: &Loading<'_>) -> Edges {
    let mut edges = Edges::new();
    for (index, entry) in loading.entries.iter().enumerate() {
        let links = entry.read.findings.links.iter().enumerate();
        let leads = links.filter_map(|(number, link)| {
            let name = entry.renamed.get(&link.name).unwrap_or(&link.name);
            let target = loading.names.get(&(link.kind, name.clone()))?;
            // An agent's tool is not needed to make the agent itself.
            let same = entry.kind.reference() == link.kind;
            (same && matches!(link.kind, RefKind::Agent | RefKind::Tool)).then_some((*target, number))
        });
        edges.insert(index, leads.collect());
    }
    edges
}

/// Walks depth first without recursion, because a chain may be as long as there are files.
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
    let mut names = names(loading, path);
    names.extend(names.first().cloned());
    let message = format!("circular references: {}", names.join(" → "));
    place(loading, path, message);
}

fn names(loading: &Loading<'_>, path: &[(usize, usize)]) -> Vec<String> {
    let name = |(index, _): &(usize, usize)| {
        let entry = loading.entries.get(*index);
        entry.map(|entry| entry.read.name.clone()).unwrap_or_default()
    };
    path.iter().map(name).collect()
}

/// Reports it at the reference with which the path begins.
fn place(loading: &mut Loading<'_>, path: &[(usize, usize)], message: String) {
    let Some((first, link)) = path.first().copied() else {
        return;
    };
    let Some(entry) = loading.entries.get_mut(first) else {
        return;
    };
    let Some(at) = entry.read.findings.links.get(link).map(|link| link.at) else {
        return;
    };
    let mistake = DefinitionMistake::new(&entry.source.file, at, message);
    entry.read.findings.mistakes.push(mistake);
}
