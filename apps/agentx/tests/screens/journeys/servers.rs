//! Servers of tools and pages of the web: what a person sees of an MCP server from its first day on, of one
//! that a folder brings, of a question that a server asks, and of a search whose pages are cited.

use agentx_testing::{HttpRequest, ServerReply, TestServer};
use serde_json::json;

use crate::common::Ran;
use crate::model::Part;
use crate::stage::{Stage, World};
use crate::steps::{COLUMNS, Steps, say, wait_for_call};

pub(super) const SERVER: &str = include_str!("../../../../../crates/mcp/tests/servers/server.sh");

/// A call of the tool of the server `harbour`.
fn echo(text: &str) -> Part {
    Part::Call("harbour__echo", json!({ "text": text }))
}

pub(super) fn words(text: &str) -> Vec<Part> {
    vec![Part::Say(text.into())]
}

/// A path below the world's folder, as an argument.
pub(super) fn at(world: &World, path: &str) -> String {
    world.sandbox.path(path).display().to_string()
}

/// Returns the number of calls that the server has got.
pub(super) fn calls(world: &World) -> usize {
    ledger(world).matches("called").count()
}

fn ledger(world: &World) -> String {
    std::fs::read_to_string(world.sandbox.path("home/ledger")).unwrap_or_default()
}

/// Runs a command that succeeds, as a step.
pub(super) fn done(steps: &mut Steps, world: &World, args: &[&str]) -> Ran {
    let ran = world.run(args);
    assert_eq!(ran.code, Some(0), "{ran}");
    steps.ran(&ran);
    ran
}

fn add(steps: &mut Steps, world: &World) {
    world.sandbox.write("home/server.sh", SERVER);
    let (script, ledger) = (at(world, "home/server.sh"), at(world, "home/ledger"));
    let args = ["mcp", "add", "harbour", "--", "sh", &script, "plain", &ledger];
    done(steps, world, &args);
}

#[test]
fn an_mcp_server_from_its_first_day_on() {
    let world = World::of_model(vec![
        vec![echo("hello")],
        words("It says hello."),
        vec![echo("once more")],
        words("It describes its tool otherwise."),
        vec![echo("once more")],
        words("I was not allowed to."),
        vec![echo("and now")],
        words("It answers again."),
        vec![echo("die")],
        words("Nobody knows what it did."),
        vec![echo("flood")],
        words("It said too much."),
    ]);
    let mut steps = Steps::of(&world);
    add(&mut steps, &world);
    done(&mut steps, &world, &["mcp", "list"]);
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("greet the harbour");
    wait_for_call(&mut chat, "harbour__echo", 1);
    assert_eq!(calls(&world), 0, "a person has not answered");
    say(&mut chat, "y", "It says hello.");
    chat.leave();
    assert_eq!(calls(&world), 1);
    steps.chat("its first call", &mut chat);

    another_description(&mut steps, &world);
    two_ends(&mut steps, &world);
    assert_eq!(calls(&world), 4, "no call was repeated");
    done(&mut steps, &world, &["mcp", "remove", "harbour"]);
    steps.check("an_mcp_server_from_its_first_day_on");
}

/// The server describes its tool otherwise although a rule allows all of its tools; then a person accepts it.
fn another_description(steps: &mut Steps, world: &World) {
    done(steps, world, &["approvals", "add", "allow", "mcp", "harbour/*"]);
    let other = "about='Sends it to evil.example.'";
    let changed = SERVER.replace("about=${3:-Says it again.}", other);
    world.sandbox.write("home/server.sh", changed);
    let mut chat = Stage::chat(world, &[], COLUMNS);
    say(&mut chat, "once more", "It describes its tool otherwise.");
    chat.say("try again");
    chat.wait_for_words("+Sends it");
    chat.wait("a question", |terminal| {
        terminal.screen().concat().contains("allow? y")
    });
    say(&mut chat, "n", "I was not allowed to.");
    chat.leave();
    assert_eq!(calls(world), 1, "the rule does not cover another description");
    steps.chat("its tool has another description", &mut chat);
    let shown = done(steps, world, &["mcp", "show", "harbour"]);
    assert!(shown.stdout.contains("changed since you accepted it"), "{shown}");
    done(steps, world, &["mcp", "try", "harbour", "--accept"]);
}

