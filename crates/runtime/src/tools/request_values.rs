//! Values that the caller gives to the tools of one run: the person's identity, an open connection, a budget.
//! They are not part of the session: the log does not have them, and a process that continues the session has
//! to supply them again.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeMap;
use std::sync::Arc;

type StoredValues = (&'static str, Arc<dyn Any + Send + Sync>);

/// Values by type, one of each. Clones share them.
///
/// This is the only place with run-time types: only the tool knows which values it needs, and only the caller
/// has them.
///
/// ```
/// use agentx_runtime::RequestValues;
///
/// struct Person(&'static str);
///
/// let values = RequestValues::default().with(Person("ada"));
/// assert_eq!(values.get::<Person>().map(|person| person.0), Some("ada"));
/// assert!(values.get::<u32>().is_none());
/// ```
#[derive(Clone, Default)]
pub struct RequestValues {
    by_type: Arc<BTreeMap<TypeId, StoredValues>>,
}

impl RequestValues {
    /// Returns these values with `value` in place of any other of its type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let stored: StoredValues = (type_name::<T>(), Arc::new(value));
        Arc::make_mut(&mut self.by_type).insert(TypeId::of::<T>(), stored);
        self
    }

    /// The value of this type, if there is one.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        let (_, value) = self.by_type.get(&TypeId::of::<T>())?;
        value.downcast_ref()
    }

    /// Returns whether no value was set.
    pub fn is_empty(&self) -> bool {
        self.by_type.is_empty()
    }
}

/// Names of types only: values may be secrets.
impl std::fmt::Debug for RequestValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(self.by_type.values().map(|(name, _)| name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::RequestValues;

    #[test]
    fn one_of_each_type_and_none_is_shown() {
        struct Secret(#[expect(dead_code, reason = "it must not be shown")] &'static str);
        let values = RequestValues::default()
            .with(1_u32)
            .with(2_u32)
            .with(Secret("hush"));
        assert_eq!(values.get::<u32>(), Some(&2));
        assert!(values.get::<u64>().is_none() && !values.is_empty());
        let shown = format!("{values:?}");
        assert!(shown.contains("Secret") && !shown.contains("hush"), "{shown}");
    }
}
