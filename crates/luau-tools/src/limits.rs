//! The limits of a run. They are counted regardless of what the host allows.
//!
//! A limit ends a run with [`Reason::Limit`](crate::Reason::Limit), and a script cannot catch it. A limit is
//! checked before it is exceeded: an effect that would be one too many is not begun, and memory that would be
//! too much is not allocated.
//!
//! ```
//! use std::time::Duration;
//!
//! use agentx_luau_tools::ScriptLimits;
//!
//! let flow = ScriptLimits { wall: Duration::from_secs(24 * 3600), ..ScriptLimits::default() };
//! assert_eq!(flow.memory, 32 << 20);
//! assert_eq!(flow.effects, 10_000);
//! ```

use std::fmt;
use std::time::Duration;

/// Limits of one run. `ScriptLimits::default()` suits a tool, which answers within seconds; a flow raises the
/// limits that it needs, most often [`wall`](Self::wall).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Memory of the VM, with garbage that was not collected yet: 32 MiB.
    pub memory: usize,
    /// Time in which the script itself runs (waiting does not count): 2 s.
    pub cpu: Duration,
    /// Time for which the script may compute while it cannot yield its turn, such as in a metamethod or in
    /// one call of a text function: 32 ms of the processor's time. Scripts on the same thread wait meanwhile.
    pub turn: Duration,
    /// Time from the start to the end, waiting included: 5 minutes.
    pub wall: Duration,
    /// The part of [`Self::wall`] that is already used if the run was cut off and is run again: zero by
    /// default.
    pub spent: Duration,
    /// Effects of all kinds in a run: 10,000.
    pub effects: u64,
    /// Effects that reach out (http, generate, invoke, streams) in a run: 256.
    pub requests: u64,
    /// Effects that were begun and not yet awaited, and tasks, at one time: 256.
    pub pending: usize,
    /// Children made with `create_agent` in a run: 32.
    pub agents: u64,
    /// Bytes of all chunks and log lines that the run emits: 4 MiB.
    pub output: usize,
    /// Bytes of the state as JSON: 256 KiB.
    pub state: usize,
    /// Bytes of the arguments, the result and of each request and outcome as JSON: 4 MiB.
    pub json: usize,
    /// The maximum nesting depth of JSON: 64.
    pub json_depth: usize,
    /// The maximum depth of nested tool calls, this run included: 8.
    pub depth: u32,
    /// The depth of this run: 1 for a call by a model.
    pub at_depth: u32,
    /// The number of the person for whom it runs. Runs with different numbers have different threads, up to
    /// 128, and those with one number take turns there as one. Without a number, those of one
    /// [`Owner`](crate::Owner) do.
    pub person: Option<u64>,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            memory: 32 << 20,
            cpu: Duration::from_secs(2),
            turn: Duration::from_millis(32),
            wall: Duration::from_secs(300),
            spent: Duration::ZERO,
            effects: 10_000,
            requests: 256,
            pending: 256,
            agents: 32,
            output: 4 << 20,
            state: 256 << 10,
            json: 4 << 20,
            json_depth: 64,
            depth: 8,
            at_depth: 1,
            person: None,
        }
    }
}

/// The maximum size of a source, and of each library, in bytes.
pub const SOURCE_BYTES: usize = 256 << 10;

/// A limit that a run went over, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitExceeded {
    /// [`ScriptLimits::memory`].
    Memory(usize),
    /// [`ScriptLimits::cpu`].
    Cpu(Duration),
    /// [`ScriptLimits::turn`].
    Turn(Duration),
    /// [`ScriptLimits::wall`].
    Wall(Duration),
    /// [`ScriptLimits::effects`].
    Effects(u64),
    /// [`ScriptLimits::requests`].
    Requests(u64),
    /// [`ScriptLimits::pending`].
    Pending(usize),
    /// [`ScriptLimits::agents`].
    Agents(u64),
    /// [`ScriptLimits::output`].
    Output(usize),
    /// [`ScriptLimits::state`].
    State(usize),
    /// [`ScriptLimits::depth`].
    Depth(u32),
}

impl LimitExceeded {
    /// Returns the name of the field of [`ScriptLimits`].
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Cpu(_) => "cpu",
            Self::Turn(_) => "turn",
            Self::Wall(_) => "wall",
            Self::Effects(_) => "effects",
            Self::Requests(_) => "requests",
            Self::Pending(_) => "pending",
            Self::Agents(_) => "agents",
            Self::Output(_) => "output",
            Self::State(_) => "state",
            Self::Depth(_) => "depth",
        }
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(bytes) => write!(f, "the script needs more than {} of memory", Bytes(*bytes)),
            Self::Cpu(time) => write!(f, "the script computed for more than {time:?}"),
            Self::Turn(time) => write!(
                f,
                "the script computed for more than {time:?} in a metamethod or in one call of a function: do it in smaller parts"
            ),
            Self::Wall(time) => write!(f, "the script took more than {time:?}"),
            Self::Effects(count) => write!(f, "the script started more than {count} effects"),
            Self::Requests(count) => write!(f, "the script made more than {count} requests"),
            Self::Pending(count) => write!(f, "the script left more than {count} effects unawaited"),
            Self::Agents(count) => write!(f, "the script created more than {count} agents"),
            Self::Output(bytes) => write!(f, "the script emitted more than {}", Bytes(*bytes)),
            Self::State(bytes) => write!(f, "the state has more than {}", Bytes(*bytes)),
            Self::Depth(depth) => write!(f, "tool calls are nested more than {depth} deep"),
        }
    }
}

/// A size as people read it.
pub(crate) struct Bytes(pub(crate) usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => write!(f, "{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => write!(f, "{} KiB", bytes >> 10),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}
