CREATE TABLE database_stamp (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    kind TEXT NOT NULL CHECK (kind IN ('sample', 'real'))
);

CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    tier TEXT NOT NULL,
    role TEXT NOT NULL,
    suspended_at TIMESTAMPTZ,
    suspension_reason TEXT,
    per_minute BIGINT CHECK (per_minute >= 0),
    per_day BIGINT CHECK (per_day >= 0),
    created_at TIMESTAMPTZ NOT NULL,
    CHECK ((suspended_at IS NULL) = (suspension_reason IS NULL))
);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    environment TEXT NOT NULL,
    hash BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    prefix TEXT NOT NULL,
    last_four TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ
);
CREATE INDEX api_keys_of_account ON api_keys (account_id, created_at, id);

-- No foreign key: the trail outlives what it tells of.
CREATE TABLE audit (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at TIMESTAMPTZ NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    account_id TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_of_account ON audit (account_id, at, id);

-- No foreign keys: a counter is never refused.
CREATE TABLE usage_counts (
    account_id TEXT NOT NULL,
    day DATE NOT NULL,
    key_id TEXT NOT NULL,
    surface TEXT NOT NULL,
    operation TEXT NOT NULL,
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    units BIGINT NOT NULL,
    rate_limited BIGINT NOT NULL,
    permanent BIGINT NOT NULL,
    PRIMARY KEY (account_id, day, key_id, surface, operation)
);

-- Bodies are compressed before they come here.
CREATE TABLE reports (
    key TEXT NOT NULL PRIMARY KEY,
    body BYTEA NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
ALTER TABLE reports ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX reports_by_end ON reports (expires_at);

CREATE TABLE leases (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL
);

-- One line an account: units it may have spent on a UTC day (days since 1970-01-01), written ahead of the spending. The
-- bucket (missing sub-units, as of microseconds since the epoch) is known only where the program stopped cleanly.
CREATE TABLE quota_spent (
    account TEXT NOT NULL PRIMARY KEY,
    day BIGINT NOT NULL CHECK (day >= 0),
    spent BIGINT NOT NULL CHECK (spent >= 0),
    deficit BIGINT,
    last_us BIGINT,
    CHECK ((deficit IS NULL) = (last_us IS NULL))
);