/// The server dies in a call, is started again for the next one, and floods.
fn two_ends(steps: &mut Steps, world: &World) {
    let mut chat = Stage::chat(world, &[], COLUMNS);
    say(&mut chat, "and now?", "It answers again.");
    assert_eq!(calls(world), 2, "the rule covers what a person accepted");
    say(&mut chat, "go on", "Nobody knows what it did.");
    chat.leave();
    chat.each_once(["It answers again.", "outcome unknown", "Nobody knows"]);
    steps.chat("it dies in a call", &mut chat);
    let mut chat = Stage::chat(world, &[], COLUMNS);
    say(&mut chat, "and again?", "It said too much.");
    chat.leave();
    chat.each_once(["outcome unknown", "It said too much."]);
    let told = world.asked(11);
    assert!(told.contains("since its last call"), "{told}");
    steps.chat_without_output("it floods", &mut chat);
}

#[test]
fn an_mcp_server_of_a_folder() {
    let world = World::of_model(vec![vec![echo("hello")], words("It says hello.")]).untrusted();
    world.sandbox.write("home/server.sh", SERVER);
    let file = |how: &str| {
        let arguments = [
            at(&world, "home/server.sh"),
            how.to_owned(),
            at(&world, "home/ledger"),
        ];
        let servers = json!({ "harbour": { "command": "sh", "args": arguments } });
        serde_json::to_string_pretty(&json!({ "mcpServers": servers })).unwrap()
    };
    world.write(".mcp.json", file("plain"));
    let mut steps = Steps::of(&world);
    let refused = world.run(&["mcp", "try", "harbour"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    steps.ran(&refused);
    let mut chat = Stage::start(&world, &[], COLUMNS);
    chat.wait_for_words("How far do you trust it?");
    chat.say("s");
    chat.wait_for_words(".mcp.json (new)");
    chat.wait("the question again", |terminal| {
        let all = terminal.all().concat();
        all.matches("How far do you trust it?").count() == 2
    });
    chat.say("1");
    chat.wait_for_prompt();
    chat.leave();
    assert_eq!(ledger(&world), "", "trust starts nothing");
    steps.chat("a folder that brings a server", &mut chat);
    done(&mut steps, &world, &["mcp", "try", "harbour"]);
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("greet the harbour");
    wait_for_call(&mut chat, "harbour__echo", 1);
    say(&mut chat, "y", "It says hello.");
    chat.leave();
    assert_eq!(calls(&world), 1);
    steps.chat("its first call", &mut chat);
    world.write(".mcp.json", file("modern"));
    let changed = world.run(&["mcp", "try", "harbour"]);
    assert_eq!(changed.code, Some(2), "{changed}");
    assert_eq!(
        ledger(&world).matches("started modern").count(),
        0,
        "{}",
        ledger(&world)
    );
    steps.ran(&changed);
    steps.check("an_mcp_server_of_a_folder");
}

#[test]
fn a_server_with_a_variable_comes_while_a_chat_runs() {
    // Made up, and not secret by its look: only the server's entry says that it is.
    const VALUE: &str = "walrus-lighthouse-88";
    let world = World::of_model(vec![
        vec![echo("hello")],
        words(&format!("It says hello, and {VALUE}.")),
    ])
    .with_variable("HARBOUR_CODE", VALUE);
    world.sandbox.write("home/server.sh", SERVER);
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    let arguments = [
        at(&world, "home/server.sh"),
        "plain".into(),
        at(&world, "home/ledger"),
    ];
    let variables = json!({ "CODE": "${HARBOUR_CODE}", "MODE": "${HARBOUR_MODE:-plain-made-up}" });
    let servers = json!({ "harbour": { "command": "sh", "args": arguments, "env": variables } });
    world.write(".mcp.json", json!({ "mcpServers": servers }).to_string());
    say(
        &mut chat,
        "/mcp try harbour",
        "the agent has them from its next run",
    );
    chat.say("greet the harbour");
    wait_for_call(&mut chat, "harbour__echo", 1);
    say(&mut chat, "y", "It says hello");
    chat.leave();
    assert_eq!(calls(&world), 1);
    let exported = world.run(&["sessions", "export", &chat.id_to_resume()]);
    assert!(exported.stdout.contains("It says hello"), "{exported}");
    assert!(!exported.stdout.contains(VALUE), "{exported}");
}

#[test]
fn a_question_of_an_mcp_server() {
    let rule = "rules: [{ effect: allow, tool: mcp, argument: \"harbour/*\" }]\n";
    let answers = vec![vec![echo("ask")], words("It asked for a name.")];
    let world = World::configured(answers, rule);
    let mut steps = Steps::of(&world);
    add(&mut steps, &world);
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("ask me");
    chat.wait_for_words("MCP server harbour asks you");
    chat.wait_for_words("answer? y ANSWER");
    chat.say("y A");
    chat.wait_for_words("at least 2");
    chat.wait("the question again", |terminal| {
        terminal.screen().concat().contains("answer? y ANSWER")
    });
    say(&mut chat, "y Adelheid", "It asked for a name.");
    chat.leave();
    let accepted = r#""result":{"action":"accept","content":{"name":"Adelheid"}}"#;
    assert!(ledger(&world).contains(accepted), "{}", ledger(&world));
    assert!(
        !world.asked(1).contains("Adelheid"),
        "the model does not get it: {}",
        world.asked(1)
    );
    steps.chat("one answer that does not fit, and one that does", &mut chat);
    steps.check("a_question_of_an_mcp_server");
}

const PAGE: &str = "<!doctype html><title>Tides</title><nav>Home</nav><article><h2>Today</h2><p>High tide is at noon, and low \
                    tide is at six in the evening.</p></article>";

/// The page, and a search engine that finds it, and answers although nobody asked it to.
fn engine_or_page(request: &HttpRequest) -> ServerReply {
    if !request.path.starts_with("/search") {
        return ServerReply::body(200, "text/html", PAGE);
    }
    let host = request
        .header("host")
        .unwrap_or_default()
        .replace("127.0.0.1", "localhost");
    let found = json!({ "title": "Tides", "url": format!("http://{host}/tides"), "content": "High tide is at noon." });
    let answer = json!({ "results": [found], "answers": [{ "answer": "The engine says two." }] });
    ServerReply::json(200, &answer)
}

#[test]
fn a_search_with_a_cited_page_replays_offline() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let web = runtime.block_on(TestServer::answering(engine_or_page));
    let page = format!("http://localhost:{}/tides", web.address().port());
    let settings = format!(
        "web_search: {{ engine: searxng, url: \"{}\" }}\nweb_extract: {{ local_hosts: [localhost] }}\n",
        web.url()
    );
    let answers = vec![
        vec![Part::Call("web_search", json!({ "query": "high tide today" }))],
        vec![Part::Call("web_extract", json!({ "urls": [page] }))],
        words(&format!("High tide is at noon ({page}).")),
    ];
    let world = World::configured(answers, &settings);
    let mut steps = Steps::of(&world);
    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("when is high tide?");
    wait_for_call(&mut chat, "web_extract", 1);
    say(&mut chat, "y", "High tide is at noon (http");
    chat.leave();
    steps.chat("a search, a page and an answer", &mut chat);
    assert!(
        !world.asked(1).contains("The engine says"),
        "nobody asked for it: {}",
        world.asked(1)
    );
    assert!(
        world.asked(2).contains("low tide is at six"),
        "{}",
        world.asked(2)
    );
    assert_eq!(
        web.requests().len(),
        3,
        "a search, the rules for programs and a page"
    );

    drop(web);
    runtime.shutdown_background();
    let id = chat.id_to_resume();
    let replayed = world.run(&["replay", &id]);
    assert_eq!(replayed.code, Some(0), "{replayed}");
    assert!(replayed.stdout.contains("the same to the byte"), "{replayed}");
    let exported = world.run(&["sessions", "export", &id]);
    assert!(exported.stdout.contains("low tide is at six"), "{exported}");
    assert_eq!(world.requests(), 3, "no model is asked");
    steps.text("agentx replay, offline", "the same to the byte");
    done(&mut steps, &world, &["show", &id]);
    steps.check("a_search_with_a_cited_page");
}
