//! `agentx.d.luau` declares exactly the globals that scripts get.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeSet;

use crate::support::run;
use agentx_luau_tools::types;
use serde_json::{Value, json};

/// The fields of a type in the definitions.
fn declared(name: &str) -> BTreeSet<String> {
    let generic = if name == "Promise" { "<T>" } else { "" };
    let from = format!("\nexport type {name}{generic} = {{\n");
    let body = types()
        .split_once(&from)
        .unwrap_or_else(|| panic!("no type {name}"))
        .1;
    let body = body.split_once("\n}").unwrap().0;
    let fields = body.lines().map(str::trim).filter(|line| !line.starts_with("--"));
    fields
        .map(|line| line.split_once(':').unwrap().0.to_owned())
        .collect()
}

fn names(value: &Value) -> BTreeSet<String> {
    let names = value.as_array().into_iter().flatten();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Returns the content of a table in the script's environment.
async fn held(table: &str) -> BTreeSet<String> {
    let source = format!(
        "local __ = rt
function invoke(ctx)
  local names = {{}}
  for name in pairs({table}) do table.insert(names, name) end
  table.sort(names)
  return names
end"
    );
    let (result, _) = run(&source, json!({})).await;
    names(&result.unwrap())
}

#[tokio::test]
async fn tables_hold_what_is_declared_and_nothing_else() {
    for (table, name) in [
        ("ctx", "Ctx"),
        ("ctx.http", "Http"),
        ("ctx.kv", "Kv"),
        ("ctx.json", "Json"),
        ("rt", "Rt"),
    ] {
        assert_eq!(held(table).await, declared(name), "{name}");
    }
}

/// Returns those of the names that an object has.
async fn has(made: &str, names_of: &BTreeSet<String>) -> BTreeSet<String> {
    let source = format!(
        "function invoke(ctx, args)
  local object = {made}
  local found = {{}}
  for _, name in args.names do
    if object[name] ~= nil then table.insert(found, name) end
  end
  return found
end"
    );
    let (result, _) = run(&source, json!({"names": names_of})).await;
    names(&result.unwrap())
}

#[tokio::test]
async fn objects_have_what_is_declared() {
    for (made, name) in [
        ("ctx.create_agent('a', {})", "Agent"),
        ("ctx.http.get('https://x.test/')", "Response"),
        ("ctx.async(function() end)", "Promise"),
        ("rt:timeout(5)", "OldPromise"),
        ("rt:generate('m', {system = 's', messages = {}})", "Stream"),
        ("rt:transformer('t', {})", "BiStream"),
    ] {
        let wanted = declared(name);
        assert_eq!(has(made, &wanted).await, wanted, "{name}");
    }
}

/// A script cannot list the methods of objects; their names are in the text of the prelude.
#[test]
fn methods_that_are_there_are_declared() {
    let methods = |text: &str, table: &str| -> BTreeSet<String> {
        let (made, put) = (format!("\nfunction {table}."), format!("\n{table}."));
        let (functions, given) = (text.split(&made).skip(1), text.split(&put).skip(1));
        let name = |rest: &str| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            rest[..end.unwrap_or(rest.len())].to_owned()
        };
        functions.chain(given).map(name).collect()
    };
    let agents = methods(include_str!("../src/luau/ctx.luau"), "agents");
    assert!(agents.contains("send") && agents.contains("iter"), "{agents:?}");
    assert!(agents.is_subset(&declared("Agent")), "{agents:?}");
    let promises = methods(include_str!("../src/luau/scheduler.luau"), "methods");
    assert_eq!(promises, declared("Promise"));
}
