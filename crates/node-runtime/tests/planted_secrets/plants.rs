//! Two hundred forms of made-up secrets, in one text that is cut into random pieces.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// Numbers that follow from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn chars(&mut self, set: &str, count: usize) -> String {
        let set: Vec<char> = set.chars().collect();
        (0..count).map(|_| set[self.below(set.len())]).collect()
    }

    /// Cuts a text into pieces of up to 40 characters.
    pub(crate) fn pieces(&mut self, text: &str) -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        let (mut pieces, mut from) = (Vec::new(), 0);
        while from < chars.len() {
            let to = (from + 1 + self.below(40)).min(chars.len());
            pieces.push(chars[from..to].iter().collect());
            from = to;
        }
        pieces
    }
}

/// A secret as it stands in the text.
pub(crate) struct Plant {
    /// The text that contains the secret.
    pub(crate) text: String,
    /// The part that must not be found anywhere.
    pub(crate) core: String,
}

const LETTERS: &str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The values that the runtime knows.
pub(crate) fn values() -> Vec<(String, String)> {
    let mut random = Random(7);
    let odd = ["+", "/", "=", "\"", "\\", "&", "ü", " ", ":", "?"];
    let value = |number: usize| {
        let (start, end) = (random.chars(LETTERS, 9), random.chars(LETTERS, 9));
        let middle = odd.get(number).copied().unwrap_or("-");
        (format!("MADE_UP_{number}"), format!("{start}{middle}{end}"))
    };
    (0..16).map(value).collect()
}

/// Two hundred plants: 16 known values in 10 forms, and 40 keys of published forms.
pub(crate) fn plants() -> Vec<Plant> {
    let mut plants: Vec<Plant> = values().iter().flat_map(|(_, value)| forms(value)).collect();
    let mut random = Random(11);
    for number in 0..40 {
        let key = match number % 10 {
            0 => format!("sk-ant-api03-{}AA", random.chars(LETTERS, 93)),
            1 => format!(
                "sk-proj-{}T3BlbkFJ{}",
                random.chars(LETTERS, 74),
                random.chars(LETTERS, 74)
            ),
            2 => format!("AIza{}", random.chars(LETTERS, 35)),
            3 => format!("ghp_{}", random.chars(LETTERS, 36)),
            4 => format!("github_pat_{}", random.chars(LETTERS, 82)),
            5 => format!(
                "xoxb-{}-{}",
                random.chars("123456789", 12),
                random.chars(LETTERS, 24)
            ),
            6 => format!("AKIA{}", random.chars(CAPITALS, 16)),
            7 => format!("sk_live_{}", random.chars(LETTERS, 24)),
            8 => jwt(&random.chars(LETTERS, 43)),
            _ => private_key(&mut random),
        };
        let core = match number % 10 {
            9 => key.lines().nth(1).unwrap().to_owned(),
            _ => key.clone(),
        };
        plants.push(Plant { text: key, core });
    }
    plants
}

fn jwt(signature: &str) -> String {
    let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
    let claims = URL_SAFE_NO_PAD.encode(r#"{"sub":"made up","exp":1}"#);
    format!("{head}.{claims}.{signature}")
}

fn private_key(random: &mut Random) -> String {
    let lines: Vec<String> = (0..4).map(|_| random.chars(LETTERS, 64)).collect();
    format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        lines.join("\n")
    )
}

fn forms(value: &str) -> Vec<Plant> {
    let same = |text: String| Plant {
        core: text.clone(),
        text,
    };
    let hex = |upper: bool| -> String {
        let byte = |byte: u8| {
            if upper {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            }
        };
        value.bytes().map(byte).collect()
    };
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let percent: String = value
        .bytes()
        .map(|byte| {
            if is_plain(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect();
    let quoted = serde_json::to_string(value).unwrap();
    let url = URL_SAFE_NO_PAD.encode(value);
    let mut plants = vec![
        same(value.to_owned()),
        same(percent),
        same(value.bytes().map(|byte| format!("%{byte:02x}")).collect()),
        same(hex(false)),
        same(hex(true)),
        same(quoted[1..quoted.len() - 1].to_owned()),
        Plant {
            core: url[..url.len() - 2].to_owned(),
            text: url,
        },
    ];
    for before in ["", "a", "ab"] {
        let text = STANDARD.encode(format!("{before}{value}xyz"));
        // The characters that follow from the value alone: 6 bits each.
        let (first, end) = (
            (before.len() * 8).div_ceil(6),
            (before.len() + value.len()) * 8 / 6,
        );
        plants.push(Plant {
            core: text[first..end].to_owned(),
            text,
        });
    }
    plants
}

/// All plants in one text, each between two words and on its own line.
pub(crate) fn planted_text() -> String {
    let plants = plants();
    let lines = (0..)
        .zip(&plants)
        .map(|(number, plant)| format!("word{number} {}\nend{number}\n", plant.text));
    lines.collect()
}

#[test]
fn there_are_two_hundred() {
    assert_eq!(plants().len(), 200);
    assert_eq!(planted_text().matches("word").count(), 200);
}
