//! Patterns over dotted topics, taken apart once so that a publication only compares.

use std::fmt;
use std::str::FromStr;

/// A pattern over dotted topics.
///
/// `*` matches exactly one segment; `**`, only as the last segment, any number of them, including none;
/// everything else matches itself.
///
/// | pattern | matches | does not match |
/// | --- | --- | --- |
/// | `tools.requests` | `tools.requests` | `tools.results` |
/// | `tools.*` | `tools.requests` | `tools`, `tools.a.b` |
/// | `*.requests` | `llm.requests` | `llm.results` |
/// | `tools.**` | `tools`, `tools.a.b` | `toolshed` |
/// | `**` | every topic | |
///
/// ```
/// use agentx_bus::TopicPattern;
///
/// let pattern: TopicPattern = "context.*.request".parse()?;
/// assert!(pattern.matches("context.build.request"));
/// assert!(!pattern.matches("context.build.response"));
/// assert!("tools.re*".parse::<TopicPattern>().is_err());
/// # Ok::<(), agentx_bus::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicPattern {
    kind: SegmentKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SegmentKind {
    /// No wildcard: one comparison of the whole topic.
    Exact(Box<str>),
    Segments {
        segments: Box<[TopicSegment]>,
        rest: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TopicSegment {
    Literal(Box<str>),
    One,
}

/// The reason why a text is not a topic pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A segment is empty, or the whole pattern is.
    #[error("topic pattern `{0}` has an empty segment")]
    EmptySegment(String),
    /// `**` is not at the end.
    #[error("topic pattern `{0}` has `**` before its last segment")]
    RestNotLast(String),
    /// A wildcard is mixed with text in one segment.
    #[error("topic pattern `{0}` mixes `*` with text in one segment")]
    MixedSegment(String),
}

impl TopicPattern {
    /// The pattern that matches only this topic, with any characters in it.
    pub fn exact(topic: &str) -> Self {
        Self {
            kind: SegmentKind::Exact(topic.into()),
        }
    }

    /// The pattern that matches this topic and every topic below it, with any characters in it:
    /// `TopicPattern::under("tools")` is `tools.**`.
    pub fn under(topic: &str) -> Self {
        let segments = topic
            .split('.')
            .map(|segment| TopicSegment::Literal(segment.into()))
            .collect();
        Self {
            kind: SegmentKind::Segments { segments, rest: true },
        }
    }

    /// Returns whether this pattern matches the topic.
    pub fn matches(&self, topic: &str) -> bool {
        match &self.kind {
            SegmentKind::Exact(exact) => **exact == *topic,
            SegmentKind::Segments { segments, rest } => matches_segments(segments, *rest, topic),
        }
    }
}

fn matches_segments(segments: &[TopicSegment], rest: bool, topic: &str) -> bool {
    let mut parts = topic.split('.');
    let all_there = segments.iter().all(|segment| match (segment, parts.next()) {
        (TopicSegment::Literal(literal), Some(part)) => **literal == *part,
        (TopicSegment::One, Some(_)) => true,
        (_, None) => false,
    });
    all_there && (rest || parts.next().is_none())
}

impl FromStr for TopicPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let (front, rest) = match text.strip_suffix("**") {
            Some("") => ("", true),
            Some(front) if front.ends_with('.') => (&front[..front.len() - 1], true),
            _ => (text, false),
        };
        if !rest && !text.is_empty() && !text.contains('*') && text.split('.').all(|part| !part.is_empty()) {
            return Ok(Self::exact(text));
        }
        let parts = if rest && text == "**" {
            None
        } else {
            Some(front.split('.'))
        };
        let segments = parts
            .into_iter()
            .flatten()
            .map(|part| segment(part, text))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            kind: SegmentKind::Segments { segments, rest },
        })
    }
}

fn segment(part: &str, whole: &str) -> Result<TopicSegment, PatternError> {
    match part {
        "" => Err(PatternError::EmptySegment(whole.to_owned())),
        "*" => Ok(TopicSegment::One),
        "**" => Err(PatternError::RestNotLast(whole.to_owned())),
        part if part.contains('*') => Err(PatternError::MixedSegment(whole.to_owned())),
        part => Ok(TopicSegment::Literal(part.into())),
    }
}

impl fmt::Display for TopicPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (segments, rest) = match &self.kind {
            SegmentKind::Exact(exact) => return f.write_str(exact),
            SegmentKind::Segments { segments, rest } => (segments, rest),
        };
        let names = segments.iter().map(|segment| match segment {
            TopicSegment::Literal(literal) => literal,
            TopicSegment::One => "*",
        });
        let names: Vec<&str> = names.chain(rest.then_some("**")).collect();
        f.write_str(&names.join("."))
    }
}

#[cfg(test)]
mod tests {
    //! Patterns as data: refused ones, and that a pattern is displayed as it was written.
    use super::*;

    #[test]
    fn a_wrong_pattern_says_what_is_wrong() {
        for (text, error) in [
            ("", PatternError::EmptySegment as fn(String) -> PatternError),
            (".", PatternError::EmptySegment),
            ("a..b", PatternError::EmptySegment),
            ("a.", PatternError::EmptySegment),
            (".**", PatternError::EmptySegment),
            ("**.a", PatternError::RestNotLast),
            ("a.**.**", PatternError::RestNotLast),
            ("a*", PatternError::MixedSegment),
            ("a**", PatternError::MixedSegment),
            ("a.***", PatternError::MixedSegment),
        ] {
            assert_eq!(
                text.parse::<TopicPattern>(),
                Err(error(text.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn a_pattern_shows_as_it_was_written() {
        for text in [
            "tools.requests",
            "tools.*",
            "*.requests",
            "tools.**",
            "*",
            "**",
            "*.**",
        ] {
            assert_eq!(text.parse::<TopicPattern>().unwrap().to_string(), text);
        }
        assert_eq!(TopicPattern::under("tools").to_string(), "tools.**");
    }
}
