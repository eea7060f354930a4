//! Bounds on a schema itself, before it is compiled.

use std::collections::HashMap;

use agentx_types::MAX_SCHEMA_BYTES;
use serde_json::{Map, Value};

use super::graph::{Edge, Graph};

/// Maximum number of schemas reachable from the top, each counted as often as it is reached.
const MAX_SCHEMAS: u64 = 50_000;
/// Maximum nesting of schemas, through `$ref` too.
const MAX_DEPTH: usize = 64;
/// Maximum number of regular expressions in a schema.
const MAX_PATTERNS: usize = 100;

/// The state of a schema during the count.
#[derive(Clone, Copy)]
enum Known {
    /// It is being counted. `inside` is the number of steps into the value so far.
    Open { inside: usize },
    /// The number of schemas that are reached from it, itself included, and how deep they nest.
    Counted { schemas: u64, depth: usize },
}

/// Checks the bounds of a schema.
///
/// # Errors
/// Returns an error that names the bound.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    check_bytes(schema)?;
    let graph = Graph::new(schema);
    let mut count = Count {
        graph: &graph,
        known: HashMap::new(),
        same_place: HashMap::new(),
        patterns: 0,
    };
    let (schemas, _) = count.schema(schema, 0, 0)?;
    if schemas > MAX_SCHEMAS {
        return Err(format!(
            "it would be looked at in more than {MAX_SCHEMAS} places, through `$ref` too, which is the limit"
        ));
    }
    count.check_loops()
}

fn check_bytes(schema: &Value) -> Result<(), String> {
    match agentx_types::json_len(schema, MAX_SCHEMA_BYTES) {
        Some(_) => Ok(()),
        None => Err(format!(
            "it is larger than {} KiB, which is the limit",
            MAX_SCHEMA_BYTES >> 10
        )),
    }
}

struct Count<'g, 'a> {
    graph: &'g Graph<'a>,
    known: HashMap<*const Value, Known>,
    /// For each schema, those that apply to the same place of a value.
    same_place: HashMap<*const Value, Vec<*const Value>>,
    patterns: usize,
}

impl<'a> Count<'_, 'a> {
    /// The number of schemas from now on, and how deep they nest.
    fn schema(&mut self, schema: &'a Value, inside: usize, depth: usize) -> Result<(u64, usize), String> {
        let Some(fields) = schema.as_object() else {
            return Ok((1, 1));
        };
        match self.known.get(&std::ptr::from_ref(schema)) {
            Some(Known::Counted {
                schemas,
                depth: below,
            }) => {
                check_depth(depth.saturating_add(*below))?;
                return Ok((*schemas, *below));
            }
            Some(Known::Open { inside: before }) if *before == inside => return Err(LOOP.to_owned()),
            Some(Known::Open { .. }) => return Ok((1, 1)),
            None => check_depth(depth)?,
        }
        self.check_keywords(fields)?;
        self.known.insert(schema, Known::Open { inside });
        let edges = self.graph.edges(fields)?;
        let same: Vec<_> = edges.iter().filter(|edge| edge.same_place).collect();
        let same = same.iter().map(|edge| std::ptr::from_ref(edge.schema)).collect();
        self.same_place.insert(schema, same);
        let (mut schemas, mut deepest) = (1u64, 0);
        for Edge { schema, same_place } in edges {
            let inside = inside + usize::from(!same_place);
            let (below, levels) = self.schema(schema, inside, depth + 1)?;
            let times = if same_place && looks_twice(fields) { 2 } else { 1 };
            schemas = schemas.saturating_add(below.saturating_mul(times));
            deepest = deepest.max(levels);
        }
        let depth = deepest + 1;
        self.known.insert(schema, Known::Counted { schemas, depth });
        Ok((schemas, depth))
    }

    fn check_keywords(&mut self, fields: &Map<String, Value>) -> Result<(), String> {
        let moves = ["$id", "id"]
            .iter()
            .any(|key| fields.get(*key).is_some_and(Value::is_string));
        if moves && !self.graph.is_root(fields) {
            return Err("an `$id` below the top is not supported".into());
        }
        let by_name = fields.get("patternProperties").and_then(Value::as_object);
        self.patterns += usize::from(fields.contains_key("pattern")) + by_name.map_or(0, Map::len);
        if self.patterns > MAX_PATTERNS {
            return Err(format!(
                "it has more than {MAX_PATTERNS} patterns, which is the limit"
            ));
        }
        Ok(())
    }

    /// Checks that no schema leads back to itself at the same place of a value.
    fn check_loops(&self) -> Result<(), String> {
        // Whether a schema is done; one with `false` is on the current path.
        let mut done: HashMap<*const Value, bool> = HashMap::new();
        for start in self.same_place.keys() {
            let mut way = vec![(*start, false)];
            while let Some((schema, is_left)) = way.pop() {
                if is_left {
                    done.insert(schema, true);
                    continue;
                }
                match done.get(&schema) {
                    Some(true) => continue,
                    Some(false) => return Err(LOOP.to_owned()),
                    None => done.insert(schema, false),
                };
                way.push((schema, true));
                let next = self.same_place.get(&schema).into_iter().flatten();
                let next = next.filter(|next| done.get(*next) != Some(&true));
                way.extend(next.map(|next| (*next, false)));
            }
        }
        Ok(())
    }
}

const LOOP: &str = "a `$ref` leads back to itself without going into the value";

/// Returns whether a validator visits the schemas for the same place twice, to find unevaluated parts.
pub(super) fn looks_twice(fields: &Map<String, Value>) -> bool {
    fields.contains_key("unevaluatedProperties") || fields.contains_key("unevaluatedItems")
}

fn check_depth(depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!(
            "it nests deeper than {MAX_DEPTH} schemas, through `$ref` too, which is the limit"
        ));
    }
    Ok(())
}
