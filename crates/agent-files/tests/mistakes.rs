//! Every mistake names its position, the error and the likely intention; all mistakes of a file are shown
//! together.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::path::Path;

use agentx_agent_files::definition::ToolBody;
use agentx_agent_files::{DefinitionMistake, parse_agent, parse_rule, parse_tool};

/// Returns the mistakes in a text, a line each.
fn wrong<T: std::fmt::Debug>(parsed: Result<T, Vec<DefinitionMistake>>) -> String {
    let mistakes = parsed.unwrap_err();
    mistakes
        .iter()
        .map(DefinitionMistake::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

fn agent(text: &str) -> String {
    wrong(parse_agent(Path::new("a.yaml"), text))
}

fn tool(text: &str) -> String {
    wrong(parse_tool(Path::new("t.yaml"), text))
}

fn rule(text: &str) -> String {
    wrong(parse_rule(Path::new("r.yaml"), text))
}

#[test]
fn all_mistakes_of_an_agent_are_shown_at_once() {
    let text = "name: a\nprmpt: x\ngenerator:\n  modle: gpt-4o\n  temperature: 9\ntools:\n  - $ref: agent:x\n  - 7\nlimits:\n  timeout: 90\n";
    let shown = [
        "a.yaml:2:1: unknown key `prmpt`; did you mean `prompt`?",
        "a.yaml:4:3: `model` is missing: the model: an id, an alias, or `provider/id`",
        "a.yaml:4:3: unknown key `modle`; did you mean `model`?",
        "a.yaml:5:16: `temperature`: expected a number from 0 to 2, found 9",
        "a.yaml:7:11: `$ref`: `agent:x` is not a tool; write `tool:NAME`",
        "a.yaml:8:5: `tools`: expected `{$ref: …}` or a tool, found 7",
        "a.yaml:10:12: `timeout`: expected a time with a unit such as `90s`, `10m` or `1h30m`, found 90; did you mean `90s`?",
    ];
    assert_eq!(agent(text), shown.join("\n"));
}

#[test]
fn a_layer_of_memory_is_refused_and_not_ignored() {
    let says = "`$mem` is reserved: memory layers are not supported yet; remove this layer; the model reads the conversation anyway";
    let layers = "name: a\ncontext_layers:\n  - First.\n  - $mem: {recent: 3}\n";
    assert_eq!(agent(layers), format!("a.yaml:4:5: {says}"));
    let empty = "name: a\ncontext_layers:\n  - $mem:\n";
    assert_eq!(agent(empty), format!("a.yaml:3:5: {says}"));
    let of_tool = "name: t\ntype: generator\nprompt: Sum up.\ncontext_layers:\n  - $mem: {summary: true}\n";
    assert_eq!(tool(of_tool), format!("t.yaml:5:5: {says}"));
}

#[test]
fn agents_are_refused_for_their_reason() {
    let cases = [
        (
            "type: realtime\nname: a\n",
            "a.yaml:1:7: `type: realtime` is reserved and not supported yet; use `react` or `match`",
        ),
        (
            "type: raect\nname: a\n",
            "a.yaml:1:7: `type`: expected one of react, match, found \"raect\"; did you mean `react`?",
        ),
        ("name: a b\n", "a.yaml:1:7: `name`: expected a name of letters"),
        (
            "name: a\nmodel: m\ngenerator: m\n",
            "a.yaml:2:8: `model` is short for `generator: {model: …}`; set only one of them",
        ),
        (
            "name: a\ncontext_layers:\n  - $env: X\n    $this: .prompt\n",
            "a.yaml:3:5: `$this` and `$env` exclude each other: give exactly one",
        ),
        (
            "name: a\ncontext_layers:\n  - {}\n",
            "a.yaml:3:5: `context_layers`: expected text or `{$this: …}` or `{$ref: …}`",
        ),
        (
            "name: a\ncontext_layers:\n  - $this: .prompt\n",
            "a.yaml:3:12: `$this: .prompt`: this file has no `prompt`",
        ),
        (
            "name: a\ncontext_layers:\n  - $env: ${X}\n",
            "a.yaml:3:11: `$env`: expected the name of an environment variable",
        ),
        (
            "name: a\ntools:\n  - $ref: x\n  - $ref: tool:x\n",
            "a.yaml:4:5: `tools` contains `x` twice",
        ),
        (
            "name: a\nlimits: {max_agents: 3, max_depth: 2}\n",
            "a.yaml:2:10: unknown key `max_agents`",
        ),
        (
            "name: a\nlimits: {max_agents: 3, max_depth: 2}\n",
            "a.yaml:2:25: unknown key `max_depth`",
        ),
        (
            "name: a\nroute: []\n",
            "a.yaml:2:1: unknown key `route`; `route` belongs to `type: match`",
        ),
        (
            "type: match\nname: a\nrules: [$ref: play]\nroute:\n  - rules: [plai]\n    agent: {$ref: b}\n",
            "a.yaml:5:13: `plai` is not one of the `rules` of this agent; did you mean `play`?",
        ),
        ("type: match\nname: a\n", "a.yaml:1:1: `route` is missing"),
        ("name: a\nname: b\n", "a.yaml:2:1: "),
        (
            "- a\n",
            "a.yaml:1:1: `file`: expected keys and values, found a list",
        ),
        ("name: [\n", "a.yaml:"),
        (
            "name: 7\n",
            "a.yaml:1:7: `name`: expected text, found 7; quote it: \"7\"",
        ),
    ];
    for (text, wanted) in cases {
        let shown = agent(text);
        assert!(shown.contains(wanted), "{text}\n{shown}");
    }
}

fn refused(cases: &[(String, &str)]) {
    for (text, wanted) in cases {
        let shown = tool(text);
        assert!(shown.contains(wanted), "{text}\n{shown}");
        assert!(!shown.contains("very-secret"), "{shown}");
    }
}

#[test]
fn tools_are_refused_for_their_reason() {
    let http = "type: http\nname: t\nmethod: GET\nendpoint: https://h\n";
    let cases = [
        (
            "name: t\nendpoint: https://h\n".to_owned(),
            "t.yaml:2:1: unknown key `endpoint`; `endpoint` belongs to `type: http`",
        ),
        (
            "name: 天气\n".into(),
            "t.yaml:1:7: `name`: models accept names of ASCII letters",
        ),
        (
            format!("{http}resp_body_jq: .a | nonsense\n"),
            "t.yaml:5:20: jq: there is no filter `nonsense`",
        ),
        (
            format!("{http}resp_body_jq: \".a | map(.b\"\n"),
            "t.yaml:5:24: jq: expected closing parenthesis",
        ),
        (
            format!("{http}resp_body_jq: |\n  .a\n  | env\n"),
            "t.yaml:7:5: jq: `env` is not available",
        ),
        (
            format!("{http}auth: {{type: bearer, token: sk-very-secret}}\n"),
            "t.yaml:5:29: `token`: a secret is written here in plain text",
        ),
        (
            format!("{http}headers:\n  X-Api-Key: sk-very-secret\n"),
            "t.yaml:6:14: `headers.X-Api-Key`: a secret is written here in plain text",
        ),
        (
            format!("{http}headers:\n  A: ${{B\n"),
            "t.yaml:6:6: `headers.A`: a `${` without its `}`",
        ),
        (
            "type: http\nname: t\nmethod: get\nendpoint: https://h\n".into(),
            "did you mean `GET`?",
        ),
        (
            "type: http\nname: t\nmethod: GET\nendpoint: https://me:sk-very-secret@h\n".into(),
            "t.yaml:4:11: `endpoint`: an address must not contain a user or a password",
        ),
    ];
    refused(&cases);
}

#[test]
fn tools_of_other_kinds_are_refused_for_their_reason() {
    let cases = [(
        "type: generator\nname: t\nprompt: p\nmode: json_output\n".into(),
        "t.yaml:4:7: `mode: json_output` needs `output_schema`",
    )];
    refused(&cases);
}

#[test]
fn composite_and_further_tools_are_refused_for_their_reason() {
    let cases = [
        (
            "type: composite\nname: t\nsteps: []\n".into(),
            "t.yaml:3:8: `steps` is empty",
        ),
        (
            "type: composite\nname: t\nsteps:\n  - {id: a, tool: {$ref: x}}\n  - {id: a, tool: {$ref: x}}\n"
                .into(),
            "t.yaml:5:10: two steps have the id `a`",
        ),
        (
            "type: composite\nname: t\nsteps:\n  - {id: first, tool: {$ref: x}}\n  - {id: b, tool: {$ref: x}, \
             input_jq: '{q: .steps.frist.text}'}\n"
                .into(),
            "t.yaml:5:52: `.steps.frist`: no step has the id `frist`; did you mean `first`?",
        ),
        (
            "type: composite\nname: t\nsteps:\n  - {id: a, tool: {$ref: x}, input_jq: .steps.b}\n  - {id: b, tool: {$ref: x}}\n"
                .into(),
            "t.yaml:4:47: `.steps.b` is not available yet: a step can only read earlier steps",
        ),
        (
            "type: composite\nname: t\nsteps:\n  - {id: a, tool: {$ref: x}, input_jq: .city}\n".into(),
            "t.yaml:4:41: `.city` is always null: a step gets `{input, steps}`; did you mean `.input.city`?",
        ),
        (
            "name: t\nlua: x\nlua_file: y\n".into(),
            "t.yaml:1:1: `lua` and `lua_file`: only one of them may be set",
        ),
        (
            "type: luau\nname: t\n".into(),
            "t.yaml:1:1: `lua` and `lua_file`: one of them is needed",
        ),
        (
            "name: t\nparams:\n  city: {type: strng}\n".into(),
            "t.yaml:3:16: `type`: expected one of string",
        ),
        (
            "name: t\nparams:\n  city: {tpye: string}\n".into(),
            "t.yaml:3:10: unknown key `tpye` of the parameter `city`; did you mean `type`?",
        ),
        (
            "name: t\nparams:\n  n: {type: number, x-mcp-header: Count}\n".into(),
            "t.yaml:3:3: `params`: `n` has `x-mcp-header`, so its `type` must be `string`, `integer` or `boolean`",
        ),
        (
            "name: t\nparams:\n  n: {type: integer, default: x}\n".into(),
            "t.yaml:3:31: `default`: expected a value of type integer, found text",
        ),
        (
            "name: t\nparams:\n  n: {type: string, enum: [a], default: b}\n".into(),
            "t.yaml:3:41: `default` is not one of `enum`",
        ),
        (
            "name: t\nparams:\n  type: object\n  properties: {a: {type: string}}\n  required: [b]\n".into(),
            "t.yaml:5:13: `required` names `b`",
        ),
        (
            "name: t\nlua: x\nlimits: {memory: much}\n".into(),
            "t.yaml:3:18: `memory`: expected a number of bytes such as `65536` or `64 MiB`, found text",
        ),
        (
            "name: t\nlua: x\ncapabilities: {http: [https://h]}\n".into(),
            "t.yaml:3:23: `http`: expected a host",
        ),
    ];
    refused(&cases);
}

#[test]
fn rules_are_refused_for_their_reason() {
    let cases = [
        (
            "name: r\npatterns:\n  - 我想听 [title]\n",
            "r.yaml:3:9: `[title]` is not declared in `vars`",
        ),
        (
            "name: r\nvars: {title: {label: x}}\npatterns:\n  - a [titel] b\n",
            "r.yaml:4:7: `[titel]` is not declared in `vars`; did you mean `title`?",
        ),
        (
            "name: r\npatterns:\n  - a [b\n",
            "r.yaml:3:7: a `[` without its `]`",
        ),
        (
            "name: r\nvars: {a: {label: \"[a]\"}}\n",
            "r.yaml:2:19: `label` is shown in brackets",
        ),
        (
            "name: r\npatterns:\n  - \"a\\nb\"\n",
            "r.yaml:3:5: `patterns`: a pattern must be one line",
        ),
        (
            "name: r\npatterns:\n  - [a]\n",
            "r.yaml:3:5: `patterns`: a pair has two texts, this has 1",
        ),
        (
            "name: r\nvars: {a: {label: x, type: strng}}\n",
            "r.yaml:2:28: `type`: expected one of string, int, float, bool, found \"strng\"; did you mean `string`?",
        ),
        (
            "name: r\nexamples: [[a, b, c, d]]\n",
            "r.yaml:2:12: `examples`: expected one to three texts, found 4",
        ),
        (
            "name: r\nexamples: [[]]\n",
            "r.yaml:2:12: `examples`: expected one to three texts, found 0",
        ),
        (
            "name: r\nvars: {a: {lable: x}}\n",
            "r.yaml:2:12: unknown key `lable`; did you mean `label`?",
        ),
    ];
    for (text, wanted) in cases {
        let shown = rule(text);
        assert!(shown.contains(wanted), "{text}\n{shown}");
    }
}

#[test]
fn json_knows_its_places_too() {
    let json = "{\n  \"name\": \"a\",\n\t\"promt\": \"\\ud83d\\ude00\"\n}";
    assert_eq!(
        wrong(parse_agent(Path::new("a.json"), json)),
        "a.json:3:2: unknown key `promt`; did you mean `prompt`?"
    );
    let cases = [
        (
            "{\"name\": \"a\",}",
            "a.json:1:14: expected a key in quotes, found `}`",
        ),
        (
            "{\"name\": \"a\"",
            "a.json:1:13: expected `,` or `}`, found the end of the file",
        ),
        (
            "{\"name\": \"a\", \"name\": \"b\"}",
            "a.json:1:15: duplicate mapping key: name",
        ),
        ("{\"name\": \"a", "a.json:1:10: unclosed string"),
        ("{} x", "a.json:1:4: expected the end of the file, found `x`"),
        ("# no\n{}", "a.json:1:1: expected a value, found `#`"),
    ];
    for (text, wanted) in cases {
        let shown = wrong(parse_agent(Path::new("a.json"), text));
        assert!(shown.contains(wanted), "{text}\n{shown}");
    }
}

#[test]
fn bombs_depth_and_size_are_mistakes() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..9 {
        let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
    }
    assert!(!agent(&bomb).is_empty());
    let deep = format!("name: a\nprompt: {}{}\n", "[".repeat(5_000), "]".repeat(5_000));
    assert!(!agent(&deep).is_empty());
    let mut nested = "name: a\nagents:\n".to_owned();
    for depth in 0..60 {
        nested.push_str(&format!(
            "{}- name: a{depth}\n{}agents:\n",
            "  ".repeat(depth + 1),
            "  ".repeat(depth + 2)
        ));
    }
    nested.push_str(&format!("{}- $ref: b\n", "  ".repeat(62)));
    assert!(agent(&nested).contains("deep"), "{}", agent(&nested));
    let large = format!("name: a\nprompt: \"{}\"\n", "x".repeat(1 << 20));
    assert!(agent(&large).contains("at most 1048576 are read"));
    let script = format!("name: t\nlua: \"{}\"\n", "x".repeat(300 << 10));
    assert!(tool(&script).contains("at most 262144 are read"));
    let open = "[".repeat(100_000);
    assert!(wrong(parse_agent(Path::new("a.json"), &open)).contains("nested more than 40 deep"));
}

#[test]
fn the_short_form_of_parameters_is_a_schema() {
    let text = "name: t\nparams:\n  city: {type: string, description: 城市名}\n  days: {type: integer, optional: true}\n  unit: {type: string, enum: [c, f], default: c}\n  plain: string\nlua: x\n";
    let tool = parse_tool(Path::new("t.yaml"), text).unwrap();
    let wanted = serde_json::json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "城市名"},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "plain": {"type": "string"},
        },
        "additionalProperties": false,
        "required": ["city", "plain"],
    });
    assert_eq!(tool.input_schema(), wanted);
    assert!(matches!(tool.body, ToolBody::Luau(_)));
}

