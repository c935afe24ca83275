-- A password as argon2id left it. An account made by command has none until its link is used.
CREATE TABLE passwords (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    hash TEXT NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL
);

-- One link an account. Hashes are SHA-256 of 256 random bits.
CREATE TABLE sign_in_links (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
    hash BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    account_id TEXT NOT NULL REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    last_seen_at TIMESTAMPTZ NOT NULL,
    authenticated_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL
);
CREATE INDEX sessions_of_account ON sessions (account_id, created_at, id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE INDEX api_keys_by_ending ON api_keys (last_four);
