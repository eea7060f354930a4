//! 200 sessions that stream at once, each at the speed of a fast model, two mirrors each.

use std::time::Duration;

use crate::host::Host;
use crate::pace::Stream;
use crate::process::number;
use crate::readers::Readers;

const SESSIONS: usize = 200;

pub(crate) fn measure() {
    for rate in [50, 100] {
        for _ in 0..number("AGENTX_BENCH_RUNS", 3) {
            once(rate);
        }
    }
}

fn once(rate: u64) {
    let host = Host::start(SESSIONS);
    let mut reading = Readers::of(&host.url, 2 * SESSIONS, &host.sessions).start();
    let stream = Stream {
        rate,
        count: rate * 60,
        bytes: 24,
    };
    let mut desk = host.desk();
    for session in &host.sessions {
        desk.stream(session, stream);
    }
    std::thread::sleep(Duration::from_secs(1));
    let cpu = host.role.cpu();
    let time = Duration::from_secs(number("AGENTX_BENCH_SECONDS", 8));
    let seen = reading.watch(time);
    println!(
        "{SESSIONS} sessions of {rate} deltas/s, 2 mirrors each: {:.0} events/s   late p50 {:.1} p99 {:.1} most {:.1} ms   \
         cut off {}   missing {}   server: {:.2} cores, at most {:.0} MiB",
        seen.events_per_s,
        seen.p50,
        seen.p99,
        seen.most,
        seen.cuts,
        seen.wrong,
        (host.role.cpu() - cpu) / time.as_secs_f64(),
        host.role.peak() / 1_048_576.0,
    );
}
