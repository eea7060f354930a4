//! The system's figures about this process: memory, processor time, threads that sleep.

use std::time::Duration;

/// The value of a line of `/proc/self/status`, in KiB or as a count.
pub(crate) fn status(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_default();
    let number = line.split_whitespace().nth(1).unwrap_or("0");
    number.parse().unwrap_or(0.0)
}

/// Processor time of the lanes' threads and of this one so far: it measures costs even on a busy machine.
pub(crate) fn processor() -> (Duration, Duration) {
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let nanos = text.split_whitespace().next().and_then(|word| word.parse().ok());
        Duration::from_nanos(nanos.unwrap_or(0))
    };
    let lanes = lane_threads().map(|task| read(task.join("schedstat"))).sum();
    (lanes, read("/proc/thread-self/schedstat".into()))
}

fn lane_threads() -> impl Iterator<Item = std::path::PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let is_lane = |task: &std::path::PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("luau-"))
    };
    tasks.map(|task| task.path()).filter(is_lane)
}

/// Returns whether all lanes wait for work: before that they finish their preparations.
pub(crate) fn lanes_sleep() -> bool {
    lane_threads().all(|task| {
        let text = std::fs::read_to_string(task.join("status")).unwrap_or_default();
        !text.lines().any(|line| line.starts_with("State:\tR"))
    })
}

pub(crate) fn micros(time: Duration, rounds: usize) -> f64 {
    time.as_secs_f64() * 1e6 / rounds as f64
}

/// Returns the median.
pub(crate) fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
