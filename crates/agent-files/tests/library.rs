//! Files together: names, shadows, references by name and by path, circles, scripts; and the disk.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use agentx_agent_files::definition::{AgentUse, ContextLayer, ToolBody, ToolUse};
use agentx_agent_files::{
    DiskFiles, FileOrigin, Library, LibraryOptions, MemoryFiles, Root, RootLayout, Scaffold, ScriptCheck,
    ScriptFinding, scaffold,
};

use crate::support::{load, mistakes, roots};

#[test]
fn a_workspace_takes_no_name_of_the_persons_own_and_what_is_not_used_is_noted() {
    let library = load(&[
        ("u/agents/a.yaml", "name: a\nprompt: mine\n"),
        ("w/agents/x.json", "{\"name\": \"a\", \"prompt\": \"theirs\"}"),
        ("w/agents/b.yaml", "name: b\n"),
        ("u/generators/fast.yaml", "name: fast\nmodel: mine\n"),
        ("w/generators/fast.yaml", "name: fast\nmodel: theirs\n"),
        ("u/rules/r.yaml", "name: r\npatterns: [mine]\n"),
        ("w/rules/r.yaml", "name: r\npatterns: [theirs]\n"),
    ]);
    assert_eq!(mistakes(&library), "");
    let a = &library.agents()["a"];
    assert_eq!(
        (a.definition.prompt.as_deref(), a.origin),
        (Some("mine"), FileOrigin::User)
    );
    assert_eq!(library.agents()["b"].origin, FileOrigin::Workspace);
    assert_eq!(
        library.generators()["fast"].definition.model.as_deref(),
        Some("mine")
    );
    assert_eq!(library.rules()["r"].origin, FileOrigin::User);
    let shadow = &library.shadows()[0];
    assert_eq!(
        (shadow.used.to_str(), shadow.shadowed.to_str()),
        (Some("u/agents/a.yaml"), Some("w/agents/x.json"))
    );
}