/// `params` with a `type` and another schema keyword is a JSON Schema, not a parameter named `type`.
#[test]
fn parameters_of_another_type_than_an_object_are_a_schema() {
    use serde_json::json;
    let schema = |params: &str| {
        let text = format!("name: t\nparams: {params}\nlua: x\n");
        parse_tool(Path::new("t.yaml"), &text).unwrap().input_schema()
    };
    for (params, wanted) in [
        (
            "{type: array, items: {type: string}}",
            json!({"type": "array", "items": {"type": "string"}}),
        ),
        (
            "{type: array, minItems: 1}",
            json!({"type": "array", "minItems": 1}),
        ),
        (
            "{type: array, items: true}",
            json!({"type": "array", "items": true}),
        ),
        (
            "{type: string, enum: [c, f]}",
            json!({"type": "string", "enum": ["c", "f"]}),
        ),
        (
            "{type: integer, description: A year, minimum: 1900}",
            json!({"type": "integer", "description": "A year", "minimum": 1900}),
        ),
    ] {
        assert_eq!(schema(params), wanted, "{params}");
    }
    for params in [
        "{type: array}",
        "{type: {type: array}}",
        "{type: string, enum: string}",
        "{type: string, items: {type: array}}",
        "{type: array, properties: {type: object}}",
        "{title: {type: string}, pattern: {type: string}}",
    ] {
        assert_eq!(schema(params)["type"], "object", "{params}");
    }
}

