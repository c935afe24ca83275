-- A password as argon2id left it. An account made by command has none until its link is used.
CREATE TABLE passwords (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    hash TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One link an account. Hashes are SHA-256 of 256 random bits.
CREATE TABLE sign_in_links (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    created_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    authenticated_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_account ON sessions (account_id, created_at, id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE INDEX api_keys_by_ending ON api_keys (last_four);
