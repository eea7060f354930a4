//! Texts as people and models write them, as far as an index can tell: few words often, many words seldom,
//! some of them 中文.

/// The number of words.
const WORDS: usize = 60_000;
const SYLLABLES: [&str; 24] = [
    "ba", "con", "der", "el", "fi", "ga", "hin", "is", "jo", "ka", "lu", "men", "no", "or", "pre", "qua",
    "re", "sta", "ti", "un", "ver", "wo", "xy", "zo",
];

/// Says one text after the other, always the same.
pub(crate) struct Words {
    state: u64,
    words: Vec<String>,
}

impl Words {
    pub(crate) fn new() -> Self {
        let words = (0..WORDS).map(word).collect();
        Self { state: 7, words }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A word: the first ones far more often than the last.
    fn word(&mut self) -> &str {
        let r = (self.random() >> 11) as f64 / (1_u64 << 53) as f64;
        let at = (WORDS as f64).powf(r) as usize - 1;
        &self.words[at.min(WORDS - 1)]
    }

    /// At least so many bytes of them.
    pub(crate) fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            let word = self.word().to_owned();
            text.push_str(&word);
            text.push(if self.random().is_multiple_of(12) {
                '\n'
            } else {
                ' '
            });
        }
        text
    }

    /// The word of this rank; 0 is the most frequent.
    pub(crate) fn of_rank(&self, rank: usize) -> &str {
        &self.words[rank]
    }
}

fn word(rank: usize) -> String {
    if rank % 10 == 9 {
        // Two characters, 0x4e00 to 0x9fff.
        let c = |n: usize| char::from_u32(0x4e00 + (n % 20_000) as u32).unwrap_or('中');
        return [c(rank * 7), c(rank * 13 + 5)].iter().collect();
    }
    let mut word = String::new();
    let mut rest = rank + 24;
    while rest > 0 {
        word.push_str(SYLLABLES[rest % 24]);
        rest /= 24;
    }
    word
}
