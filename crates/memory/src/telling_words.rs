//! The significant words of an input: those that few memories contain.
//!
//! Each word is counted first, up to a bound. Ranking reads every match, so words that very many memories
//! have are left out; they would decide little anyway.

use rusqlite::Connection;

use crate::database::SqlResult;

/// A word that more memories have says nothing.
const COMMON: usize = 150;
/// The number of matches that are ranked.
const RANKED: usize = 800;

/// A search query.
pub(crate) struct WantedWords {
    /// The query of the full-text index.
    pub(crate) query: String,
    /// Whether very many memories match: then they are not ranked.
    pub(crate) is_common: bool,
}

/// Returns the query for the words that tell something, as far as few enough memories have them; for the
/// rarest word if all are common; `None` if no memory has any of them.
pub(crate) fn telling_words(connection: &Connection, queries: Vec<String>) -> SqlResult<Option<WantedWords>> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM memory_words WHERE memory_words MATCH ?1 LIMIT ?2)",
    )?;
    let limit = i64::try_from(COMMON + 1).unwrap_or(i64::MAX);
    let mut counted = Vec::new();
    for query in queries {
        let count: i64 = statement.query_row((&query, limit), |row| row.get(0))?;
        let count = usize::try_from(count).unwrap_or_default();
        if count > 0 {
            counted.push((count, query));
        }
    }
    counted.sort();
    Ok(chosen(&counted))
}

/// Chooses among words with the number of their memories, the rarest first.
fn chosen(counted: &[(usize, String)]) -> Option<WantedWords> {
    let (fewest, rarest) = counted.first()?;
    if *fewest > COMMON {
        return Some(WantedWords {
            query: rarest.clone(),
            is_common: true,
        });
    }
    let mut matches = 0;
    let few = counted.iter().take_while(|(count, _)| {
        matches += count;
        *count <= COMMON && matches <= RANKED
    });
    let few: Vec<&str> = few.map(|(_, query)| query.as_str()).collect();
    Some(WantedWords {
        query: few.join(" OR "),
        is_common: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(counts: &[usize]) -> Option<(usize, bool)> {
        let counted: Vec<_> = counts
            .iter()
            .map(|count| (*count, format!("\"w{count}\"")))
            .collect();
        chosen(&counted).map(|wanted| (wanted.query.matches("\"w").count(), wanted.is_common))
    }

    #[test]
    fn rare_words_are_wanted_and_a_common_one_only_without_others() {
        assert_eq!(choose(&[]), None);
        assert_eq!(choose(&[1, 7, COMMON, COMMON + 1]), Some((3, false)));
        assert_eq!(choose(&[COMMON + 1, COMMON + 1]), Some((1, true)));
        assert_eq!(choose(&[COMMON; 9]), Some((RANKED / COMMON, false)));
    }
}