#[test]
fn the_forms_of_the_seed_load() {
    let agent = "type: react\nname: assistant\nprompt: |\n  你是一个有帮助的助手。\ngenerator:\n  model: gpt-4o\ntools:\n  - $ref: tool:get_weather\n  - $ref: tool:play_music\n";
    let agent = parse_agent(Path::new("a.yaml"), agent).unwrap();
    assert_eq!(
        agent.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(),
        ["get_weather", "play_music"]
    );
    let tool = "name: get_weather\ndescription: 查询天气\nparams:\n  city: { type: string, description: 城市名 }\nlua: |\n  function invoke(ctx, args)\n    local resp = ctx.http.get(\"https://api.weather.com\", {city = args.city})\n    return { temp = resp.data.temp }\n  end\n\n# 或引用外部文件\n# lua_file: scripts/get_weather.lua\n";
    let tool = parse_tool(Path::new("t.yaml"), tool).unwrap();
    let ToolBody::Luau(luau) = tool.body else {
        panic!("no script")
    };
    assert!(
        luau.lua
            .unwrap()
            .starts_with("function invoke(ctx, args)\n  local resp")
    );
}

#[test]
fn a_script_alone_says_the_rest_in_its_first_comment() {
    let parse = |text: &str| parse_tool(Path::new("tools/get_weather.luau"), text);
    let full = "--!strict\n-- 天气\n\n--[==[\ndescription: 查询天气\nparams:\n  city: string\ncapabilities:\n  http: [api.weather.com]\n]==]\nfunction invoke() end\n";
    let tool = parse(full).unwrap();
    assert_eq!(
        (tool.name.as_str(), tool.description.as_deref()),
        ("get_weather", Some("查询天气"))
    );
    let ToolBody::Luau(luau) = tool.body else {
        panic!("no script")
    };
    assert_eq!(luau.capabilities.http, ["api.weather.com"]);
    assert_eq!(luau.lua.as_deref(), Some(full));
    assert_eq!(parse("return 1").unwrap().description, None);
    let words = parse("--[[ Gives the weather, as: text ]]\nreturn 1").unwrap();
    assert_eq!(words.description.as_deref(), Some("Gives the weather, as: text"));
    let cases = [
        (
            "--!strict\n--[[\ndescripton: x\n]]\n",
            "tools/get_weather.luau:3:1: unknown key `descripton`; did you mean `description`?",
        ),
        (
            "--[[ descripton: x ]]\n",
            "tools/get_weather.luau:1:6: unknown key `descripton`",
        ),
        ("--[[\nname: t\nparams: [\n]]\n", "tools/get_weather.luau:"),
        (
            "--[[\nlua: x\n]]\n",
            "tools/get_weather.luau:2:1: `lua`: the script is this file",
        ),
        (
            "--[[\ntype: http\n]]\n",
            "tools/get_weather.luau:2:7: `type`: a script has `type: luau`",
        ),
    ];
    for (text, wanted) in cases {
        let shown = wrong(parse(text));
        assert!(shown.contains(wanted), "{text}\n{shown}");
    }
}

#[test]
fn headers_have_names_and_a_secret_that_is_a_number_is_not_repeated() {
    let http = |rest: &str| {
        tool(&format!(
            "name: t\ntype: http\nmethod: GET\nendpoint: https://x.example/\n{rest}"
        ))
    };
    assert_eq!(
        http("headers: {'a b': x}\n"),
        "t.yaml:5:11: `headers`: \"a b\" is not a header name; use letters, digits, `-` and `_`"
    );
    let shown = http("auth: {type: bearer, token: 123456}\n");
    assert!(
        shown.contains("5:29: `token`: expected a reference") && !shown.contains("123456"),
        "{shown}"
    );
}

#[test]
fn that_there_are_more_mistakes_is_said_last() {
    let keys: Vec<String> = (0..300).map(|i| format!("k{i}: 1")).collect();
    let shown = agent(&format!("{{name: a, {}}}", keys.join(", ")));
    let last = shown.lines().last().unwrap_or_default();
    assert!(
        last.contains("and more; the first 100 mistakes of a file are shown"),
        "{last}"
    );
    assert_eq!(shown.lines().count(), 101);
}
