//! The selection of events for a subscriber. A filter is built once and only compared afterwards, on the path
//! of every publication.

use crate::route::{RouteNames, Routed};
use crate::topic::TopicPattern;

/// A choice of events: by type, topic, session, agent state or run.
///
/// Names of one kind are alternatives, kinds narrow each other: two sessions and one topic choose the events
/// of either session that have that topic. An event that carries no session is not chosen by a session.
/// [`Filter::or`] joins whole filters; an event that both want is still delivered once.
///
/// ```
/// use agentx_bus::{Filter, TopicPattern};
/// # struct Event(&'static str, &'static str);
/// # impl agentx_bus::Routed for Event {
/// #     fn event_type(&self) -> &str { self.0 }
/// #     fn topic(&self) -> &str { self.1 }
/// #     fn session(&self) -> Option<&str> { Some("ses_1") }
/// #     fn agent_state(&self) -> Option<&str> { None }
/// #     fn run(&self) -> Option<&str> { None }
/// # }
///
/// let results = Filter::all().event_type("tool_result").event_type("error").session("ses_1");
/// let filter = results.or(Filter::all().topic(TopicPattern::under("ui")));
///
/// assert!(filter.matches(&Event("tool_result", "tools.results")));
/// assert!(filter.matches(&Event("text_delta", "ui.events")));
/// assert!(!filter.matches(&Event("text_chunk", "llm.results")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The clauses before the last one, to which [`Filter::or`] adds; an event needs to match only one.
    others: Vec<Clause>,
    last: Clause,
}

/// A conjunction. An empty list matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Clause {
    event_types: Names,
    topics: Vec<TopicPattern>,
    sessions: Names,
    agent_states: Names,
    runs: Names,
}

impl Filter {
    /// Every event.
    pub fn all() -> Self {
        Self {
            others: Vec::new(),
            last: Clause::default(),
        }
    }

    /// Narrows to events of this type, or of another type named before.
    #[must_use]
    pub fn event_type(mut self, name: &str) -> Self {
        self.last.event_types.add(name);
        self
    }

    /// Narrows to topics that match this pattern, or another one named before.
    #[must_use]
    pub fn topic(mut self, pattern: TopicPattern) -> Self {
        self.last.topics.push(pattern);
        self
    }

    /// Narrows to events of this session, or of another session named before.
    #[must_use]
    pub fn session(mut self, id: &str) -> Self {
        self.last.sessions.add(id);
        self
    }

    /// Narrows to events of this agent state, or of another agent state named before.
    #[must_use]
    pub fn agent_state(mut self, id: &str) -> Self {
        self.last.agent_states.add(id);
        self
    }

    /// Narrows to events of this run, or of another run named before.
    #[must_use]
    pub fn run(mut self, id: &str) -> Self {
        self.last.runs.add(id);
        self
    }

    /// Also accepts events that the other filter wants. Later conditions narrow only the other filter's last
    /// part, so build both sides first.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let mut others = self.others;
        others.push(self.last);
        others.extend(other.others);
        Self {
            others,
            last: other.last,
        }
    }

    /// Returns whether the filter matches the event.
    pub fn matches<E: Routed>(&self, event: &E) -> bool {
        self.wants(&RouteNames::of(event))
    }

    /// Returns whether the filter matches everything, so that no name needs to be compared.
    pub(crate) fn wants_all(&self) -> bool {
        self.others.iter().chain([&self.last]).any(Clause::is_empty)
    }

    pub(crate) fn wants(&self, route: &RouteNames<'_>) -> bool {
        self.last.wants(route) || self.others.iter().any(|clause| clause.wants(route))
    }
}

impl Clause {
    fn is_empty(&self) -> bool {
        let ids = [&self.event_types, &self.sessions, &self.agent_states, &self.runs];
        self.topics.is_empty() && ids.iter().all(|names| names.0.is_empty())
    }

    fn wants(&self, route: &RouteNames<'_>) -> bool {
        self.sessions.admit(route.session)
            && self.runs.admit(route.run)
            && self.agent_states.admit(route.agent_state)
            && self.event_types.admit(Some(route.event_type))
            && (self.topics.is_empty() || self.topics.iter().any(|topic| topic.matches(route.topic)))
    }
}

/// Names in order, so that a long list is searched by halves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names(Vec<Box<str>>);

impl Names {
    fn add(&mut self, name: &str) {
        if let Err(place) = self.0.binary_search_by(|known| (**known).cmp(name)) {
            self.0.insert(place, name.into());
        }
    }

    fn admit(&self, name: Option<&str>) -> bool {
        match (self.0.as_slice(), name) {
            ([], _) => true,
            (_, None) => false,
            ([only], Some(name)) => **only == *name,
            (known, Some(name)) => known.binary_search_by(|known| (**known).cmp(name)).is_ok(),
        }
    }
}
