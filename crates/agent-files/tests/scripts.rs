//! Scripts and schemas are checked before anything runs: missing libraries, scripts without an entry point,
//! invalid values of schema keywords.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::path::Path;

use agentx_agent_files::{
    DefinitionMistake, FileOrigin, Library, LibraryOptions, MemoryFiles, Root, RootLayout, parse_tool,
};

fn load(files: &[(&str, &str)]) -> Library {
    let files: MemoryFiles = files.iter().map(|(path, text)| (*path, *text)).collect();
    let root = |path: &str, origin| Root {
        path: path.into(),
        origin,
        layout: RootLayout::AgentX,
    };
    let roots = [root("w", FileOrigin::Workspace), root("u", FileOrigin::User)];
    Library::load(&roots, &files, LibraryOptions::default())
}

fn shown(mistakes: &[DefinitionMistake]) -> String {
    let lines: Vec<String> = mistakes.iter().map(DefinitionMistake::to_string).collect();
    lines.join("\n")
}

#[test]
fn a_library_that_is_not_there_is_named_where_it_is_required() {
    let library = load(&[
        ("w/libs/text.luau", "local web = require('wbe')\nreturn {}"),
        ("w/libs/web/init.luau", "return require(\"web/part\")"),
        ("w/libs/web/part.luau", "return 1"),
        ("u/libs/text.luau", "return require('shadowed')"),
        ("u/libs/own.luau", "return 2"),
        ("w/libs/notes.txt", "require('x')"),
        (
            "w/tools/a.luau",
            "local a, b = require('text'), require(\"own\")\nfunction invoke(ctx)\n  return require(\"txt\")\nend",
        ),
        (
            "w/tools/b.yaml",
            "name: b\nlua: |\n  -- require('not seen')\n  local up = require('../up')\n  return function() end\n",
        ),
        ("w/tools/c.yaml", "name: c\nlua_file: c.lua\n"),
        ("w/tools/c.lua", "\nreturn require('gone')"),
    ]);
    let wanted = [
        "w/libs/text.luau:1:13: `require`: there is no `libs/wbe.luau`; did you mean `web`?",
        "w/tools/a.luau:3:10: `require`: there is no `libs/txt.luau`; did you mean `text`?",
        "w/tools/b.yaml:4:14: `require`: \"../up\" is outside `libs/`",
        "w/tools/c.lua:2:8: `require`: there is no `libs/gone.luau`",
    ];
    assert_eq!(shown(library.check()), wanted.join("\n"));
    let there: Vec<&str> = library.libraries().keys().map(String::as_str).collect();
    assert_eq!(there, ["own.luau", "text.luau", "web/init.luau", "web/part.luau"]);
}

#[test]
fn a_script_in_which_nothing_is_called_is_a_mistake() {
    let library = load(&[
        (
            "w/tools/a.luau",
            "--[[ words ]]\nfunction invok(ctx, args)\n  return 1\nend",
        ),
        ("w/tools/b.yaml", "name: b\nlua: local x = 1\n"),
        (
            "w/tools/c.yaml",
            "name: c\nlua: |\n  local x = rt:input()\n  rt:output(x)\n",
        ),
    ]);
    let wanted = [
        "w/tools/a.luau:2:10: `invok` is never called: a tool is `function invoke(ctx, args)`",
        "w/tools/b.yaml:2:6: this script has no entry point: write `function invoke(ctx, args)`",
    ];
    assert_eq!(shown(library.check()), wanted.join("\n"));
}

#[test]
fn schemas_are_read_word_by_word() {
    let text = "name: t\nparams:\n  type: object\n  properties:\n    n: {type: integer, minimum: \"a\", multipleOf: 0}\n    \
                c: {type: string, maxLength: -1, pattern: 7}\n    d: {enum: x}\n    \
                e: {anyOf: [{type: strin}], uniqueItems: 1}\n    f: {type: number, exclusiveMinimum: 0.5, x-mine: [1]}\n\
                lua: return f\n";
    let mistakes = parse_tool(Path::new("t.yaml"), text).unwrap_err();
    let wanted = [
        "t.yaml:5:33: `minimum`: expected a number, found text",
        "t.yaml:5:50: `multipleOf`: expected a number above 0, found 0",
        "t.yaml:6:34: `maxLength`: expected a whole number from 0, found -1",
        "t.yaml:6:47: `pattern`: expected text, found 7",
        "t.yaml:7:15: `enum`: expected a list of values, found text",
        "t.yaml:8:24: `type`: expected one of string, number, integer, boolean, array, object, null, found \"strin\"; \
         did you mean `string`?",
        "t.yaml:8:46: `uniqueItems`: expected true or false, found 1",
    ];
    assert_eq!(shown(&mistakes), wanted.join("\n"));
}
