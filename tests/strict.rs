//! Scripts in `--!strict` check against the type definitions that `agentx tools new` writes: by Luau's own
//! type checker, which is what editors ask. The examples, what `new` makes and what the docs show are free of
//! mistakes; and mistakes are found.
//!
//! Nothing of AgentX is linked here but what runs the program: two versions of Luau in one program would
//! meet.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use agentx_tests::workspace_root;
use luau_analyze::{Checker, Severity};

/// A checker that knows the definitions.
fn checker() -> Checker {
    let path = workspace_root().join("crates/luau-tools/src/luau/agentx.d.luau");
    let mut checker = Checker::new().unwrap();
    checker
        .add_definitions(&fs::read_to_string(path).unwrap())
        .unwrap();
    checker
}

/// The mistakes of a script, each with its line.
fn mistakes(script: &str) -> Vec<String> {
    let result = checker().check(script).unwrap();
    assert!(!result.timed_out && !result.cancelled);
    let wrong = result
        .diagnostics
        .iter()
        .filter(|one| one.severity == Severity::Error);
    wrong
        .map(|one| format!("{}: {}", one.line + 1, one.message))
        .collect()
}

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, all);
        } else {
            all.push(path);
        }
    }
}

/// The scripts in a text that say that they are strict: the whole of a `.luau`, blocks of a `.yaml`, `lua`
/// fences of a `.md`.
fn strict_scripts(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let strict = |script: &String| script.trim_start().starts_with("--!strict");
    let scripts = match path.extension().and_then(|ending| ending.to_str()) {
        Some("luau") => vec![text],
        Some("yaml") => blocks(&text),
        Some("md") => {
            let fences = text.split("```lua\n").skip(1);
            fences
                .filter_map(|rest| Some(rest.split_once("```")?.0.to_owned()))
                .collect()
        }
        _ => vec![],
    };
    scripts.into_iter().filter(strict).collect()
}

/// Returns the script below each `lua: |`, without its indentation.
fn blocks(yaml: &str) -> Vec<String> {
    let blocks = yaml.split("lua: |\n").skip(1);
    blocks
        .map(|rest| {
            let lines = rest.lines();
            let block = lines.take_while(|line| line.is_empty() || line.starts_with("  "));
            block.fold(String::new(), |text, line| {
                text + line.strip_prefix("  ").unwrap_or(line) + "\n"
            })
        })
        .collect()
}

/// No mistake in any strict script below the folder, of which there are so many at least.
fn all_are_right(folder: &Path, at_least: usize) {
    let mut paths = vec![];
    files(folder, &mut paths);
    let mut found = 0;
    for path in paths.iter().filter(|path| !path.ends_with("agentx.d.luau")) {
        for script in strict_scripts(path) {
            found += 1;
            let none: [String; 0] = [];
            assert_eq!(mistakes(&script), none, "{}", path.display());
        }
    }
    assert!(
        found >= at_least,
        "{found} strict scripts in {}",
        folder.display()
    );
}

#[test]
fn examples_and_what_the_docs_show_are_right() {
    all_are_right(&workspace_root().join("examples"), 2);
    all_are_right(&workspace_root().join("docs"), 1);
}

#[test]
fn what_is_written_for_a_new_tool_is_right_and_so_are_its_definitions() {
    let world = agentx_tests::World::new("http://127.0.0.1:9");
    for how in [
        &["tools", "new", "first"][..],
        &["tools", "new", "second", "--type", "yaml"],
    ] {
        world.run(how).exits(0);
    }
    all_are_right(&world.workspace(), 2);
    let mut paths = vec![];
    files(&world.workspace(), &mut paths);
    // An editor underlines what a linter says too.
    for script in paths.iter().flat_map(|path| strict_scripts(path)) {
        let said = checker().check(&script).unwrap().diagnostics;
        assert!(
            said.is_empty(),
            "{script}: {:?}",
            said.first().map(|one| &one.message)
        );
    }
    let written = paths.iter().find(|path| path.ends_with("agentx.d.luau")).unwrap();
    let shipped = workspace_root().join("crates/luau-tools/src/luau/agentx.d.luau");
    assert_eq!(fs::read(written).unwrap(), fs::read(shipped).unwrap());
}

#[test]
fn mistakes_are_found_at_their_lines() {
    let body = |line: &str| {
        format!(
            "--!strict\nfunction invoke(ctx: Ctx, args: {{ city: string }})\n  {line}\n  return nil\nend\n"
        )
    };
    for (line, says) in [
        ("ctx.nothing()", "nothing"),
        ("local n: number = ctx.http.get('https://a').body", "number"),
        ("local n: number = args.city", "number"),
        ("local x = args.town", "town"),
        ("ctx.sleep('long')", "number"),
        ("local n: number = ctx.generate('m', 'p')", "number"),
        (
            "local n: number = ctx.create_agent('a', {}):input('x').name",
            "number",
        ),
        ("ctx.create_agent('a', {}):shout()", "shout"),
        ("local n: number = rt:uuid()", "number"),
    ] {
        let found = mistakes(&body(line));
        assert!(
            found
                .iter()
                .any(|one| one.starts_with("3: ") && one.contains(says)),
            "{line}: {found:?}"
        );
    }
    for line in [
        "local n: number = ctx.http.get('https://a', { q = args.city }).status",
        "local s: string = ctx.generate_async('m', 'p'):await()",
        "for chunk, again in ctx.create_agent('a', {}):input('x'):iter() do ctx.emit(chunk) end",
        "ctx.state.seen = (ctx.state.seen or 0) + 1",
        "local a, b = ctx.await_all(ctx.async(function() return 1 end), ctx.invoke_async('t', {}))",
        "local json: Json = ctx.json; json.encode({ json.null, json.array({}) })",
        "local text, problem = rt:json_encode({}); rt:log(text, problem)",
        "local value, problem = rt:http({ url = 'https://a' }):await(); rt:output(value, problem)",
        "local helper = require('helper'); helper.go(ctx.now() + ctx.random(1, 6))",
    ] {
        let none: [String; 0] = [];
        assert_eq!(mistakes(&body(line)), none, "{line}");
    }
}
