//! Runs a program and says what it took: wall and CPU seconds with its children, and the most memory it had.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

/// The costs of one run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    pub(crate) peak_mib: f64,
}

/// The program under measurement.
pub(crate) fn agentx() -> PathBuf {
    std::env::var_os("AGENTX_BIN").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/release/agentx"),
        PathBuf::from,
    )
}

/// A directory that is gone with the value.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("agentx-bench-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("ws")).expect("a scratch directory");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // To look into what was measured.
        if std::env::var_os("AGENTX_BENCH_KEEP").is_none() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The program with an environment of its own, against the server at `url`.
pub(crate) fn program(scratch: &Scratch, url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(agentx());
    command.args(args);
    hermetic(&mut command, scratch, url);
    command
}

/// Runs the program to its end, below a process that measures it.
pub(crate) fn run(scratch: &Scratch, url: &str, args: &[&str]) -> Cost {
    measured(scratch, url, &agentx(), args)
}

/// Runs any program the same way. Stops the benchmark if it fails.
pub(crate) fn measured(scratch: &Scratch, url: &str, program: &Path, args: &[&str]) -> Cost {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg("measure").arg(program).args(args);
    hermetic(&mut command, scratch, url);
    let output = command.output().expect("this program");
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [wall_s, cpu_s, peak_mib] = figures[..] else {
        panic!(
            "{} {args:?} failed: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    };
    Cost {
        wall_s,
        cpu_s,
        peak_mib,
    }
}

fn hermetic(command: &mut Command, scratch: &Scratch, url: &str) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &scratch.0)
        .env("LANG", "C.UTF-8")
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "sk-bench")
        // Commands are compared with those of a bare loop; docs/FIGURES.md has the cost of a sandbox.
        .env("AGENTX_SANDBOX", "none")
        .current_dir(scratch.0.join("ws"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// The process that measures: runs one program, whose children then are this process's only ones, and prints
/// what they took.
pub(crate) fn measure(args: &[String]) {
    let began = Instant::now();
    let output = Command::new(&args[0])
        .args(&args[1..])
        .stdin(Stdio::null())
        .output()
        .expect("the program starts: build it first");
    let wall_s = began.elapsed().as_secs_f64();
    if !output.status.success() {
        eprintln!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("getrusage");
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let cpu_s = seconds(usage.user_time()) + seconds(usage.system_time());
    println!("{wall_s} {cpu_s} {}", usage.max_rss() as f64 / 1024.0);
}

/// The middle of some values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The value below which so many of a hundred lie; `sorted` is in order.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted
        .get(sorted.len() * percent / 100)
        .copied()
        .unwrap_or(f64::NAN)
}
