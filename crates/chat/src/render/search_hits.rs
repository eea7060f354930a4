//! Renders the hits of a search: the place of each, and as much text around the matched words as fits.

use agentx::runtime::SearchHit;
use unicode_width::UnicodeWidthStr as _;

use super::clean::clean;
use super::table::{cut, table};

/// The width below which an excerpt takes a separate row.
const NARROW: usize = 70;
/// Maximum number of characters that are shown before the found words.
const BEFORE: usize = 20;

/// The hits, the first ones first.
pub fn render(hits: &[SearchHit], words: &str, width: usize) -> String {
    let is_narrow = width < NARROW;
    let place = |hit: &SearchHit| {
        let role = format!("{:?}", hit.role).to_lowercase();
        vec![hit.session_id.to_string(), hit.seq.to_string(), role]
    };
    let places: Vec<Vec<String>> = hits.iter().map(place).collect();
    let used = |cells: &[String]| cells.iter().map(|cell| cell.width() + 2).sum::<usize>();
    let room = if is_narrow {
        width.saturating_sub(2)
    } else {
        width.saturating_sub(places.iter().map(|cells| used(cells)).max().unwrap_or(0))
    };
    let excerpts = hits.iter().map(|hit| {
        let snippet = clean(&hit.snippet).replace('\n', " ");
        excerpt_around(snippet.trim(), words, room)
    });
    let lines = places.into_iter().zip(excerpts);
    if is_narrow {
        return lines
            .map(|(place, excerpt)| format!("{}\n  {excerpt}\n", place.join("  ")))
            .collect();
    }
    let rows: Vec<Vec<String>> = lines
        .map(|(mut place, excerpt)| {
            place.push(excerpt);
            place
        })
        .collect();
    table(&rows, width)
}

/// Returns as much of a text as there is room for, from shortly before the first of the words.
fn excerpt_around(text: &str, words: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let lower = text.to_lowercase();
    let found = words
        .split_whitespace()
        .filter_map(|word| lower.find(word.trim_matches(['"', '*']).to_lowercase().as_str()))
        .min();
    // Some letters are longer in the other case; if that moves the place a little, the words are still there.
    let at = found.map_or(0, |at| lower[..at].chars().count());
    let from = at.saturating_sub(BEFORE.min(room / 3));
    if from == 0 {
        return cut(text, room);
    }
    let rest: String = text.chars().skip(from).collect();
    cut(&format!("…{rest}"), room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_for_is_in_what_is_shown() {
        let text = "one two three four five six seven eight nine ten eleven twelve thirteen";
        let shown = excerpt_around(text, "TWELVE", 30);
        assert!(shown.contains("twelve") && shown.width() <= 30, "{shown}");
        assert!(shown.starts_with('…'), "{shown}");
        assert_eq!(excerpt_around(text, "one", 12), "one two thr…");
        assert_eq!(excerpt_around(text, "nowhere", 12), "one two thr…");
        assert_eq!(excerpt_around("short", "short", 12), "short");
        let shown = excerpt_around(&"船在港口里等着潮水".repeat(9), "潮水", 16);
        assert!(shown.contains("潮水") && shown.width() <= 16, "{shown}");
    }
}
