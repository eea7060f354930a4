//! Agents and tools whose files have mistakes, as a person meets them: each mistake with its place, even if
//! the thing is used; and arguments that a tool does not take.
#![allow(clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;

const FILES: [(&str, &str); 6] = [
    (
        "agents/a.yaml",
        "type: react\nname: a\npromt: hi\ntools:\n  - $ref: tool:nowhere\n",
    ),
    (
        "agents/b.yaml",
        "type: react\nname: b\ntools:\n  - $ref: tool:script\n",
    ),
    (
        "tools/request.yaml",
        "name: request\ntype: http\ndescription: d\nmethod: GET\nendpoint: http://x.example/\nresp_body_jq: '.a | ['\n",
    ),
    (
        "tools/script.yaml",
        "name: script\ndescription: d\nlua: |\n  function invoke(ctx, args)\n    local x = = 1\n  end\n",
    ),
    (
        "tools/falls.yaml",
        "name: falls\ndescription: d\nlua: |\n  function invoke(ctx, args)\n\n    return args.a.b\n  end\n",
    ),
    (
        "tools/fine.yaml",
        "name: fine\ndescription: d\nparams: { n: integer }\nlua: |\n  function invoke(ctx, args) return args.n + 1 end\n",
    ),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in FILES {
        sandbox.write(&format!("ws/.agentx/{path}"), text);
    }
    sandbox
}

