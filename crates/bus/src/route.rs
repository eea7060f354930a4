//! The names by which a subscriber may choose an event: everything that the bus needs to know about it. The
//! bus is generic over the event, so it does not depend on the system's types.

/// An event that can be routed. Each name is fixed for the life of the event.
///
/// The bus asks for the names while it holds its lock: they must be plain getters, and not use the bus.
///
/// ```
/// use agentx_bus::{Filter, Routed};
///
/// struct Tick;
///
/// impl Routed for Tick {
///     fn event_type(&self) -> &str { "tick" }
///     fn topic(&self) -> &str { "clock.tick" }
///     fn session(&self) -> Option<&str> { None }
///     fn agent_state(&self) -> Option<&str> { None }
///     fn run(&self) -> Option<&str> { None }
/// }
///
/// assert!(Filter::all().event_type("tick").matches(&Tick));
/// assert!(!Filter::all().session("ses_1").matches(&Tick));
/// ```
pub trait Routed {
    /// The tag of the event, such as `text_delta`.
    fn event_type(&self) -> &str;
    /// The dotted topic, such as `tools.requests`.
    fn topic(&self) -> &str;
    /// The session that it belongs to, if any.
    fn session(&self) -> Option<&str>;
    /// The agent state that it belongs to, if any.
    fn agent_state(&self) -> Option<&str>;
    /// The run that it belongs to, if any.
    fn run(&self) -> Option<&str>;
}

/// The names of one event, computed once, however many filters compare them.
#[derive(Clone, Copy)]
pub(crate) struct RouteNames<'a> {
    pub(crate) event_type: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) session: Option<&'a str>,
    pub(crate) agent_state: Option<&'a str>,
    pub(crate) run: Option<&'a str>,
}

impl<'a> RouteNames<'a> {
    pub(crate) fn of<E: Routed>(event: &'a E) -> Self {
        Self {
            event_type: event.event_type(),
            topic: event.topic(),
            session: event.session(),
            agent_state: event.agent_state(),
            run: event.run(),
        }
    }
}
