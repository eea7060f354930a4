//! Processes of the benchmark: each is this program in another role, gets its commands as lines, and is
//! killed when its value is dropped.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tokio::sync::mpsc;

/// A process in a role.
pub(crate) struct Role {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Role {
    /// Starts it.
    pub(crate) fn start(name: &str, args: &[String]) -> Self {
        let me = std::env::current_exe().expect("this program");
        let wrapped = wrapping(name);
        let mut words = wrapped.iter().map(String::as_str).chain(me.to_str());
        let mut child = Command::new(words.next().expect("a program"))
            .args(words)
            .arg(name)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the process starts");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, to, from }
    }

    /// The next line that it says.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        let heard = self.from.read_line(&mut line).expect("a line");
        assert!(heard > 0, "a process of the benchmark ended early");
        line.trim_end().to_owned()
    }

    /// Says a line to it.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.to, "{line}").expect("it listens");
    }

    /// Bytes that it has in memory now.
    pub(crate) fn resident(&self) -> f64 {
        self.status("VmRSS:")
    }

    /// The most that it had.
    pub(crate) fn peak(&self) -> f64 {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
            .map_or(f64::NAN, |kib| kib * 1024.0)
    }

    /// CPU seconds that it has used.
    pub(crate) fn cpu(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = fields.split_whitespace().skip(11).take(2);
        ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    /// Sockets and files that it has open.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }
}

/// The program under which the server is run, to look into it: for example a profiler. Its memory and CPU are
/// those of that program then.
fn wrapping(name: &str) -> Vec<String> {
    let wanted = std::env::var("AGENTX_BENCH_WRAP").ok().filter(|_| name == "host");
    let words = wanted.iter().flat_map(|text| text.split_whitespace());
    words.map(str::to_owned).collect()
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines that the parent sends to this process. If the parent is gone, so is this process.
pub(crate) fn orders() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    receiver
}

/// A runtime like the server's, with this number of threads, or only the main thread if it is 0.
pub(crate) fn runtime(threads: usize) -> tokio::runtime::Runtime {
    let mut builder = if threads == 0 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(threads);
        builder
    };
    builder.enable_all().build().expect("a runtime")
}

/// The middle of some values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The number in an environment variable.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
