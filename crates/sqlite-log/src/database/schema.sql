-- The format of the database, version 1. What each column means is told here; how `data` is laid out, in rows/codec.rs.

-- One row a session. `base` is the session that holds the shared events of a fork up to `at_seq`; it may be an ancestor
-- of `parent`, the session that the fork was made of. A `session_id` of the form ANCESTOR@FORK: see link.rs. `stale`: a run is under way, or the last batches were only
-- deltas, so `updated_at` is behind the last row of `batches`.
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  parent TEXT,
  at_seq INTEGER NOT NULL,
  base INTEGER,
  base_hash BLOB NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  stale INTEGER NOT NULL DEFAULT 0,
  deleted_at INTEGER,
  title TEXT NOT NULL DEFAULT '',
  workspace TEXT NOT NULL,
  model TEXT NOT NULL DEFAULT '',
  status TEXT,
  base_messages INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_base ON sessions (base) WHERE base IS NOT NULL;
CREATE INDEX sessions_latest ON sessions (owner, updated_at) WHERE deleted_at IS NULL AND stale = 0;
CREATE INDEX sessions_stale ON sessions (owner) WHERE deleted_at IS NULL AND stale = 1;

-- The facts. `id` = session row << 36 | first seq, so that a session's rows lie together and in order.
CREATE TABLE batches (
  id INTEGER PRIMARY KEY,
  last_seq INTEGER NOT NULL,
  starts INTEGER NOT NULL,
  at INTEGER NOT NULL,
  hash BLOB NOT NULL,
  derived BLOB,
  data BLOB NOT NULL
);

CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  touched_at INTEGER NOT NULL,
  data BLOB NOT NULL
);

-- Which session names which blob, and at which event first. `present`: the blob was there when it was named.
CREATE TABLE blob_refs (
  session INTEGER NOT NULL,
  hash BLOB NOT NULL,
  seq INTEGER NOT NULL,
  present INTEGER NOT NULL,
  PRIMARY KEY (session, hash)
) WITHOUT ROWID;
CREATE INDEX blob_refs_hash ON blob_refs (hash);

-- Read models: all of what follows can be made again from the facts.
-- `number` counts the messages of a session, those that it shares included.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  number INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  agent_state_id TEXT NOT NULL,
  role TEXT NOT NULL,
  preview TEXT NOT NULL
);
CREATE UNIQUE INDEX messages_id ON messages (session, message_id);
CREATE INDEX messages_seq ON messages (session, seq);

CREATE TABLE spent (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  run_id TEXT,
  model TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost INTEGER NOT NULL,
  PRIMARY KEY (session, seq)
) WITHOUT ROWID;

-- How many tokens of what was spent are an estimate, where some are.
CREATE TABLE estimated (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (session, seq)
) WITHOUT ROWID;

-- How many tokens of what was spent have a price that is not fully known, where the rest has one.
CREATE TABLE unpriced (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (session, seq)
) WITHOUT ROWID;

-- The first reminder of a session that has one, and the time at which it is due.
CREATE TABLE reminders (
  session INTEGER PRIMARY KEY,
  due_at INTEGER NOT NULL
);

-- What others than the owner may do in a session.
CREATE TABLE roles (
  person TEXT NOT NULL,
  session INTEGER NOT NULL,
  role TEXT NOT NULL,
  PRIMARY KEY (person, session)
) WITHOUT ROWID;

-- The words of messages, not their text: see search/mod.rs.
CREATE VIRTUAL TABLE words USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2"
);
