//! Checks that need all files: invalid files, agents that are nested too deep, files that are not read,
//! schemas as a whole, granted tools.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use agentx_agent_files::{Library, LibraryOptions, MemoryFiles, SchemaCheck};

use crate::support::{load, mistakes, roots};

#[test]
fn what_is_no_text_says_where_and_what_to_do() {
    let files: MemoryFiles = [
        (
            "w/agents/a.yaml",
            b"name: a\nprompt: \xe4\xbd\xa0x \xff y\n".to_vec(),
        ),
        ("w/agents/wide.yaml", b"\xff\xfen\0a\0".to_vec()),
        (
            "w/agents/b.yaml",
            b"name: b\ncontext_layers: [{$ref: c}]\n".to_vec(),
        ),
        ("w/context/c.md", b"x\n\xff".to_vec()),
        ("w/tools/t.yaml", b"name: t\nlua_file: t.lua\n".to_vec()),
        ("w/tools/t.lua", b"return '\xff'".to_vec()),
        ("w/libs/m.luau", b"\nreturn '\xff'".to_vec()),
    ]
    .into_iter()
    .collect();
    let library = Library::load(&roots(), &files, LibraryOptions::default());
    let wanted = [
        "w/agents/a.yaml:2:12: it is not UTF-8 (byte 0xff here); save it as UTF-8",
        "w/agents/b.yaml:2:25: the context `c` cannot be read: context/c.md: 2:1: it is not UTF-8 (byte 0xff here); save it as UTF-8",
        "w/agents/wide.yaml:1:1: it is UTF-16; save it as UTF-8",
        "w/libs/m.luau:2:9: it is not UTF-8 (byte 0xff here); save it as UTF-8",
        "w/tools/t.yaml:2:11: `lua_file`: `t.lua`: 1:9: it is not UTF-8 (byte 0xff here); save it as UTF-8",
    ];
    assert_eq!(mistakes(&library), wanted.join("\n"));
}

#[test]
fn agents_that_lie_too_deep_are_a_mistake_at_the_reference_that_goes_too_far() {
    let chain = |levels: u32| {
        let refer = |i: u32| format!("name: a{i:02}\nagents:\n  - $ref: agent:a{:02}\n", i + 1);
        let mut files: Vec<(String, String)> = (0..levels)
            .map(|i| (format!("w/agents/a{i:02}.yaml"), refer(i)))
            .collect();
        files.push((
            format!("w/agents/a{levels:02}.yaml"),
            format!("name: a{levels:02}\n"),
        ));
        let files: MemoryFiles = files.into_iter().collect();
        mistakes(&Library::load(&roots(), &files, LibraryOptions::default()))
    };
    let most = agentx_types::MAX_AGENT_DEPTH;
    assert_eq!(chain(most), "");
    let shown = chain(most + 3);
    let names: Vec<String> = (2..=most + 3).map(|i| format!("a{i:02}")).collect();
    let wanted = "agents are nested more than 16 levels deep: ";
    assert_eq!(
        shown,
        format!("w/agents/a02.yaml:3:11: {wanted}{}", names.join(" → "))
    );

    // Definitions that are nested in each other count as well.
    let within = "name: a\nagents: [{name: b, agents: [{name: c, agents: [{$ref: 'agent:a00'}]}]}]\n";
    let mut files: Vec<(String, String)> = vec![("w/agents/a.yaml".into(), within.into())];
    files.extend((0..13).map(|i| {
        let text = format!("name: a{i:02}\nagents: [{{$ref: 'agent:a{:02}'}}]\n", i + 1);
        (format!("w/agents/a{i:02}.yaml"), text)
    }));
    files.push((
        "w/agents/a13.yaml".into(),
        "name: a13\nagents: [{name: last}]\n".into(),
    ));
    let load = |files: &[(String, String)]| {
        let files: MemoryFiles = files.iter().cloned().collect();
        mistakes(&Library::load(&roots(), &files, LibraryOptions::default()))
    };
    assert!(
        load(&files).starts_with("w/agents/a.yaml:2:55: agents are nested more than 16 levels deep"),
        "{}",
        load(&files)
    );
}

