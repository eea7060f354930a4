//! A bad network in the test process: a TCP proxy that cuts connections at random bytes, stalls, delays and
//! throttles them, or lets them die without a word. What it does follows from a seed and from how the bytes
//! come.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::{BOUND, Random};

/// The maximum number of bytes in one read.
const PIECE: usize = 16 * 1024;
/// The maximum number of pieces under way in one direction.
const UNDER_WAY: usize = 64;
/// The time within which an end has to notice that the connection is over.
const NOTICE: Duration = Duration::from_secs(2);

/// The way in which a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Both ends get a reset (RST).
    Reset,
    /// Both ends get the end of the stream (FIN).
    Finish,
    /// Neither end gets a signal: bytes are not forwarded any more, and the connections stay open.
    Silence,
}

/// The behaviour of the proxy towards connections.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    /// A connection is cut after so many bytes of both directions together: a number of this range.
    pub cut_after: Option<Range<u64>>,
    /// In one of these ways.
    pub cuts: Vec<Cut>,
    /// The delay of each byte, in each direction.
    pub delay: Duration,
    /// The number of bytes per second, in each direction.
    pub bytes_per_second: Option<u64>,
    /// After so many bytes of one direction, a number of this range, nothing passes for so long; again and
    /// again.
    pub stall: Option<(Range<u64>, Duration)>,
}

/// The counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections that were made.
    pub connections: usize,
    /// Connections that were reset.
    pub resets: usize,
    /// Connections that were ended.
    pub finishes: usize,
    /// Connections that fell silent.
    pub silences: usize,
    /// Times that nothing passed for a while.
    pub stalls: usize,
}

impl Tally {
    /// All connections that were cut, in whatever way.
    pub fn cuts(&self) -> usize {
        self.resets + self.finishes + self.silences
    }
}

/// The proxy. It ends with the process.
#[derive(Clone, Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    tally: watch::Sender<Tally>,
    /// Cuts all that are there: which time, and how.
    cut_all: watch::Sender<(u64, Cut)>,
}

#[derive(Debug)]
struct State {
    target: SocketAddr,
    weather: Weather,
    /// Counts the changes of the weather: what was in store in an earlier one does not happen any more.
    season: u64,
    random: Random,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        self.tally.send_modify(change);
    }
}

impl Proxy {
    /// Stands before `target`; the weather is fine.
    ///
    /// # Panics
    /// Panics if there is no port to be had.
    pub fn start(target: SocketAddr, seed: u64) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                target,
                weather: Weather::default(),
                season: 0,
                random: Random::new(seed),
            }),
            tally: watch::Sender::default(),
            cut_all: watch::Sender::new((0, Cut::Reset)),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(accept(listener, accepting));
        });
        Self { address, shared }
    }

    /// The address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address for clients, which is also the origin that the server has to name.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the server behind it for connections from now on.
    pub fn point_to(&self, target: SocketAddr) {
        self.shared.lock().target = target;
    }

    /// From now on connections meet this. Those that are there keep their delay, but are not cut any more.
    pub fn weather(&self, weather: Weather) {
        let mut state = self.shared.lock();
        state.weather = weather;
        state.season += 1;
    }

    /// All is well from now on.
    pub fn calm(&self) {
        self.weather(Weather::default());
    }

    /// Cuts all connections that are there.
    pub fn cut_all(&self, cut: Cut) {
        self.shared
            .cut_all
            .send_modify(|(times, how)| (*times, *how) = (*times + 1, cut));
    }

    /// The counts so far.
    pub fn tally(&self) -> Tally {
        *self.shared.tally.borrow()
    }

    /// Waits until so much has happened.
    ///
    /// # Panics
    /// Panics if it does not happen.
    pub async fn until(&self, enough: impl Fn(&Tally) -> bool) -> Tally {
        let mut tally = self.shared.tally.subscribe();
        let waited = timeout(2 * BOUND, tally.wait_for(enough)).await;
        match waited {
            Ok(Ok(tally)) => *tally,
            _ => panic!("it never came so far: {:?}", self.tally()),
        }
    }
}

async fn accept(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).expect("a listener");
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(connection(client, shared.clone()));
    }
}

/// The behaviour towards one connection.
struct Fate {
    season: u64,
    weather: Weather,
    /// Bytes that may still pass before it is cut.
    left: AtomicI64,
    cut: Option<Cut>,
}

