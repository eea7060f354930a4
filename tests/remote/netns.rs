//! Two hosts with a cable between them, as network namespaces: a server on one, a mirror on the other. The
//! cable is pulled while a session streams, for so short that nobody notices and for so long that the mirror
//! does, and put back: it continues without a gap. If this process may not make namespaces, it says that this
//! was passed by.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use agentx_remote_runtime::{ConnectionState, RemoteRuntime};
use agentx_runtime::View;
use agentx_tests::remote::{Seen, Web, Who, Worker, mirror};
use agentx_tests::{BOUND, Running, World, workspace_root};
use nix::sched::{CloneFlags, setns};
use serde_json::json;

/// Two hosts. They are gone with this.
struct Hosts {
    name: String,
}

/// The address of the server.
const SERVER: &str = "10.213.0.1:5200";

fn script(args: &[&str]) -> Result<(), String> {
    let path = workspace_root().join("tests/remote/netns.sh");
    let ran = Command::new("sh").arg(path).args(args).output();
    let ran = ran.map_err(|error| error.to_string())?;
    if ran.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned())
}

impl Hosts {
    fn make() -> Result<Self, String> {
        let name = format!("agx{}", std::process::id());
        let made = script(&["make", &name]);
        // What was made of them before it failed is removed too.
        let hosts = Self { name };
        made.map(|()| hosts)
    }

    fn cable(&self, state: &str) {
        script(&["cable", &self.name, state]).unwrap();
    }

    fn file(&self, host: &str) -> PathBuf {
        PathBuf::from(format!("/run/netns/{}-{host}", self.name))
    }

    /// Does something on a host: what it opens belongs there, wherever it is used later.
    fn on<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(self.file(host)).unwrap();
        std::thread::scope(|scope| {
            let working = scope.spawn(move || {
                setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
                work()
            });
            working.join().unwrap()
        })
    }

    /// A runtime whose connections all come from that host.
    fn runtime(&self, host: &'static str) -> tokio::runtime::Runtime {
        let file = self.file(host);
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .on_thread_start(move || {
                let namespace = File::open(&file).unwrap();
                setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            })
            .build()
            .unwrap()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = script(&["remove", &self.name]);
    }
}

/// A server on the first host.
fn serve(hosts: &Hosts, world: &World) -> Running {
    let program = world.command(&["serve", "--json", "--listen", SERVER, "--insecure-listen"]);
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", &format!("{}-a", hosts.name)])
        .arg(program.get_program())
        .args(program.get_args())
        .env_clear()
        .envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(program.get_current_dir().unwrap());
    let running = Running::start(command);
    running.says(SERVER, 1);
    running
}

/// Does something on the threads of a host.
fn at<T: Send + 'static>(
    runtime: &tokio::runtime::Runtime,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let bounded = async { tokio::time::timeout(3 * BOUND, work).await.expect("in time") };
    runtime.block_on(runtime.spawn(bounded)).unwrap()
}

/// A session that streams on the first host, followed there and from the other one.
struct Scene<'a> {
    hosts: &'a Hosts,
    world: World,
    server: Running,
    near: tokio::runtime::Runtime,
    far: tokio::runtime::Runtime,
    direct: Arc<Web>,
    session: String,
    near_seen: Arc<Seen>,
    far_seen: Arc<Seen>,
    remote: Arc<RemoteRuntime>,
}

impl<'a> Scene<'a> {
    fn new(hosts: &'a Hosts) -> Self {
        let worker = hosts.on("a", Worker::start);
        let world = World::new(&worker.url());
        world.config("approval: auto\n");
        let who = Who::operator(&world, 1);
        let server = serve(hosts, &world);
        let url = format!("http://{SERVER}");
        let (near, far) = (hosts.runtime("a"), hosts.runtime("b"));
        let (direct, session) = at(&near, {
            let (url, who) = (url.clone(), who.clone());
            async move {
                let web = Web::new(&url, &who, "near").signed_in().await;
                let session = web.new_session().await;
                let text = "work cable turns=2 words=100000 pace=5";
                web.say(&session, text, "cable").await.done();
                (Arc::new(web), session)
            }
        });
        let watch = |client: &'static str, seen: &Arc<Seen>| {
            let (url, who, session, seen) = (url.clone(), who.clone(), session.clone(), seen.clone());
            async move {
                let runtime = Arc::new(mirror::remote(&url, &who, client).await.unwrap());
                mirror::mirror(runtime.clone(), &session, View::Environment, seen);
                runtime
            }
        };
        let near_seen = Arc::new(Seen::new("the mirror beside the server"));
        let far_seen = Arc::new(Seen::new("the mirror on the other host"));
        at(&near, watch("near", &near_seen));
        let remote = at(&far, watch("far", &far_seen));
        Self {
            hosts,
            world,
            server,
            near,
            far,
            direct,
            session,
            near_seen,
            far_seen,
            remote,
        }
    }

    /// Waits until a reader has so many events more.
    fn wait(&self, seen: &Arc<Seen>, more: usize) {
        let (seen, count) = (seen.clone(), seen.count() + more);
        at(&self.near, async move { seen.comes_to(count).await });
    }

    /// So short that the connection lives on.
    fn short(&self) {
        self.hosts.cable("down");
        let before = self.far_seen.count();
        self.wait(&self.near_seen, 600);
        let came = self.far_seen.count() - before;
        assert!(came < 300, "the cable is pulled, and {came} events came");
        self.hosts.cable("up");
        self.wait(&self.far_seen, 800);
    }

    /// So long that the mirror notices.
    fn long(&self) {
        self.hosts.cable("down");
        let mut connection = self.remote.connection();
        at(&self.far, async move {
            let lost = |state: &ConnectionState| matches!(state, ConnectionState::Waiting { .. });
            connection.wait_for(lost).await.unwrap();
        });
        self.hosts.cable("up");
        let missing = self.near_seen.count() - self.far_seen.count();
        self.wait(&self.far_seen, missing + 100);
    }

    /// Both have what the server has.
    fn ends(self) {
        let (direct, session) = (self.direct.clone(), self.session.clone());
        let log = at(&self.near, async move {
            let path = format!("/v1/sessions/{session}/interrupt");
            direct.post(&path, &json!({})).await;
            direct.export(&session).await
        });
        for seen in [&self.near_seen, &self.far_seen] {
            self.wait(seen, log.len().saturating_sub(seen.count()));
            assert_eq!(seen.lines()[..log.len()], log[..], "the same, and no gap");
        }
        eprintln!("{} events came through", log.len());
        drop(self.server);
        self.world.check(&self.session);
    }
}

#[test]
fn a_cable_that_is_pulled_and_put_back_leaves_no_gap() {
    match Hosts::make() {
        Ok(hosts) => {
            let scene = Scene::new(&hosts);
            scene.wait(&scene.far_seen, 100);
            scene.short();
            scene.long();
            scene.ends();
        }
        // Not every machine where checks run lets a process make network namespaces.
        Err(why) => eprintln!("not run: a cable between two hosts: {why}"),
    }
}