#[test]
fn texts_of_a_workspace_take_no_place_of_the_persons_own() {
    let agent = |name: &str| {
        format!("name: {name}\ncontext_layers:\n  - $ref: context:house\n  - $ref: ../context/door.md\n")
    };
    let (ours, theirs) = (agent("ours"), agent("theirs"));
    let library = load(&[
        ("u/agents/ours.yaml", &ours),
        ("w/agents/theirs.yaml", &theirs),
        ("u/context/house.md", "my house"),
        ("w/context/house.md", "their house"),
        ("u/context/door.md", "my door"),
        ("w/context/door.md", "their door"),
    ]);
    assert_eq!(mistakes(&library), "");
    let texts = |name: &str| -> Vec<&str> {
        let layers = library.agents()[name].definition.context_layers.iter();
        layers
            .map(|layer| match layer {
                ContextLayer::Ref(name) => library.context(name).unwrap(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(texts("ours"), ["my house", "my door"]);
    assert_eq!(texts("theirs"), ["my house", "their door"]);
}

#[test]
fn mistakes_of_all_files_are_shown_by_file_and_place() {
    let library = load(&[
        (
            "w/agents/a.yaml",
            "name: a\ntools:\n  - $ref: tool:get_wether\n  - $ref: broken\n",
        ),
        ("w/agents/b.yaml", "name: a\n"),
        ("w/agents/c.yaml", "nme: c\n"),
        ("w/tools/broken.yaml", "name: broken\ntype: htp\n"),
        ("w/tools/get_weather.luau", "return 1"),
        ("w/tools/echo.yaml", "name: echo\n"),
        ("w/rules/r.luau", "ignored"),
        ("w/tools/types.d.luau", "ignored"),
    ]);
    let wanted = [
        "w/agents/a.yaml:3:11: there is no tool `get_wether`; did you mean `get_weather`?",
        "w/agents/b.yaml:1:1: `a` is already an agent of w/agents/a.yaml",
        "w/agents/c.yaml:1:1: `name` is missing: the display name",
        "w/agents/c.yaml:1:1: unknown key `nme`; did you mean `name`?",
        "w/tools/broken.yaml:2:7: `type`: expected one of built-in, luau, http, generator, composite, text_processor, found \"htp\"; did you mean `http`?",
        "w/tools/echo.yaml:1:1: `echo` is `type: built-in`, but there is no such built-in tool; set a `type` and its keys, such as `lua`",
    ];
    assert_eq!(mistakes(&library), wanted.join("\n"));
}

#[test]
fn what_stands_in_folders_below_and_is_not_referred_to_is_named() {
    let files = [
        (
            "w/agents/a.yaml",
            "name: a\ntools: [{$ref: ../tools/more/used.yaml}]\n",
        ),
        ("w/agents/team/b.yaml", "name: b\n"),
        ("w/agents/team/README.md", "about the team"),
        (
            "w/tools/more/used.yaml",
            "name: used\nlua_file: scripts/used.luau\n",
        ),
        ("w/tools/more/scripts/used.luau", "return 1"),
        ("w/tools/more/scripts/other.luau", "return 1"),
        ("w/tools/.git/c.yaml", "name: c\n"),
        ("w/notes/d.yaml", "name: d\n"),
    ];
    let wanted = ["w/agents/team/b.yaml", "w/tools/more/scripts/other.luau"];
    let library = load(&files);
    assert_eq!(mistakes(&library), "");
    let named = |library: &Library| -> Vec<String> {
        let all = library.passed_over().iter();
        all.map(|passed| passed.path.display().to_string()).collect()
    };
    assert_eq!(named(&library), wanted);

    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let roots = [Root {
        path: folder.path().join("w"),
        origin: FileOrigin::Workspace,
        layout: RootLayout::AgentX,
    }];
    let library = Library::load(&roots, &DiskFiles, LibraryOptions::default());
    let prefix = format!("{}/", folder.path().display());
    let below: Vec<String> = named(&library)
        .iter()
        .map(|path| path.replace(&prefix, ""))
        .collect();
    assert_eq!(below, wanted);
}

#[test]
fn references_lead_to_names_and_to_paths_within_the_root() {
    let library = load(&[
        (
            "w/agents/a.yaml",
            "name: a\ngenerator: {$ref: generator:fast, temperature: 1}\ncontext_layers:\n  - $ref: personality:friendly\n  - $ref: ../notes/n.md\n\
             tools: [{$ref: ../lib/t.yaml, quit: true}]\nagents: [{$ref: agent:b}, c]\n",
        ),
        (
            "w/agents/b.yaml",
            "type: match\nname: b\nrules: [{$ref: ../more/r.yaml}]\nroute: [{rules: [../more/r.yaml], agent: c}]\n",
        ),
        ("w/agents/c.yaml", "name: c\n"),
        ("w/more/r.yaml", "name: music\npatterns: [play]\n"),
        ("w/lib/t.yaml", "name: deep\nlua_file: scripts/t.luau\n"),
        ("w/lib/scripts/t.luau", "return 7"),
        ("w/notes/n.md", "a note"),
        ("u/context/personality/friendly.md", "be kind"),
        (
            "w/generators/fast.yaml",
            "model: small\nmax_output_tokens: 9\ntemperature: 0\n",
        ),
    ]);
    assert_eq!(mistakes(&library), "");
    let a = &library.agents()["a"].definition;
    assert_eq!(
        a.tools,
        [ToolUse::Ref {
            name: "deep".into(),
            quit: true
        }]
    );
    assert_eq!(a.agents, [AgentUse::Ref("b".into()), AgentUse::Ref("c".into())]);
    assert_eq!(library.context("personality:friendly"), Some("be kind"));
    assert_eq!(library.context("w/notes/n.md"), Some("a note"));
    let generator = library.generator(a.generator.as_ref().unwrap());
    assert_eq!(
        (
            generator.model.as_deref(),
            generator.temperature,
            generator.max_output_tokens
        ),
        (Some("small"), Some(1.0), Some(9))
    );
    let ToolBody::Luau(luau) = &library.tools()["deep"].definition.body else {
        panic!("no script")
    };
    assert_eq!(luau.lua.as_deref(), Some("return 7"));
    assert_eq!(library.agents()["b"].definition.route[0].rules, ["music"]);
}

#[test]
fn references_do_not_escape_and_circles_are_shown_with_their_path() {
    let library = load(&[
        (
            "w/agents/a.yaml",
            "name: a\nagents: [b]\ntools: [{$ref: ../../secret.yaml}, {$ref: /etc/x.yaml}]\n",
        ),
        (
            "w/agents/b.yaml",
            "type: match\nname: b\nrules: [{name: r, patterns: [x]}]\nroute: [{rules: [r], agent: {$ref: a}}]\ndefault: b\n",
        ),
        (
            "w/tools/t.yaml",
            "type: composite\nname: t\nsteps: [{id: a, tool: {$ref: ./u.yaml}}]\n",
        ),
        (
            "w/tools/u.yaml",
            "type: composite\nname: u\nsteps: [{id: a, tool: {$ref: t}}]\n",
        ),
        ("w/tools/s.yaml", "name: s\nlua_file: ../../s.lua\n"),
        ("w/tools/s2.yaml", "name: s2\nlua_file: none.lua\n"),
        (
            "w/agents/d.yaml",
            "name: d\ncontext_layers: [{$ref: \"a:../../../x\"}, {$ref: none}]\n",
        ),
        ("secret.yaml", "name: secret\n"),
        ("s.lua", "secret"),
    ]);
    let wanted = [
        "w/agents/a.yaml:2:10: circular references: a → b → a",
        "w/agents/a.yaml:3:16: `../../secret.yaml` is outside the folder of this file",
        "w/agents/a.yaml:3:43: `/etc/x.yaml` is outside the folder of this file",
        "w/agents/b.yaml:5:10: circular references: b → b",
        "w/agents/d.yaml:2:25: `a:../../../x` is outside the folder `context`",
        "w/agents/d.yaml:2:49: there is no context `none`; write it into `context/none.md`",
        "w/tools/s.yaml:2:11: `lua_file`: `../../s.lua` is outside the folder of this file",
        "w/tools/s2.yaml:2:11: `lua_file`: `none.lua`: there is no such file",
        "w/tools/t.yaml:3:30: circular references: t → u → t",
    ];
    assert_eq!(mistakes(&library), wanted.join("\n"));
}

#[test]
fn a_schema_may_be_in_a_file_of_its_own() {
    let library = load(&[
        ("w/agents/a.yaml", "name: a\noutput: ../schemas/n.json\n"),
        ("w/agents/b.yaml", "name: b\noutput: schemas/n.json\n"),
        ("w/agents/c.yaml", "name: c\noutput: ../../secret.json\n"),
        ("w/agents/d.yaml", "name: d\noutput: ../schemas/none.json\n"),
        ("w/agents/e.yaml", "name: e\noutput: ../schemas/list.json\n"),
        ("w/agents/f.yaml", "name: f\noutput: ../schemas/broken.json\n"),
        ("w/agents/g.yaml", "name: g\noutput: {type: number}\n"),
        ("w/schemas/n.json", r#"{"type": "object", "required": ["n"]}"#),
        ("w/schemas/list.json", "[]"),
        ("w/schemas/broken.json", "{"),
        ("secret.json", "{}"),
    ]);
    let wanted = [
        "w/agents/c.yaml:2:9: `output`: `../../secret.json`: it is outside the folder of this file",
        "w/agents/d.yaml:2:9: `output`: `../schemas/none.json`: there is no such file",
        "w/agents/e.yaml:2:9: `output`: `../schemas/list.json`: a JSON Schema is an object, `true` or `false`",
        "w/agents/f.yaml:2:9: `output`: `../schemas/broken.json`: this is not JSON: EOF while parsing an object at line 1 column 1",
    ];
    assert_eq!(mistakes(&library), wanted.join("\n"));
    let schema = |name: &str| library.agents()[name].definition.output.clone().unwrap();
    let wanted = serde_json::json!({"type": "object", "required": ["n"]});
    assert_eq!((schema("a"), schema("b")), (wanted.clone(), wanted));
    assert_eq!(schema("g"), serde_json::json!({"type": "number"}));
}

struct NoGoto;

impl ScriptCheck for NoGoto {
    fn check(&self, _: &str, source: &str) -> Result<(), ScriptFinding> {
        let found = source
            .lines()
            .enumerate()
            .find_map(|(line, text)| Some((line, text.find("goto")?)));
        found.map_or(Ok(()), |(line, column)| {
            Err(ScriptFinding {
                line: line as u64 + 1,
                column: column as u64 + 1,
                message: "there is no goto".into(),
            })
        })
    }
}

#[test]
fn mistakes_of_scripts_have_their_place_in_the_file() {
    let files: MemoryFiles = [
        (
            "w/tools/a.yaml",
            "name: a\nlua: |\n\n    local x = 1\n    x = goto\n",
        ),
        ("w/tools/b.yaml", "name: b\nlua: \"x = goto\"\n"),
        ("w/tools/c.luau", "--[[ words ]]\n  goto\n"),
        ("w/tools/d.yaml", "name: d\nlua_file: d.lua\n"),
        ("w/tools/d.lua", "\n goto\n"),
        (
            "w/agents/e.yaml",
            "name: e\ntools:\n  - name: inner\n    lua: |-\n      goto\n",
        ),
    ]
    .into_iter()
    .collect();
    let options = LibraryOptions {
        scripts: Some(&NoGoto),
        ..LibraryOptions::default()
    };
    let library = Library::load(&roots(), &files, options);
    let wanted = [
        "w/agents/e.yaml:5:7: there is no goto",
        "w/tools/a.yaml:5:9: there is no goto",
        "w/tools/b.yaml:2:11: there is no goto",
        "w/tools/c.luau:2:3: there is no goto",
        "w/tools/d.lua:2:2: there is no goto",
    ];
    assert_eq!(mistakes(&library), wanted.join("\n"));
}

#[test]
fn what_the_host_has_is_known() {
    let files: MemoryFiles = [(
        "w/agents/a.yaml",
        "name: a\ntools: [{$ref: bash}, {name: echo}]\nagents: [helper]\n",
    )]
    .into_iter()
    .collect();
    let options = LibraryOptions {
        tools: &["bash", "echo"],
        agents: &["helper"],
        ..LibraryOptions::default()
    };
    assert_eq!(mistakes(&Library::load(&roots(), &files, options)), "");
}

#[test]
fn the_disk_is_read_and_not_left() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join(".agentx");
    for what in [Scaffold::Agent, Scaffold::Tool] {
        for (path, text) in scaffold(what, "made").unwrap() {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    std::fs::write(folder.path().join("outside.yaml"), "secret: x\n").unwrap();
    let roots = [
        Root {
            path: root.clone(),
            origin: FileOrigin::Workspace,
            layout: RootLayout::AgentX,
        },
        Root {
            path: folder.path().join("missing"),
            origin: FileOrigin::User,
            layout: RootLayout::AgentX,
        },
    ];
    let library = Library::load(&roots, &DiskFiles, LibraryOptions::default());
    assert_eq!(mistakes(&library), "");
    assert_eq!((library.agents().len(), library.tools().len()), (1, 1));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../../outside.yaml", root.join("agents/link.yaml")).unwrap();
        std::fs::write(root.join("agents/bytes.yaml"), b"name: \xff\n").unwrap();
        let library = Library::load(&roots, &DiskFiles, LibraryOptions::default());
        let shown = mistakes(&library);
        assert!(
            shown.contains("link.yaml:1:1: it is outside its folder"),
            "{shown}"
        );
        assert!(
            shown.contains("bytes.yaml:1:7: it is not UTF-8 (byte 0xff here); save it as UTF-8"),
            "{shown}"
        );
        assert!(!shown.contains("secret"), "{shown}");
    }
}

#[test]
fn everything_that_is_made_is_right_and_a_wrong_name_is_refused() {
    for what in [
        Scaffold::Agent,
        Scaffold::Router,
        Scaffold::Tool,
        Scaffold::Script,
        Scaffold::Http,
    ] {
        let made = scaffold(what, "made").unwrap();
        let files: MemoryFiles = made
            .into_iter()
            .map(|(path, text)| (std::path::Path::new("w").join(path), text))
            .collect();
        let library = Library::load(&roots(), &files, LibraryOptions::default());
        assert_eq!(mistakes(&library), "", "{what:?}");
        assert_eq!(library.agents().len() + library.tools().len(), 1, "{what:?}");
        for name in ["", "../x", "a b", "a\nb", "a: b", "\""] {
            assert!(scaffold(what, name).is_err(), "{what:?} {name:?}");
        }
    }
}

#[test]
fn secrets_stay_references() {
    let text = "type: http\nname: t\nmethod: GET\nendpoint: https://h\nauth: {type: basic, token: \"me:${PASSWORD}\"}\nheaders: {Authorization: \"Bearer ${TOKEN}\"}\n";
    let library = load(&[("w/tools/t.yaml", text)]);
    assert_eq!(mistakes(&library), "");
    let shown = serde_json::to_string(&library.tools()["t"]).unwrap();
    assert!(
        shown.contains("${PASSWORD}") && shown.contains("${TOKEN}"),
        "{shown}"
    );
    let wrong = load(&[(
        "w/tools/t.yaml",
        &text
            .replace("${PASSWORD}", "hunter2")
            .replace("${TOKEN}", "hunter2"),
    )]);
    assert!(!format!("{wrong:?}").contains("hunter2"));
    assert_eq!(wrong.check().len(), 2, "{}", mistakes(&wrong));
}

#[test]
fn a_script_in_a_file_of_something_else_says_where_it_stands() {
    let library = load(&[
        (
            "w/tools/block.yaml",
            "name: block\nlua: |\n\n  function invoke()\n  end\n",
        ),
        (
            "w/tools/row.yaml",
            "name: row\ntype: composite\nsteps:\n  - id: a\n    tool: {name: a, lua: return 1}\n  - id: b\n    tool:\n      name: b\n      lua: |\n        return 1\n",
        ),
        (
            "w/tools/quoted.yaml",
            "name: quoted\nlua: \"return 1\\nreturn 2\"\n",
        ),
        ("w/tools/own.luau", "return 1"),
    ]);
    assert_eq!(mistakes(&library), "");
    let place = |body: &ToolBody| match body {
        ToolBody::Luau(luau) => luau.place.clone().map(|place| (place.file, place.line)),
        _ => None,
    };
    let body = |name: &str| library.tools()[name].definition.body.clone();
    assert_eq!(place(&body("block")), Some(("tools/block.yaml".into(), 3)));
    assert_eq!(place(&body("own")), Some(("tools/own.luau".into(), 1)));
    assert_eq!(
        place(&body("quoted")),
        None,
        "its lines are not lines of the file"
    );
    let ToolBody::Composite(row) = body("row") else {
        panic!("not a composite")
    };
    let lines: Vec<_> = row
        .steps
        .iter()
        .filter_map(|step| match &step.tool {
            ToolUse::Inline(tool) => place(&tool.body).map(|(_, line)| line),
            ToolUse::Ref { .. } => None,
        })
        .collect();
    assert_eq!(lines, [5, 10]);
    let shown = serde_json::to_string(&body("block")).unwrap();
    assert!(!shown.contains("place"), "{shown}");
}
