-- The format of memory.db, version 1.

-- `folder` is empty for everywhere. `call` is the call that proposed it, empty if none did. `state`: proposed, accepted, refused.
CREATE TABLE memories (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  owner TEXT NOT NULL,
  text TEXT NOT NULL,
  state TEXT NOT NULL,
  pinned INTEGER NOT NULL,
  folder TEXT NOT NULL,
  session TEXT NOT NULL,
  seq INTEGER NOT NULL,
  call TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX memories_call ON memories (session, call) WHERE call <> '';
CREATE INDEX memories_state ON memories (owner, state);
CREATE INDEX memories_pinned ON memories (owner) WHERE pinned = 1;
CREATE INDEX memories_text ON memories (owner, lower(text));

-- The words of the memories, not their text; `porter` makes one of the forms of an English word.
CREATE VIRTUAL TABLE memory_words USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2"
);
PRAGMA user_version = 1;
