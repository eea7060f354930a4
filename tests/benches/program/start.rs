//! The time until the program prints its version, and until it has sent a request to the model.

use std::net::TcpListener;
use std::time::Instant;

use crate::process::{Scratch, median, program, run};

const RUNS: usize = 31;

pub(crate) fn measure() {
    let scratch = Scratch::new("start");
    let version = median((0..RUNS).map(|_| run(&scratch, "http://127.0.0.1:9", &["--version"]).wall_s * 1e3));
    println!("--version                 {version:.2} ms (median of {RUNS})");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = median((0..RUNS).map(|_| {
        let began = Instant::now();
        let mut child = program(&scratch, &url, &["run", "--yes", "go"])
            .spawn()
            .expect("the program starts");
        let (stream, _) = listener.accept().expect("a connection");
        let mut first = [0; 1];
        std::io::Read::read_exact(&mut &stream, &mut first).expect("a request");
        let elapsed = began.elapsed().as_secs_f64() * 1e3;
        let _ = child.kill();
        let _ = child.wait();
        elapsed
    }));
    println!("run, until the model is asked  {asked:.2} ms (median of {RUNS})");
}
