//! The former names of keys, which files may still use.

/// Former names of keys, each with the current one. Files may use them, but they are not listed. A `*` is at
/// the same level in both.
pub(crate) const FORMER_KEYS: &[(&str, &str)] = &[
    ("allow_plain", "allow_plain_http"),
    ("calls.connect_timeout", "model_calls.connect_timeout"),
    ("calls.first_byte_timeout", "model_calls.first_byte_timeout"),
    ("calls.idle_timeout", "model_calls.idle_timeout"),
    ("calls.retries", "model_calls.retries"),
    ("calls.retry_for", "model_calls.max_retry_time"),
    ("calls.timeout", "model_calls.timeout"),
    ("chat.status_every", "chat.status_interval"),
    ("members.directory", "members_dir"),
    ("models.*.length_field", "models.*.max_tokens_field"),
    ("quotas.bytes", "quotas.storage_bytes"),
    ("quotas.calls", "quotas.running_tool_calls"),
    ("quotas.cost", "quotas.daily_cost"),
    ("quotas.queued", "quotas.queued_messages"),
    ("quotas.running", "quotas.running_sessions"),
    ("quotas.tokens", "quotas.auth_tokens"),
    ("search.api_key", "web_search.api_key"),
    ("search.engine", "web_search.engine"),
    ("search.url", "web_search.url"),
    ("tools.search_at", "tools.find_tools_at"),
];
