//! Threads that read: started when they are needed, each with its own connection, so that a long read never
//! holds up an append. A database in memory has only one connection, so the writer thread reads too.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::database::options::LogOptions;
use crate::database::schema::{Location, open_reader};
use crate::error::Fault;

/// A read task, which sends its own answer.
pub(crate) type ReadTask = Box<dyn FnOnce(Result<&Connection, Fault>) + Send>;

/// The number of readings that may wait.
const QUEUE: usize = 64;

pub(crate) struct Readers {
    location: Location,
    options: LogOptions,
    jobs: Arc<Mutex<mpsc::Receiver<ReadTask>>>,
    /// The number of readings that were given out and are not answered yet.
    busy: Arc<AtomicUsize>,
    threads: Mutex<Threads>,
}

struct Threads {
    sender: Option<mpsc::Sender<ReadTask>>,
    handles: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn new(location: Location, options: LogOptions) -> Self {
        let (sender, jobs) = mpsc::channel(QUEUE);
        Self {
            location,
            options,
            jobs: Arc::new(Mutex::new(jobs)),
            busy: Arc::new(AtomicUsize::new(0)),
            threads: Mutex::new(Threads {
                sender: Some(sender),
                handles: Vec::new(),
            }),
        }
    }

    /// Queues a reading; waits if the queue is full.
    pub(crate) async fn send(&self, reading: ReadTask) -> Result<(), Fault> {
        let sender = self.sender()?;
        self.busy.fetch_add(1, Ordering::Relaxed);
        sender.send(reading).await.map_err(|_| closed())
    }

    fn sender(&self) -> Result<mpsc::Sender<ReadTask>, Fault> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = threads.sender.clone().ok_or_else(closed)?;
        let running = threads.handles.len();
        if running <= self.busy.load(Ordering::Relaxed) && running < self.options.readers.max(1) {
            threads.handles.push(self.start()?);
        }
        Ok(sender)
    }

    fn start(&self) -> Result<JoinHandle<()>, Fault> {
        let (location, options) = (self.location.clone(), self.options.clone());
        let (jobs, busy) = (self.jobs.clone(), self.busy.clone());
        let run = move || {
            let mut connection = None;
            while let Some(reading) = next(&jobs) {
                read_one(reading, &mut connection, &location, &options);
                busy.fetch_sub(1, Ordering::Relaxed);
            }
        };
        let thread = std::thread::Builder::new()
            .name("agentx-log-reader".to_owned())
            .spawn(run);
        thread.map_err(|e| Fault::Other(format!("a reader thread cannot be started: {e}")))
    }

    /// Waits until everything in the queue is answered.
    pub(crate) fn close(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.sender = None;
        let handles = std::mem::take(&mut threads.handles);
        drop(threads);
        for handle in handles {
            if handle.join().is_err() {
                tracing::error!("a reader thread of the session log panicked");
            }
        }
    }
}

fn next(jobs: &Mutex<mpsc::Receiver<ReadTask>>) -> Option<ReadTask> {
    jobs.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .blocking_recv()
}

fn read_one(
    reading: ReadTask,
    connection: &mut Option<Connection>,
    location: &Location,
    options: &LogOptions,
) {
    if connection.is_none() {
        match open_reader(location, options) {
            Ok(opened) => *connection = Some(opened),
            Err(fault) => return reading(Err(fault)),
        }
    }
    if let Some(connection) = connection {
        reading(Ok(connection));
    }
}

fn closed() -> Fault {
    Fault::Other("the session log is closed".to_owned())
}
