//! Logins at MCP servers: agreed in a browser, used in a chat and taken back; and servers whose papers are
//! false. The servers are those of the tests of `crates/mcp`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Stdio};

use serde_json::json;

use super::servers::{done, words};
use crate::common::Ran;
use crate::logins::{Fault, OauthServer, browse, runtime};
use crate::model::Part;
use crate::stage::{Stage, World};
use crate::steps::{COLUMNS, Steps, say, wait_for_call};

/// A login that waits for a browser.
struct Login {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Its output so far, with the address of the browser cut at its query, whose values are drawn by lot.
    said: String,
    /// The address for the browser.
    address: String,
}

impl Login {
    fn begin(world: &World, name: &str) -> Self {
        // While standard input is open, an address could still be pasted.
        let mut child = world
            .sandbox
            .command(&["mcp", "login", name])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "{said}");
            let address = line.trim().to_owned();
            if !address.starts_with("http://") {
                said.push_str(&line);
                continue;
            }
            let (before, _) = line.split_once('?').unwrap();
            said.push_str(&format!("{before}?…\n"));
            return Self {
                child,
                stderr,
                said,
                address,
            };
        }
    }

    /// Waits for its end.
    fn end(mut self, world: &World, name: &str) -> Ran {
        self.stderr.read_to_string(&mut self.said).unwrap();
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        pipe.read_to_string(&mut stdout).unwrap();
        Ran {
            line: format!("mcp login {name}"),
            code: self.child.wait().unwrap().code(),
            stdout: world.sandbox.normalized(&stdout),
            stderr: world.sandbox.normalized(&self.said),
        }
    }

    /// Ends it, as a person would who gives up.
    fn give_up(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Runs a command that fails with this reason, as a step.
fn failed(steps: &mut Steps, world: &World, args: &[&str], why: &str) {
    let ran = world.run(args);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains(why), "{ran}");
    steps.ran(&ran);
}

#[test]
fn a_login_at_an_mcp_server() {
    let runtime = runtime();
    let server = runtime.block_on(OauthServer::new(Fault::None));
    let call = Part::Call("web__echo", json!({}));
    let world = World::of_model(vec![vec![call], words("It knows who I am.")]);
    let mut steps = Steps::of(&world);
    done(&mut steps, &world, &["mcp", "add", "web", &server.address]);
    done(&mut steps, &world, &["mcp", "list"]);

    let login = Login::begin(&world, "web");
    let page = browse(&login.address);
    assert!(page.contains("You are logged in"), "{page}");
    let logged_in = login.end(&world, "web");
    assert_eq!(logged_in.code, Some(0), "{logged_in}");
    steps.ran(&logged_in);

    let mut chat = Stage::chat(&world, &[], COLUMNS);
    chat.say("who am I there?");
    wait_for_call(&mut chat, "web__echo", 1);
    assert_eq!(server.state().calls, 0, "a person has not answered");
    say(&mut chat, "y", "It knows who I am.");
    chat.leave();
    assert_eq!(server.state().calls, 1);
    let all = chat.terminal.all().concat();
    assert!(
        all.contains("you sent [hidden]") && !all.contains("made-up-access"),
        "{all}"
    );
    assert!(!world.asked(1).contains("made-up-access"), "{}", world.asked(1));
    steps.chat("a call with the login", &mut chat);

    done(&mut steps, &world, &["mcp", "logout", "web"]);
    failed(&mut steps, &world, &["mcp", "try", "web"], "agentx mcp login");
    steps.check("a_login_at_an_mcp_server");
}

#[test]
fn logins_at_servers_whose_papers_are_false() {
    let runtime = runtime();
    let world = World::of_model(Vec::new());
    let mut steps = Steps::of(&world);
    for (name, fault, why) in [
        ("resource", Fault::OtherResource, "other.example"),
        ("issuer", Fault::OtherIssuer, "another one"),
        ("weak", Fault::NoS256, "S256"),
        ("plain", Fault::TokensElsewhere, "not https"),
    ] {
        let server = runtime.block_on(OauthServer::new(fault));
        done(&mut steps, &world, &["mcp", "add", name, &server.address]);
        failed(&mut steps, &world, &["mcp", "login", name], why);
        assert!(server.state().access.is_empty(), "{name}");
    }

    let server = runtime.block_on(OauthServer::new(Fault::Refuses));
    done(&mut steps, &world, &["mcp", "add", "refused", &server.address]);
    let login = Login::begin(&world, "refused");
    browse(&login.address);
    let refused = login.end(&world, "refused");
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("access_denied"), "{refused}");
    steps.ran(&refused);

    let server = runtime.block_on(OauthServer::new(Fault::MixedUp));
    done(&mut steps, &world, &["mcp", "add", "mixed", &server.address]);
    let login = Login::begin(&world, "mixed");
    let page = browse(&login.address);
    let (head, why) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 400 "), "{page}");
    steps.text("what the browser shows at the end", why);
    login.give_up();
    assert!(server.state().access.is_empty(), "no code was exchanged");
    assert!(server.state().refused.is_empty(), "none was tried");

    let list = done(&mut steps, &world, &["mcp", "list"]);
    assert!(!list.stdout.contains("known"), "{list}");
    steps.check("logins_at_servers_whose_papers_are_false");
}
