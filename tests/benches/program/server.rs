//! A model server that answers at once, in a process of its own: Anthropic Messages, streamed. A conversation first gets
//! `rounds` calls of `bash`, then an answer of `words` words; with `pace_us` each word waits that long and carries the time at
//! which it was sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A server in a process of its own; gone with the value.
pub struct Server {
    pub url: String,
    child: Child,
}

impl Server {
    pub fn start(rounds: usize, words: usize, pace_us: u64) -> Self {
        let me = std::env::current_exe().expect("this program");
        let args = [rounds.to_string(), words.to_string(), pace_us.to_string()];
        let mut child = Command::new(me)
            .arg("serve")
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("its address");
        Self {
            url: format!("http://{}", line.trim()),
            child,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn serve(args: &[String]) {
    let number = |index: usize| args[index].parse::<u64>().expect("a number");
    let (rounds, words, pace) = (number(0), number(1), Duration::from_micros(number(2)));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    std::io::stdout().flush().expect("standard output");
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || answer_all(stream, rounds, words, pace));
    }
}

fn answer_all(stream: TcpStream, rounds: u64, words: u64, pace: Duration) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut writer = stream;
    while let Some(body) = read_request(&mut reader) {
        let done = body
            .windows(13)
            .filter(|window| window == b"\"tool_result\"")
            .count() as u64;
        if write_answer(&mut writer, done, rounds, words, pace).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            return Some(body);
        }
    }
}

fn write_answer(
    out: &mut TcpStream,
    done: u64,
    rounds: u64,
    words: u64,
    pace: Duration,
) -> std::io::Result<()> {
    out.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let usage = r#"{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}"#;
    let start = format!(
        r#"{{"type":"message_start","message":{{"id":"msg_{done}","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}}}"#
    );
    event(out, "message_start", &start)?;
    let call = done < rounds;
    if call {
        event(
            out,
            "content_block_start",
            &format!(
                r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"toolu_{done}","name":"bash","input":{{}}}}}}"#
            ),
        )?;
        for part in [r#"{\"command\":"#, r#"\"echo hi\"}"#] {
            event(
                out,
                "content_block_delta",
                &format!(
                    r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{part}"}}}}"#
                ),
            )?;
        }
    } else {
        event(
            out,
            "content_block_start",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        )?;
        for index in 0..words {
            let word = if pace.is_zero() {
                format!("word{index} ")
            } else {
                wait_and_stamp(pace)
            };
            event(
                out,
                "content_block_delta",
                &format!(
                    r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{word}"}}}}"#
                ),
            )?;
        }
    }
    event(
        out,
        "content_block_stop",
        r#"{"type":"content_block_stop","index":0}"#,
    )?;
    let reason = if call { "tool_use" } else { "end_turn" };
    event(
        out,
        "message_delta",
        &format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":20}}}}"#
        ),
    )?;
    event(out, "message_stop", r#"{"type":"message_stop"}"#)?;
    out.write_all(b"0\r\n\r\n")
}

fn wait_and_stamp(pace: Duration) -> String {
    std::thread::sleep(pace);
    format!("{} ", now_us())
}

/// Microseconds since the epoch, the same clock in every process.
pub fn now_us() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock after 1970")
        .as_micros()
}

fn event(out: &mut TcpStream, name: &str, data: &str) -> std::io::Result<()> {
    let text = format!("event: {name}\ndata: {data}\n\n");
    out.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}
