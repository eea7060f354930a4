//! The names of a session's people for one reader. Every screen uses this module, so that a person has the
//! same name everywhere: the name that the reader gave them, otherwise their id. Two people are never called
//! the same.

use std::collections::{BTreeMap, BTreeSet};

use agentx::identity::OPERATOR;
use agentx::types::{OwnerId, RuntimeEvent, VISITORS};

use super::clean::visible;

/// Characters of an id that are shown if they name one person only.
const SHORT: usize = 12;

/// The number of people whose ids are compared; if there are more, ids are shown in full.
const MOST_MET: usize = 4_096;

/// The names of the people of a session.
#[derive(Clone, Debug, Default)]
pub struct PersonNames {
    /// The names that the reader gave.
    given: BTreeMap<OwnerId, String>,
    /// All ids that are known here. In their order, those that begin alike are neighbours.
    met: BTreeSet<OwnerId>,
    /// The reader and the owner of the session, if they are different people.
    guest: Option<(OwnerId, OwnerId)>,
}

impl PersonNames {
    /// The names that the reader gave to people.
    pub fn new(given: BTreeMap<OwnerId, String>) -> Self {
        Self {
            met: given.keys().cloned().collect(),
            given,
            guest: None,
        }
    }

    /// Sets the reader and the owner of the session.
    pub fn read_by(&mut self, reader: &OwnerId, owner: &OwnerId) {
        self.meet(reader);
        self.meet(owner);
        self.guest = (reader != owner).then(|| (reader.clone(), owner.clone()));
    }

    /// Adds a person to those whose ids must stay different when they are cut.
    pub fn meet(&mut self, person: &OwnerId) {
        if self.met.len() < MOST_MET && !self.met.contains(person) {
            self.met.insert(person.clone());
        }
    }

    /// Notes the person whose words an event adds to the conversation.
    pub(crate) fn meet_in(&mut self, event: &RuntimeEvent) {
        if let RuntimeEvent::UserMessageAdded(added) = event
            && let Some(person) = &added.message.by
        {
            self.meet(person);
        }
    }

    /// Returns the names that the reader gave.
    pub fn given(&self) -> &BTreeMap<OwnerId, String> {
        &self.given
    }

    /// Returns the name of a person: the given name, followed by the id if others have the same name; else
    /// the shortest beginning of the id that names one person.
    pub fn name(&self, person: &OwnerId) -> String {
        let Some(name) = self.given.get(person) else {
            return self.short_id(person);
        };
        let is_shared = self.given.values().filter(|other| *other == name).count() > 1;
        if is_shared {
            format!("{} ({})", visible(name), self.short_id(person))
        } else {
            visible(name)
        }
    }

    /// Returns the name of the author `by`; `None` for the reader, and for an owner whom the message does not
    /// name.
    pub fn speaker(&self, by: Option<&OwnerId>) -> Option<String> {
        match (by, &self.guest) {
            (Some(by), Some((reader, _))) if by == reader => None,
            (Some(by), _) => Some(self.name(by)),
            (None, Some((_, owner))) => Some(self.name(owner)),
            (None, None) => None,
        }
    }

    fn short_id(&self, person: &OwnerId) -> String {
        match person.as_str() {
            VISITORS => return "a visitor".to_owned(),
            // Others can make a key whose id begins with this one.
            OPERATOR => return "the operator".to_owned(),
            _ => {}
        }
        let id = visible(person.as_str());
        let before = self.met.range::<OwnerId, _>(..person).next_back();
        let after = self
            .met
            .range::<OwnerId, _>(person..)
            .find(|other| *other != person);
        let like = |other: &OwnerId| {
            let other = visible(other.as_str());
            let alike = id.chars().zip(other.chars());
            alike.take_while(|(one, other)| one == other).count()
        };
        let shared = before.into_iter().chain(after).map(like).max().unwrap_or(0);
        let shown = SHORT.max(shared + 1);
        match id.char_indices().nth(shown) {
            Some((at, _)) if self.met.len() < MOST_MET => format!("{}…", &id[..at]),
            _ => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(id: &str) -> OwnerId {
        OwnerId::new(id)
    }

    fn named(given: &[(&str, &str)]) -> PersonNames {
        let given = given
            .iter()
            .map(|(person, name)| (id(person), (*name).to_owned()));
        PersonNames::new(given.collect())
    }

    #[test]
    fn two_people_who_are_trusted_under_one_name_are_told_apart_by_their_ids() {
        let names = named(&[
            ("own_aaaaaaaaaaaa1", "Ada"),
            ("own_bbbbbbbbbbbb1", "Ada"),
            ("own_cccccccccccc1", "Bob"),
        ]);
        assert_eq!(names.name(&id("own_aaaaaaaaaaaa1")), "Ada (own_aaaaaaaa…)");
        assert_eq!(names.name(&id("own_bbbbbbbbbbbb1")), "Ada (own_bbbbbbbb…)");
        assert_eq!(names.name(&id("own_cccccccccccc1")), "Bob");
        let alike = named(&[("own_aaaaaaaaaaaa1", "Ada"), ("own_aaaaaaaaaaaa2", "Ada")]);
        assert_eq!(alike.name(&id("own_aaaaaaaaaaaa1")), "Ada (own_aaaaaaaaaaaa1)");
    }

    #[test]
    fn an_id_is_cut_to_what_names_one_person() {
        let mut names = named(&[]);
        let [one, two] = ["own_aaaaaaaaaaaaaaaaaaaa", "own_aaaaaaaabbbbbbbbbbbb"].map(id);
        names.meet(&one);
        assert_eq!(names.name(&one), "own_aaaaaaaa…");
        names.meet(&two);
        assert_eq!(
            [names.name(&one), names.name(&two)],
            ["own_aaaaaaaaa…", "own_aaaaaaaab…"]
        );
        assert_eq!(names.name(&id("own_local")), "the operator");
        assert_eq!(names.name(&id("own_localaaaaaaaaaaa")), "own_localaaa…");
        assert_eq!(names.name(&id(VISITORS)), "a visitor");
        assert_eq!(names.name(&id("own_\u{1b}[2J")), visible("own_\u{1b}[2J"));
        for number in 0..MOST_MET {
            names.meet(&OwnerId::new(format!("own_{number}")));
        }
        assert_eq!(names.name(&one), one.as_str(), "so many are not compared");
    }

    #[test]
    fn who_reads_has_no_name_and_everybody_else_has() {
        let mut names = named(&[("own_guest", "Gil")]);
        let (owner, guest) = (id("own_owner"), id("own_guest"));
        names.read_by(&owner, &owner);
        assert_eq!(names.speaker(None), None, "the owner reads");
        assert_eq!(names.speaker(Some(&guest)).as_deref(), Some("Gil"));
        names.read_by(&guest, &owner);
        assert_eq!(names.speaker(None).as_deref(), Some("own_owner"));
        assert_eq!(names.speaker(Some(&guest)), None, "the guest reads");
        assert_eq!(
            names.speaker(Some(&id("own_third"))).as_deref(),
            Some("own_third")
        );
    }
}
