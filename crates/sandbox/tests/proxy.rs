//! The way from a command to the proxy of the program: the only one that leads out.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Output, Stdio};
use std::time::Duration;

use agentx_sandbox::{ProxyListener, SandboxStep, receive_listener, send_input};

use crate::held::{World, said, steps};

/// The answer of the test's proxy.
const ANSWER: &str = "words-of-the-proxy";

/// Asks the proxy in the environment for a page, and prints the answer.
const ASK: &str = "/usr/bin/python3 -c 'import urllib.request as r; print(r.urlopen(\"http://host.example/\", timeout=20).read().decode())'";

/// Answers one request. Returns its lines.
fn answer(listener: &TcpListener) -> Vec<String> {
    let (stream, _) = listener.accept().unwrap();
    let lines = BufReader::new(&stream).lines().map(Result::unwrap);
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let length = ANSWER.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{ANSWER}");
    (&stream).write_all(answer.as_bytes()).unwrap();
    lines
}

/// Runs a line in a sandbox whose network is the proxy, which `serve` plays.
fn run<T: Send + 'static>(
    step: SandboxStep,
    line: &str,
    serve: impl FnOnce(ProxyListener) -> T + Send + 'static,
) -> (Output, T) {
    let world = World::new();
    let (ours, theirs) = UnixStream::pair().unwrap();
    send_input(&ours, None).unwrap();
    let mut command = world.command(step, &["sh", "-c", line]);
    command
        .env("HELD_NETWORK", "hosts")
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    drop(command);
    let door = receive_listener(&ours).unwrap();
    let served = std::thread::spawn(move || serve(door));
    let output = child.wait_with_output().unwrap();
    (output, served.join().unwrap())
}

#[test]
fn a_command_reaches_the_proxy_that_its_environment_names() {
    for step in steps() {
        let serve = |door: ProxyListener| (answer(&door.listener), door.token);
        let (output, (lines, token)) = run(step, ASK, serve);
        assert!(said(&output).contains(ANSWER), "{step}: {}", said(&output));
        assert!(
            lines[0].starts_with("GET http://host.example/ "),
            "{step}: {lines:?}"
        );
        let is_login = |line: &String| {
            line.to_ascii_lowercase()
                .starts_with("proxy-authorization: basic ")
        };
        let has_login = lines.iter().any(is_login);
        // Other programs of this machine reach the door of `landlock`, so that it needs a password.
        let is_shared = step == SandboxStep::Landlock;
        assert_eq!(
            (has_login, token.is_some()),
            (is_shared, is_shared),
            "{step}: {lines:?}"
        );
    }
}

#[test]
fn nothing_but_the_proxy_is_reached() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    for step in steps() {
        let line = format!(
            "/usr/bin/python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)' && exit 0; \
             /usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
             s.connect((\"192.0.2.1\", 9)); s.send(b\"x\")'"
        );
        let (output, ()) = run(step, &line, drop);
        assert!(!output.status.success(), "{step}: {}", said(&output));
    }
}

/// The program learns by it that it may stop serving.
#[test]
fn the_socket_is_closed_when_nothing_is_left_inside() {
    for step in steps() {
        let world = World::new();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        send_input(&ours, None).unwrap();
        let mut command = world.command(step, &["sh", "-c", "sleep 0.1 & exit 0"]);
        command.env("HELD_NETWORK", "hosts").stdin(OwnedFd::from(theirs));
        let mut child = command.spawn().unwrap();
        drop(command);
        let listener = receive_listener(&ours).unwrap();
        drop(listener);
        child.wait().unwrap();
        let mut rest = Vec::new();
        ours.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        ours.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "{step}");
    }
}

/// The file that the program sends becomes the standard input of the command.
#[test]
fn a_command_reads_what_the_program_sent() {
    for step in steps() {
        let world = World::new();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let input = std::fs::File::open(world.path("home/notes")).unwrap();
        send_input(&ours, Some(input.as_fd())).unwrap();
        let mut command = world.command(step, &["cat"]);
        let output = command
            .env("HELD_NETWORK", "hosts")
            .stdin(OwnedFd::from(theirs))
            .output();
        assert_eq!(said(&output.unwrap()), crate::held::SECRET, "{step}");
        drop(ours);
    }
}
