//! The properties of a model that follow from its name.

/// A model as the vendor knows it.
#[derive(Clone, Debug)]
pub(super) struct VendorModel {
    /// The requested name.
    pub(super) name: String,
    family: String,
    /// Major and minor version: 45 is 4.5.
    version: u32,
    /// The tokens that it can read.
    pub(super) window: u64,
}

impl VendorModel {
    /// Returns the model of this name, or the one that it is an alias of; `None` if it is unknown or retired.
    pub(super) fn named(name: &str, like: &str) -> Option<Self> {
        let mut parts = like.strip_prefix("claude-")?.split('-');
        let family = parts.next()?.to_owned();
        let major: u32 = parts.next()?.parse().ok()?;
        let minor = parts
            .next()
            .filter(|part| part.len() == 1)
            .and_then(|part| part.parse().ok());
        let version = major * 10 + minor.unwrap_or(0);
        let known = ["opus", "sonnet", "haiku", "fable", "mythos"].contains(&family.as_str());
        let window = if version >= 46 { 1_000_000 } else { 200_000 };
        (known && version >= 45).then_some(Self {
            name: name.to_owned(),
            family,
            version,
            window,
        })
    }

    /// Returns the most that it writes.
    pub(super) fn max_output(&self) -> u64 {
        match self.version {
            46 if self.family == "sonnet" => 64_000,
            0..=45 => 64_000,
            _ => 128_000,
        }
    }

    pub(super) fn takes_budget(&self) -> bool {
        self.version <= 46
    }

    pub(super) fn takes_adaptive(&self) -> bool {
        self.version >= 46
    }

    pub(super) fn always_thinks(&self) -> bool {
        self.family == "fable" || (self.version >= 55 && self.family != "haiku")
    }

    /// Returns whether it thinks by default.
    pub(super) fn thinks_by_default(&self) -> bool {
        self.binds()
    }

    pub(super) fn takes_temperature(&self) -> bool {
        self.version <= 46
    }

    pub(super) fn takes_prefill(&self) -> bool {
        self.version <= 45
    }

    /// Returns whether the words of its thinking are left out unless `display` asks for them.
    pub(super) fn omits_thinking(&self) -> bool {
        self.version >= 47
    }

    /// Returns whether the model refuses thinking blocks whose prefix has changed.
    pub(super) fn binds(&self) -> bool {
        match self.family.as_str() {
            "fable" | "mythos" => self.version >= 51,
            _ => self.version >= 55,
        }
    }

    /// Returns whether it refuses thinking whose prefix changed. Mythos 5.1 binds and does not check.
    pub(super) fn checks_prefixes(&self) -> bool {
        self.binds() && !(self.family == "mythos" && self.version == 51)
    }

    /// Returns whether it can read thinking of `producer`; other thinking is silently dropped.
    pub(super) fn reads(&self, producer: &str) -> bool {
        let older = ["claude-opus-5", "claude-opus-5-5"];
        producer == self.name
            || producer.starts_with("claude-haiku-5-5")
            || (self.name == "claude-fable-5-1" && older.contains(&producer))
    }
}
