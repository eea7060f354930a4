//! A login at an MCP server as a person makes it: added, refused, agreed in a browser, used, and taken back.
//! The servers are those of the tests of `crates/mcp`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::common::{Sandbox, squeezed};
use crate::logins::{Fault, OauthServer, browse, get, runtime};

#[test]
fn a_person_logs_in_once_and_every_later_call_uses_it() {
    let runtime = runtime();
    let server = runtime.block_on(OauthServer::new(Fault::None));
    let sandbox = Sandbox::new();
    let added = sandbox.run(&["mcp", "add", "web", &server.address]);
    assert_eq!(added.code, Some(0), "{added}");
    assert!(
        added
            .stderr
            .contains("it requires a login: `agentx mcp login web`"),
        "{added}"
    );
    let list = sandbox.run(&["mcp", "list"]);
    assert!(list.stdout.contains("needs login"), "{list}");
    let doctor = sandbox.run(&["doctor"]);
    assert!(
        squeezed(&doctor).contains("`agentx mcp login web` logs in"),
        "{doctor}"
    );

    let mut command = sandbox.command(&["mcp", "login", "web"]);
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut login = command.spawn().unwrap();
    let mut said = BufReader::new(login.stderr.take().unwrap());
    let mut before = String::new();
    let address = loop {
        let mut line = String::new();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "{before}");
        match line.trim().strip_prefix("http://") {
            Some(rest) => break format!("http://{rest}"),
            None => before.push_str(&line),
        }
    };
    assert!(
        before.contains("web wants a login at http://127.0.0.1:"),
        "{before}"
    );
    assert!(before.contains("(scopes: read offline_access)"), "{before}");
    let page = browse(&address);
    assert!(page.contains("You are logged in"), "{page}");
    assert!(login.wait().unwrap().success());
    let mut shown = String::new();
    login.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert!(shown.contains("renewed automatically"), "{shown}");
    assert!(shown.contains("web__echo"), "{shown}");

    let called = sandbox.run(&["tools", "run", "web__echo", "{}", "--yes"]);
    assert!(called.stdout.contains("you sent [hidden]"), "{called}");
    let json = sandbox.run(&["mcp", "show", "web", "--json"]);
    assert!(json.stdout.contains("\"renewable\": true"), "{json}");
    assert!(!json.stdout.contains("made-up-"), "{json}");

    let out = sandbox.run(&["mcp", "logout", "web"]);
    assert!(out.stderr.contains("logged out of web"), "{out}");
    let tried = sandbox.run(&["mcp", "try", "web"]);
    assert_eq!(tried.code, Some(1), "{tried}");
    assert!(tried.stderr.contains("agentx mcp login"), "{tried}");
}

#[test]
fn a_server_that_cannot_be_believed_is_named_with_the_reason() {
    let runtime = runtime();
    let server = runtime.block_on(OauthServer::new(Fault::NoS256));
    let sandbox = Sandbox::new();
    sandbox.config(&format!("mcp:\n  web:\n    url: {}\n", server.address));
    let refused = sandbox.run(&["mcp", "login", "web"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused.stderr.contains("does not support PKCE with S256"),
        "{refused}"
    );
    let none = sandbox.run(&["mcp", "logout", "web"]);
    assert!(none.stderr.contains("there is no login at web"), "{none}");
}

/// A browser with the answer to another login, as of an earlier attempt, is reported at once; the login waits
/// until Ctrl-C, and stores nothing.
#[cfg(unix)]
#[test]
fn a_browser_with_another_login_is_reported_and_ctrl_c_stores_nothing() {
    use crate::serving::Running;

    let runtime = runtime();
    let server = runtime.block_on(OauthServer::new(Fault::None));
    let sandbox = Sandbox::new();
    sandbox.config(&format!("mcp:\n  web:\n    url: {}\n", server.address));
    let mut command = sandbox.command(&["mcp", "login", "web"]);
    command.stdin(Stdio::piped());
    let mut login = Running::start(command);
    login.says("waiting at most 10 minutes for you to agree there; Ctrl-C stops");
    let address = login.line_on_stderr("redirect_uri=");
    let (_, redirect) = address.split_once("redirect_uri=").unwrap();
    let redirect = redirect.split('&').next().unwrap();
    let redirect = redirect.replace("%3A", ":").replace("%2F", "/");
    let page = get(&format!("{redirect}?state=of-another-login&code=made-up"));
    assert!(page.contains("400"), "{page}");
    login.says("a browser came back and was refused");
    let (status, _, said) = login.interrupt();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(
        said.contains("stopped: nobody is logged in at web, and nothing was stored"),
        "{said}"
    );
    let list = sandbox.run(&["mcp", "list"]);
    assert!(
        list.stdout.contains("web") && !list.stdout.contains("logged in"),
        "{list}"
    );
}
