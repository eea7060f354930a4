//! Sessions with several models: a fallback in mid-run, four protocols in one session, an answer that has to
//! fit a schema, and a recorded session that decides otherwise.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{
    AnswerPart, Anthropic, ChatServer, Dialect, GeminiServer, ModelAnswer, ResponsesServer,
};
use serde_json::{Value, json};

use crate::common::Sandbox;
use crate::model::{Model, Part};
use crate::stage::{Stage, World};
use crate::steps::{COLUMNS, Steps, say};

fn run(command: &str) -> Part {
    Part::Call("bash", json!({ "command": command }))
}

fn overloaded() -> Vec<Part> {
    let error = json!({ "type": "overloaded_error", "message": "Overloaded" });
    let body = json!({ "type": "error", "error": error });
    vec![Part::Refuse("529 Overloaded\r\nretry-after: 1", body)]
}

/// Two providers, each with a model; the second one is the fallback.
fn with_fallback(world: &World, fallback: &Model) {
    let model = |name: &str, provider: &str, prices: &str| {
        format!(
            "  {name}:\n    provider: {provider}\n    id: {name}-1\n    context_window: 200000\n    \
             max_output_tokens: 8000\n    prices: {{ {prices} }}\n"
        )
    };
    let provider = |name: &str, url: &str| {
        format!("  {name}:\n    api: anthropic\n    base_url: {url}\n    api_key: ${{OPAL_KEY}}\n")
    };
    world.sandbox.config(&format!(
        "model: opal\nfallbacks: [flint]\nproviders:\n{}{}models:\n{}{}",
        provider("stone", &world.address()),
        provider("slate", &fallback.url),
        model("opal", "stone", "input: 3.00, output: 15.00"),
        model("flint", "slate", "input: 1.00, output: 5.00"),
    ));
}

#[test]
fn a_fallback_in_mid_run() {
    let flint = Model::start(vec![
        vec![Part::Say("I read the table.".into()), run("grep noon tides.txt")],
        vec![Part::Say("High tide is at noon.".into())],
    ]);
    let world = World::configured(
        vec![
            vec![Part::Say("I look what is there.".into()), run("ls *.txt")],
            overloaded(),
            overloaded(),
            vec![Part::Say("You are welcome.".into())],
        ],
        "",
    );
    with_fallback(&world, &flint);
    world.write("tides.txt", "low at six\nhigh at noon\n");
    let mut steps = Steps::of(&world).with_costs();
    let mut chat = Stage::chat(&world, &["--yes"], COLUMNS);
    say(&mut chat, "when is high tide?", "High tide is at noon.");
    assert_eq!(
        (world.requests(), flint.requests()),
        (3, 2),
        "two refusals, then the other"
    );
    assert!(flint.asked(0).contains("tides.txt"), "{}", flint.asked(0));
    say(&mut chat, "thank you", "You are welcome.");
    assert_eq!(
        (world.requests(), flint.requests()),
        (4, 2),
        "the next run begins with the own model"
    );
    chat.leave();
    chat.each_once([
        "I look what is there.",
        "stone/opal did not answer (overloaded: ",
        "asking slate/flint until this run ends",
        "I read the table.",
        "High tide is at noon.",
        "You are welcome.",
    ]);
    steps.chat("two refusals, a fallback, and the next run", &mut chat);
    let id = chat.id_to_resume();
    steps.ran(&world.run(&["show", &id]));
    let switch = steps.events(&world, &id, "fallback_asked");
    assert!(switch.contains("slate/flint is asked"), "{switch}");
    for by in ["model", "cause"] {
        let usage = world.run(&["usage", "--by", by]);
        assert!(by == "cause" || usage.stdout.contains("flint-1"), "{usage}");
        steps.ran(&usage);
    }
    steps.check("a_fallback_in_mid_run");
}

/// Answers a question with a command, and its result with the name of who speaks.
fn works(who: &'static str) -> impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static {
    move |request: &Value| {
        let lists = [&request["messages"], &request["input"], &request["contents"]];
        let list = lists.into_iter().find_map(Value::as_array);
        let items = list.map(Vec::as_slice).unwrap_or_default();
        let last = items.last().map(Value::to_string).unwrap_or_default();
        let results = [
            "\"tool_result\"",
            "\"function_call_output\"",
            "\"functionResponse\"",
            "\"role\":\"tool\"",
        ];
        if results.iter().any(|result| last.contains(result)) {
            return ModelAnswer::text(&format!("{who} has seen it."));
        }
        ModelAnswer::default().then(AnswerPart::Call {
            id: format!("call_{who}_{}", items.len()),
            name: "bash".into(),
            input: json!({ "command": format!("echo the word of {who}") }),
        })
    }
}

/// The servers of Claude, Sol, Gemini and Groq, and a world whose settings name them.
async fn four_vendors() -> ([StrictServer; 4], World) {
    let servers = [
        StrictServer::anthropic(Anthropic::new(), works("Claude")).await,
        StrictServer::responses(ResponsesServer::new(), works("Sol")).await,
        StrictServer::gemini(GeminiServer::new(), works("Gemini")).await,
        StrictServer::chat(ChatServer::new(Dialect::Groq), works("Groq")).await,
    ];
    let keys = [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GOOGLE_API_KEY",
        "GROQ_API_KEY",
    ];
    let sandbox = keys.into_iter().fold(Sandbox::within("/tmp"), |sandbox, key| {
        sandbox.env(key, "made-up-key")
    });
    sandbox.config(&format!(
        "model: anthropic/claude-opus-5-5\nproviders:\n  anthropic: {{base_url: '{}'}}\n  \
         openai: {{api: openai-responses, base_url: '{}/v1'}}\n  google: {{base_url: '{}'}}\n  \
         groq: {{base_url: '{}/v1'}}\n",
        servers[0].url(),
        servers[1].url(),
        servers[2].url(),
        servers[3].url(),
    ));
    (servers, World::of(sandbox))
}

