//! The model server in a process of its own, so that what is measured is the program alone: `rounds` calls of
//! `bash`, then an answer of `words` words. It accepts everything: a check of the requests would be measured
//! too.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agentx_tests::model_server::{Answer, ModelServer};

/// A server in a process of its own; gone with the value.
pub(crate) struct Server {
    pub(crate) url: String,
    child: Child,
}

impl Server {
    /// With a pace, each word waits so long and is the time at which it is sent.
    pub(crate) fn start(rounds: usize, words: usize, pace_us: u64) -> Self {
        Self::with(&[rounds.to_string(), words.to_string(), pace_us.to_string()])
    }

    /// One that says so many pieces of Markdown, each after so long.
    pub(crate) fn markdown(pieces: usize, pace_us: u64) -> Self {
        Self::with(&["markdown".to_owned(), pieces.to_string(), pace_us.to_string()])
    }

    fn with(args: &[String]) -> Self {
        let me = std::env::current_exe().expect("this program");
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
            url: line.trim().to_owned(),
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

/// The process that serves.
pub(crate) fn serve(args: &[String]) {
    if args[0] == "markdown" {
        return serve_markdown(&args[1..]);
    }
    let number = |index: usize| args[index].parse::<usize>().expect("a number");
    let (rounds, words, pace_us) = (number(0), number(1), number(2));
    let server = ModelServer::accepting(move |body| {
        let done = body
            .windows(13)
            .filter(|window| window == b"\"tool_result\"")
            .count();
        if done < rounds {
            return Answer {
                calls: vec![(format!("toolu_{done}"), "echo hi".into())],
                ..Answer::default()
            };
        }
        Answer {
            words: (0..words).map(|index| format!("word{index} ")).collect(),
            pace: Duration::from_micros(pace_us as u64),
            stamped: pace_us > 0,
            ..Answer::default()
        }
    });
    stand_by(&server.expect("a port"));
}

/// A typical answer of a model: headings, lists, a table, code, words.
const CHAPTER: &str = "## Chapter\n\nEarly in the morning a **lamplighter** came to the `harbour`, and nobody was there. The wind \
stopped for a while, and on the ground lay a [letter](https://example.com/letter).\n\n- it belonged to *no one*\n- so it was \
picked up\n- and carried on until it was dark\n\n| who | where |\n| --- | --- |\n| a ferryman | the hills |\n| a baker | \
the mill |\n\n```rust\nfn main() {\n    println!(\"nobody was there\");\n}\n```\n\n";

/// So many pieces of it, of five letters each.
pub(crate) fn markdown_pieces(pieces: usize) -> Vec<String> {
    let letters: Vec<char> = CHAPTER.chars().collect();
    let chunks: Vec<String> = letters.chunks(5).map(|chunk| chunk.iter().collect()).collect();
    chunks.iter().cycle().take(pieces).cloned().collect()
}

fn serve_markdown(args: &[String]) {
    let number = |index: usize| args[index].parse::<usize>().expect("a number");
    let (pieces, pace_us) = (number(0), number(1));
    let server = ModelServer::accepting(move |_| Answer {
        words: markdown_pieces(pieces),
        pace: Duration::from_micros(pace_us as u64),
        ..Answer::default()
    });
    stand_by(&server.expect("a port"));
}

/// Prints the address of the server, and waits forever.
fn stand_by(server: &ModelServer) {
    println!("{}", server.url());
    std::io::stdout().flush().expect("standard output");
    loop {
        std::thread::park();
    }
}
