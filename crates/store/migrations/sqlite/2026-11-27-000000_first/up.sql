-- Moments are microseconds since the Unix epoch; days are YYYY-MM-DD.

CREATE TABLE database_stamp (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    kind TEXT NOT NULL CHECK (kind IN ('sample', 'real'))
) STRICT;

CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    tier TEXT NOT NULL,
    role TEXT NOT NULL,
    suspended_at INTEGER,
    suspension_reason TEXT,
    per_minute INTEGER CHECK (per_minute >= 0),
    per_day INTEGER CHECK (per_day >= 0),
    created_at INTEGER NOT NULL,
    CHECK ((suspended_at IS NULL) = (suspension_reason IS NULL))
) STRICT;

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    environment TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    prefix TEXT NOT NULL,
    last_four TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;
CREATE INDEX api_keys_of_account ON api_keys (account_id, created_at, id);

-- No foreign key: the trail outlives what it tells of.
CREATE TABLE audit (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    account_id TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_of_account ON audit (account_id, at, id);

-- No foreign keys: a counter is never refused.
CREATE TABLE usage_counts (
    account_id TEXT NOT NULL,
    day TEXT NOT NULL,
    key_id TEXT NOT NULL,
    surface TEXT NOT NULL,
    operation TEXT NOT NULL,
    calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    units INTEGER NOT NULL,
    rate_limited INTEGER NOT NULL,
    permanent INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, key_id, surface, operation)
) STRICT, WITHOUT ROWID;

CREATE TABLE reports (
    key TEXT NOT NULL PRIMARY KEY,
    body BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX reports_by_end ON reports (expires_at);

CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    ends_at INTEGER NOT NULL
) STRICT;

-- One line an account: units it may have spent on a UTC day (days since 1970-01-01), written ahead of the spending. The
-- bucket (missing sub-units, as of microseconds since the epoch) is known only where the program stopped cleanly.
CREATE TABLE quota_spent (
    account TEXT NOT NULL PRIMARY KEY,
    day INTEGER NOT NULL CHECK (day >= 0),
    spent INTEGER NOT NULL CHECK (spent >= 0),
    deficit INTEGER,
    last_us INTEGER,
    CHECK ((deficit IS NULL) = (last_us IS NULL))
) STRICT, WITHOUT ROWID;