#[test]
fn four_protocols_in_one_session() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (servers, world) = runtime.block_on(four_vendors());
    let mut steps = Steps::of(&world);
    let mut chat = Stage::chat(&world, &["--yes"], COLUMNS);
    let others = [
        ("openai", "gpt-6-sol", "Sol"),
        ("google", "gemini-3.8-flash", "Gemini"),
        ("groq", "made-up-instruct", "Groq"),
    ];
    say(&mut chat, "what do you see?", "Claude has seen it.");
    for (provider, model, who) in others {
        say(
            &mut chat,
            &format!("/model {provider}/{model}"),
            &format!("now using {model}"),
        );
        say(
            &mut chat,
            &format!("and you, {who}?"),
            &format!("{who} has seen it."),
        );
    }
    chat.leave();
    for server in &servers {
        server.refused_nothing();
        let requests = server.requests();
        let asked = requests.iter().filter(|request| request.method == "POST");
        assert_eq!(asked.count(), 2, "a call and an answer");
    }
    let last = servers[3].requests().last().unwrap().json().to_string();
    for who in ["Claude", "Sol", "Gemini", "Groq"] {
        assert!(last.contains(&format!("the word of {who}")), "{who}: {last}");
    }
    steps.chat("a question to each", &mut chat);
    let id = chat.id_to_resume();
    steps.ran(&world.run(&["show", &id]));
    let replayed = world.run(&["replay", &id]);
    assert_eq!(replayed.code, Some(0), "{replayed}");
    steps.check("four_protocols_in_one_session");
}

#[test]
fn a_typed_answer_after_two_refused_attempts() {
    let world = World::of_demo();
    let said = ["three", r#"{"n": "three"}"#, r#"Here you are: {"n": 3}"#];
    let answers = said.iter().enumerate();
    let answers: String = answers
        .map(|(index, words)| format!("- nth: {}\n  say: '{words}'\n", index + 1))
        .collect();
    world.sandbox.write("home/answers.yaml", &answers);
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
    world.write("schema.json", schema);
    let file = world.sandbox.path("home/answers.yaml");
    let settings = format!("model: demo\nscripted_answers: {}\n", file.display());
    world.sandbox.config(&settings);
    let mut steps = Steps::of(&world);
    let ran = world.run(&["run", "--schema", "schema.json", "count"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\"n\":3}\n"), "{ran}");
    steps.ran(&ran);
    let id = world.sandbox.latest_id([]);
    let verdicts = steps.events(&world, &id, "answer_checked");
    assert_eq!(
        verdicts.lines().count(),
        3,
        "two refusals and the end: {verdicts}"
    );
    assert!(verdicts.contains("is not JSON"), "{verdicts}");
    steps.ran(&world.run(&["show", &id]));
    steps.check("a_typed_answer_after_two_refused_attempts");
}

/// A text with each id of 12 letters and each time of the log put as if it was the same in every run.
fn settled(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\n']) {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        let is_time = word.len() >= 13 && word.bytes().all(|byte| byte.is_ascii_digit());
        match word.split_once('_') {
            _ if is_time => out.push_str("1700000000000000"),
            Some((kind @ ("ses" | "agt"), id)) if id.len() == 12 => {
                out.push_str(kind);
                out.push_str("_7d4k9q2m5x8w");
            }
            _ => out.push_str(&word),
        }
        word.clear();
        out.push(letter);
    }
    out
}

#[test]
fn a_recorded_session_that_decides_otherwise_fails_and_says_where() {
    let question = json!({ "question": "Which flag?", "choices": ["red", "blue"] });
    let world = World::of_model(vec![
        vec![Part::Call("ask_user", question)],
        vec![Part::Say("I hoist the blue one.".into())],
    ]);
    let mut steps = Steps::of(&world);
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("hoist a flag");
    chat.wait_for_words("or your own words");
    say(&mut chat, "2", "I hoist the blue one.");
    chat.leave();
    steps.chat("the session that is recorded", &mut chat);
    let id = chat.id_to_resume();
    let mut command = world.sandbox.command(&["sessions", "export", &id, "--fixture"]);
    let exported = command.output().unwrap();
    assert!(exported.status.success(), "{exported:?}");
    let fixture = String::from_utf8(exported.stdout).unwrap();
    agentx::support::replay_fixture("tests/flag.session", &fixture);
    let answer = "\"decision\":\"once\",\"note\":\"2\"";
    assert_eq!(fixture.matches(answer).count(), 1, "{fixture}");
    let changed = fixture.replace(answer, "\"decision\":\"once\",\"note\":\"1\"");
    let failed = std::panic::catch_unwind(|| {
        agentx::support::replay_fixture("tests/flag.session", &changed);
    });
    let message = failed.unwrap_err().downcast_ref::<String>().cloned().unwrap();
    assert!(
        message.contains("(approval), line ")
            && message.contains("answers: blue")
            && message.contains("answers: red"),
        "{message}"
    );
    steps.text(
        "replay_test! of the session with another answer",
        &settled(&message),
    );
    steps.check("a_recorded_session_that_decides_otherwise");
}