impl Fate {
    fn of(shared: &Shared) -> (SocketAddr, Self, Random) {
        let mut state = shared.lock();
        let weather = state.weather.clone();
        let left = weather.cut_after.as_ref().map(|range| state.random.within(range));
        let cut = left.and_then(|_| state.random.one_of(&weather.cuts));
        let fate = Self {
            season: state.season,
            left: AtomicI64::new(i64::try_from(left.unwrap_or_default()).unwrap_or(i64::MAX)),
            cut,
            weather,
        };
        let seed = state.random.below(u64::MAX);
        (state.target, fate, Random::new(seed))
    }

    /// Returns how many of `bytes` still pass, and the cut after them, if there is one.
    fn pass(&self, bytes: usize, shared: &Shared) -> (usize, Option<Cut>) {
        let Some(cut) = self.cut else {
            return (bytes, None);
        };
        let wanted = i64::try_from(bytes).unwrap_or(i64::MAX);
        let before = self.left.fetch_sub(wanted, Ordering::SeqCst);
        if before > wanted || shared.lock().season != self.season {
            return (bytes, None);
        }
        (usize::try_from(before.max(0)).unwrap_or(bytes), Some(cut))
    }
}

async fn connection(client: TcpStream, shared: Arc<Shared>) {
    shared.count(|tally| tally.connections += 1);
    let mut cut_all = shared.cut_all.subscribe();
    let (target, fate, mut random) = Fate::of(&shared);
    let Ok(server) = TcpStream::connect(target).await else {
        let _ = client.set_zero_linger();
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let other = Random::new(random.below(u64::MAX));
    let how = tokio::select! {
        how = both(
            way(&mut from_client, &mut to_server, &fate, &shared, random),
            way(&mut from_server, &mut to_client, &fate, &shared, other),
        ) => how,
        changed = cut_all.changed() => changed.is_ok().then(|| cut_all.borrow().1),
    };
    let (Ok(client), Ok(server)) = (from_client.reunite(to_client), from_server.reunite(to_server)) else {
        return;
    };
    let Some(how) = how else { return };
    shared.count(|tally| match how {
        Cut::Reset => tally.resets += 1,
        Cut::Finish => tally.finishes += 1,
        Cut::Silence => tally.silences += 1,
    });
    end(how, client, server).await;
}

/// Ends with the first cut, or when both directions have ended.
async fn both(up: impl Future<Output = Option<Cut>>, down: impl Future<Output = Option<Cut>>) -> Option<Cut> {
    tokio::pin!(up, down);
    tokio::select! {
        how = &mut up => match how {
            None => down.await,
            cut => cut,
        },
        how = &mut down => match how {
            None => up.await,
            cut => cut,
        },
    }
}

/// Carries bytes in one direction until they end or the connection is to be cut.
async fn way(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    fate: &Fate,
    shared: &Shared,
    mut random: Random,
) -> Option<Cut> {
    let (sender, pieces) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    let weather = &fate.weather;
    let reading = async move {
        let mut piece = vec![0; PIECE];
        let mut until_stall = weather.stall.as_ref().map(|(range, _)| random.within(range));
        while let Ok(read @ 1..) = from.read(&mut piece).await {
            let (passed, cut) = fate.pass(read, shared);
            if let (Some(left), Some((range, pause))) = (&mut until_stall, &weather.stall) {
                *left = left.saturating_sub(read as u64);
                if *left == 0 {
                    shared.count(|tally| tally.stalls += 1);
                    sleep(*pause).await;
                    *left = random.within(range);
                }
            }
            let due = Instant::now() + weather.delay;
            if sender.send((due, piece[..passed].to_vec())).await.is_err() {
                return None;
            }
            if cut.is_some() {
                return cut;
            }
        }
        None
    };
    let writing = async {
        // Taken along, so that its end is known to who reads.
        let mut pieces = pieces;
        while let Some((due, piece)) = pieces.recv().await {
            sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
            if let Some(rate) = weather.bytes_per_second {
                sleep(Duration::from_micros(
                    piece.len() as u64 * 1_000_000 / rate.max(1),
                ))
                .await;
            }
        }
    };
    let (cut, ()) = tokio::join!(reading, writing);
    if cut.is_none() {
        let _ = to.shutdown().await;
    }
    cut
}

async fn end(how: Cut, mut client: TcpStream, mut server: TcpStream) {
    match how {
        Cut::Reset => {
            let _ = (client.set_zero_linger(), server.set_zero_linger());
        }
        Cut::Finish => {
            let _ = tokio::join!(client.shutdown(), server.shutdown());
            // What still comes is taken and thrown away: an end that is closed with bytes unread would be a
            // reset.
            let rest = |stream: TcpStream| async move {
                let mut stream = stream;
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
            };
            let _ = timeout(NOTICE, async { tokio::join!(rest(client), rest(server)) }).await;
        }
        Cut::Silence => {
            std::future::pending::<()>().await;
            drop((client, server));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that says back what it hears; and a connection to it through a proxy in this weather.
    async fn through(weather: Weather) -> (Proxy, TcpStream) {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::start(server.local_addr().unwrap(), 7);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = server.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        proxy.weather(weather);
        let stream = TcpStream::connect(proxy.address()).await.unwrap();
        (proxy, stream)
    }

    async fn say_and_hear(stream: &mut TcpStream, bytes: usize) -> (usize, std::io::Result<()>) {
        let (mut from, mut to) = stream.split();
        let said = async {
            let _ = to.write_all(&vec![1; bytes]).await;
            let _ = to.shutdown().await;
        };
        let heard = async {
            let (mut heard, mut piece) = (0, [0; 256]);
            loop {
                match from.read(&mut piece).await {
                    Ok(0) => return (heard, Ok(())),
                    Ok(read) => heard += read,
                    Err(error) => return (heard, Err(error)),
                }
            }
        };
        timeout(BOUND, async { tokio::join!(said, heard).1 })
            .await
            .unwrap()
    }

    fn cut(how: Cut) -> Weather {
        Weather {
            cut_after: Some(100..200),
            cuts: vec![how],
            ..Weather::default()
        }
    }

    #[tokio::test]
    async fn in_fine_weather_all_comes_through() {
        let (proxy, mut stream) = through(Weather::default()).await;
        let (heard, end) = say_and_hear(&mut stream, 500_000).await;
        assert_eq!((heard, end.is_ok()), (500_000, true));
        assert_eq!((proxy.tally().connections, proxy.tally().cuts()), (1, 0));
    }

    #[tokio::test]
    async fn slow_is_not_less() {
        let slow = Weather {
            delay: Duration::from_millis(20),
            bytes_per_second: Some(1_000_000),
            stall: Some((10..20_000, Duration::from_millis(5))),
            ..Weather::default()
        };
        let (proxy, mut stream) = through(slow).await;
        let began = Instant::now();
        let (heard, end) = say_and_hear(&mut stream, 100_000).await;
        assert_eq!((heard, end.is_ok()), (100_000, true));
        assert!(
            began.elapsed() > Duration::from_millis(140),
            "{:?}",
            began.elapsed()
        );
        assert!(proxy.tally().stalls > 0);
    }

    #[tokio::test]
    async fn a_cut_comes_at_its_byte_and_both_ends_notice() {
        for (how, is_error) in [(Cut::Reset, true), (Cut::Finish, false)] {
            let (proxy, mut stream) = through(cut(how)).await;
            let (heard, end) = say_and_hear(&mut stream, 10_000).await;
            assert!(heard < 200, "{how:?}: {heard}");
            assert_eq!(end.is_err(), is_error, "{how:?}: {end:?}");
            assert_eq!(proxy.until(|tally| tally.cuts() == 1).await.connections, 1);
        }
    }

    #[tokio::test]
    async fn after_silence_nobody_hears_anything() {
        let (proxy, mut stream) = through(cut(Cut::Silence)).await;
        stream.write_all(&[1; 10_000]).await.unwrap();
        proxy.until(|tally| tally.silences == 1).await;
        let mut rest = Vec::new();
        let heard = timeout(Duration::from_millis(50), stream.read_to_end(&mut rest)).await;
        assert!(heard.is_err(), "neither an end nor an error: {heard:?}");
    }

    #[tokio::test]
    async fn what_was_in_store_does_not_happen_once_it_is_calm() {
        let (proxy, mut stream) = through(cut(Cut::Reset)).await;
        stream.write_all(&[1; 10]).await.unwrap();
        stream.read_exact(&mut [0; 10]).await.unwrap();
        proxy.calm();
        let (heard, end) = say_and_hear(&mut stream, 10_000).await;
        assert_eq!((heard, end.is_ok()), (10_000, true));
        proxy.cut_all(Cut::Reset);
        assert_eq!(proxy.tally().cuts(), 0, "nobody was left");
    }
}