#[test]
fn every_mistake_has_its_place_and_is_told_where_the_thing_is_used() {
    let sandbox = sandbox();
    let ran = sandbox.run(&["agents", "check"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    for told in [
        "agents/a.yaml:3:1: unknown key `promt`; did you mean `prompt`?",
        "agents/a.yaml:5:11: there is no tool `nowhere`",
        "tools/request.yaml:6:21: jq: ",
        "tools/script.yaml:5:15: ",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {ran}");
    }
    let below = "ws/.agentx/tools/weather/fetch.luau";
    sandbox.write(below, "return 1");
    let ran = sandbox.run(&["--json", "agents", "check"]);
    assert!(
        ran.stderr.contains("tools/weather/fetch.luau is not read"),
        "{ran}"
    );
    let mistakes: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let first = &mistakes[0];
    assert!(
        first["file"].as_str().unwrap().ends_with("agents/a.yaml"),
        "{ran}"
    );
    assert_eq!(
        (first["line"].as_u64(), first["column"].as_u64()),
        (Some(3), Some(1))
    );
    assert_eq!(first["message"], "unknown key `promt`");
    assert_eq!(first["hint"], "did you mean `prompt`?");
    for (words, code, told) in [
        (
            &["tools", "run", "script"][..],
            3,
            "the file of tool \"script\" has errors",
        ),
        (&["tools", "show", "request"], 3, "tools/request.yaml:6:21: jq: "),
        (
            &["agents", "show", "b"],
            3,
            "agent \"b\": the file of its tool \"script\" has mistakes",
        ),
        (
            &["run", "--agent", "a", "hi"],
            3,
            "agents/a.yaml:3:1: unknown key `promt`",
        ),
    ] {
        let ran = sandbox.run(words);
        assert_eq!(ran.code, Some(code), "{ran}");
        assert!(ran.stderr.contains(told), "{told}: {ran}");
    }
    for list in ["agents", "tools"] {
        let ran = sandbox.run(&[list, "list"]);
        assert!(ran.stderr.contains("warning: the files have 4 mistakes"), "{ran}");
    }
}

#[test]
fn an_agent_is_not_run_without_what_its_files_could_not_say() {
    let sandbox = Sandbox::new();
    for (path, text) in [
        ("generators/cold.yaml", "model: scripted\ntemperatur: 0\n"),
        (
            "rules/hello.yaml",
            "name: hello\npaterns: [hello]\npatterns: [hi]\n",
        ),
        (
            "agents/calm.yaml",
            "name: calm\nprompt: x\ngenerator: { $ref: \"generator:cold\" }\n",
        ),
        (
            "agents/door.yaml",
            "type: match\nname: door\nrules: [{ $ref: \"rule:hello\" }]\nroute:\n  - rules: [hello]\n    agent: { name: host, prompt: x }\n",
        ),
    ] {
        sandbox.write(&format!("ws/.agentx/{path}"), text);
    }
    for (agent, lacks, place) in [
        (
            "calm",
            "the file of its generator \"cold\" has mistakes",
            "generators/cold.yaml:2:1: unknown key `temperatur`; did you mean `temperature`?",
        ),
        (
            "door",
            "the file of its rule \"hello\" has mistakes",
            "rules/hello.yaml:2:1: unknown key `paterns`; did you mean `patterns`?",
        ),
    ] {
        let ran = sandbox.run(&["run", "--agent", agent, "hi"]);
        assert_eq!(ran.code, Some(3), "{ran}");
        assert!(ran.stderr.contains(lacks) && ran.stderr.contains(place), "{ran}");
    }
}

#[test]
fn what_a_tool_came_to_says_why() {
    let sandbox = sandbox();
    for (words, code, told) in [
        (&["fine", r#"{"n": 1}"#][..], 0, "2\n"),
        (
            &["fine", r#"{"n": "x"}"#],
            1,
            "fine: the arguments do not fit: at /n: \"x\" is not of type \"integer\"\n",
        ),
        (
            &["fine"],
            1,
            "fine: the arguments do not fit: \"n\" is a required property\n",
        ),
        (
            &["falls"],
            1,
            "tools/falls.yaml:6: attempt to index nil with 'b'\n",
        ),
    ] {
        let words: Vec<&str> = ["tools", "run"].iter().chain(words).copied().collect();
        let ran = sandbox.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), told), "{ran}");
    }
}

#[test]
fn what_no_key_says_is_found_too() {
    let sandbox = Sandbox::new();
    for (path, text) in [
        (
            "tools/bash.yaml",
            "name: bash\ndescription: d\nlua: return function() end\n",
        ),
        (
            "tools/odd.yaml",
            "name: odd\ndescription: d\nparams: { s: { type: string, pattern: '([' } }\nlua: return function() end\n",
        ),
        ("libs/bad.luau", "\nreturn {"),
        ("tools/fine.luau", "function invoke(ctx) return 1 end"),
        (
            "tools/uses.luau",
            "function invoke(ctx) return require('bad') end",
        ),
        ("agents/far.yaml", "name: far\nmodel: no-such-model\nprompt: x\n"),
    ] {
        sandbox.write(&format!("ws/.agentx/{path}"), text);
    }
    let ran = sandbox.run(&["tools", "check"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    for told in [
        "tools/bash.yaml:1:1: the tool `bash` cannot be used: a built-in tool has this name",
        "tools/odd.yaml:3:9: `params`: not a valid schema: at /properties/s/pattern: ",
        "libs/bad.luau:2:1: ",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {ran}");
    }
    assert!(
        ran.stderr
            .contains("far.yaml cannot be used on this machine: agent \"far\": there is no model"),
        "{ran}"
    );
    assert!(ran.stderr.contains("3 mistakes in 3 files"), "{ran}");
    let ran = sandbox.run(&["tools", "run", "fine"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "1\n"), "{ran}");
    let ran = sandbox.run(&["tools", "run", "uses"]);
    assert!(
        ran.code == Some(1) && ran.stdout.contains("libs/bad.luau:2: "),
        "{ran}"
    );
    let ran = sandbox.run(&["tools", "run", "odd", r#"{"s": "x"}"#]);
    assert!(
        ran.stderr.contains("the file of tool \"odd\" has errors"),
        "{ran}"
    );
}

#[test]
fn names_of_parameters_that_a_vendor_refuses_are_noted() {
    let sandbox = Sandbox::new();
    let odd = "name: odd\ndescription: d\nparams: { 'two words': string, fine: string }\nlua: return function() end\n";
    sandbox.write("ws/.agentx/tools/odd.yaml", odd);
    let ran = sandbox.run(&["tools", "check"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let told = crate::common::squeezed(&ran.stderr);
    assert!(
        told.contains("refuses these names of parameters of odd: [\"two words\"];"),
        "{ran}"
    );
}

#[test]
fn what_a_script_says_while_it_is_tried_is_told_beside_its_result() {
    let sandbox = Sandbox::new();
    let script = "function invoke(ctx)
  ctx.emit('one ')
  ctx.emit({ medium = 'story', text = 'two\\27[2J' })
  print('three', 4)
  ctx.log('warn', 'five')
  return 6
end";
    sandbox.write("ws/.agentx/tools/says.luau", script);
    let ran = sandbox.run(&["tools", "run", "says"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "6\n"), "{ran}");
    assert!(
        ran.stderr.contains("one two\ninfo: three 4\nwarn: five\n"),
        "{ran}"
    );
    let script = "--[[\ncapabilities: { agents: ['*'] }\n]]\nfunction invoke(ctx) return ctx.create_agent('x', {}):input('y'):collect() end";
    sandbox.write("ws/.agentx/tools/kid.luau", script);
    let ran = sandbox.run(&["tools", "run", "kid"]);
    assert!(ran.stdout.contains("agents are made inside a session"), "{ran}");
}

#[test]
fn a_tool_that_asks_no_model_runs_where_there_is_none() {
    let sandbox = Sandbox::new().env("AGENTX_MODEL", "nosuch");
    sandbox.write("ws/.agentx/tools/six.luau", "function invoke(ctx) return 6 end");
    let ran = sandbox.run(&["tools", "run", "six"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "6\n"), "{ran}");
    assert!(!ran.stderr.contains("without a model"), "{ran}");
    let asks = "--[[\ncapabilities: { models: ['*'] }\n]]\nfunction invoke(ctx) return ctx.generate('nosuch', 'hello') end";
    sandbox.write("ws/.agentx/tools/asks.luau", asks);
    let ran = sandbox.run(&["tools", "run", "asks"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(
        ran.stderr.contains("note: asks ran without a model: ") && ran.stderr.contains("nosuch"),
        "{ran}"
    );
}

#[test]
fn a_run_and_a_chat_say_which_files_are_broken() {
    let sandbox = sandbox();
    for args in [&["run", "hello"][..], &["chat"]] {
        let ran = sandbox.run_with_input(args, "hello\n");
        assert_eq!(ran.code, Some(0), "{ran}");
        let told = ran.stderr.matches("warning: ").count();
        assert!(
            told == 3 && ran.stderr.contains("agents/a.yaml:3:1: unknown key `promt`"),
            "{ran}"
        );
        assert!(ran.stderr.contains("`agentx agents check` shows"), "{ran}");
    }
}
