//! The names of agents on a screen. Agents with the same name get a number, as calls of one tool do: a script
//! may make many agents called `character`.

use std::collections::HashMap;

use agentx::types::AgentStateId;

/// The names of the people who are present.
#[derive(Debug, Default)]
pub(crate) struct AgentNames {
    there: HashMap<AgentStateId, (String, usize)>,
}

impl AgentNames {
    /// Adds an agent and returns its displayed name, with a number if another agent has the same name.
    pub(crate) fn add(&mut self, id: &AgentStateId, name: &str) -> String {
        let others = self.there.iter().filter(|(other, _)| *other != id);
        let taken: Vec<usize> = others
            .filter(|(_, (other, _))| other == name)
            .map(|(_, (_, number))| *number)
            .collect();
        let number = (1..).find(|number| !taken.contains(number)).unwrap_or(1);
        self.there.insert(id.clone(), (name.to_owned(), number));
        match number {
            1 => name.to_owned(),
            number => format!("{name} {number}"),
        }
    }

    /// Removes an agent and frees its name.
    pub(crate) fn remove(&mut self, id: &AgentStateId) {
        self.there.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_one_name_have_numbers_while_they_are_there_together() {
        let mut names = AgentNames::default();
        let ids = ["a", "b", "c", "d"].map(AgentStateId::new);
        assert_eq!(names.add(&ids[0], "scout"), "scout");
        assert_eq!(names.add(&ids[1], "scout"), "scout 2");
        assert_eq!(names.add(&ids[1], "scout"), "scout 2");
        assert_eq!(names.add(&ids[2], "cook"), "cook");
        names.remove(&ids[0]);
        assert_eq!(names.add(&ids[3], "scout"), "scout");
    }
}