#[test]
fn a_script_beside_the_file_that_names_it_is_one_tool() {
    for endings in [["yaml", "luau"], ["json", "luau"]] {
        let [file, script] = endings.map(|ending| format!("w/tools/t.{ending}"));
        let text = r#"{"name": "t", "description": "d", "lua_file": "t.luau"}"#;
        let library = load(&[(&file, text), (&script, "return function() return 1 end")]);
        assert_eq!(mistakes(&library), "");
        assert_eq!(library.tools()["t"].file.display().to_string(), file);
    }
    let library = load(&[
        ("w/tools/t.yaml", "name: t\nlua: return 1\n"),
        ("w/tools/t.luau", "return 2"),
    ]);
    assert!(
        mistakes(&library).contains("`t` is already a tool of w/tools/t.luau"),
        "{}",
        mistakes(&library)
    );
}

#[test]
fn what_is_nearly_a_definition_is_named_with_why_it_is_not_read() {
    let library = load(&[
        ("w/agents/a.YAML", "name: a\n"),
        ("w/agents/b.yaml/c.txt", ""),
        ("w/agents/notes.txt", ""),
        ("w/tools/d.lua", "return 1"),
        ("w/tools/e.lua", "return 1"),
        ("w/tools/e.yaml", "name: e\nlua_file: e.lua\n"),
        ("w/tools/agentx.d.luau", ""),
    ]);
    assert_eq!(mistakes(&library), "");
    let named = library.passed_over().iter();
    let named: Vec<String> = named
        .map(|passed| format!("{}: {}", passed.path.display(), passed.why))
        .collect();
    let wanted = [
        "w/agents/a.YAML: its name must end with `.yaml`",
        "w/agents/b.yaml: it is a folder",
        "w/tools/d.lua: its name must end with `.luau`",
    ];
    assert_eq!(named, wanted);
}

struct NoPattern;

impl SchemaCheck for NoPattern {
    fn check(&self, schema: &serde_json::Value) -> Result<(), String> {
        if schema.to_string().contains("pattern") {
            Err("a pattern".into())
        } else {
            Ok(())
        }
    }
}

#[test]
fn schemas_are_looked_at_as_a_whole_and_tools_that_are_granted_must_be_there() {
    let files: MemoryFiles = [
        ("w/tools/p.yaml", "name: p\nlua: return 1\nparams: {s: {type: string, pattern: '('}}\n"),
        ("w/tools/o.yaml", "name: o\ntype: generator\nprompt: x\nmode: json_output\noutput_schema: {type: string, pattern: '('}\n"),
        ("w/agents/a.yaml", "name: a\ntools: [{name: inline, lua: return 1}]\n"),
        ("w/tools/q.yaml", "name: q\nlua: return 1\ncapabilities: {tools: [p, read, q, pp, 'gone_*', '*', inline]}\n"),
    ]
    .into_iter()
    .collect();
    let options = LibraryOptions {
        schemas: Some(&NoPattern),
        tools: &["read"],
        ..LibraryOptions::default()
    };
    let library = Library::load(&roots(), &files, options);
    let wanted = [
        "w/tools/o.yaml:5:16: `output_schema`: not a valid schema: a pattern",
        "w/tools/p.yaml:3:9: `params`: not a valid schema: a pattern",
        "w/tools/q.yaml:3:36: `tools`: there is no tool `pp`; did you mean `p`?",
    ];
    assert_eq!(mistakes(&library), wanted.join("\n"));
    let library = load(&[
        (
            "w/agents/a.yaml",
            "name: a\ntools: [{$ref: 'tool:t'}]\nagents: [{name: i, agents: [{$ref: 'agent:b'}]}]\n",
        ),
        ("w/agents/b.yaml", "name: b\nagents: [{$ref: 'agent:c'}]\n"),
        ("w/agents/c.yaml", "name: c\n"),
        ("w/tools/t.yaml", "name: t\nlua: return 1\n"),
    ]);
    let files = |agent| -> Vec<String> {
        let files = library.files_of(agent).into_iter();
        files
            .map(|file| file.file_stem().unwrap().to_string_lossy().into_owned())
            .collect()
    };
    assert_eq!(files("a"), ["a", "b", "c", "t"]);
    assert_eq!(files("c"), ["c"]);
}
