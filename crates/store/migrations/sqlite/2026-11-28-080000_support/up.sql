-- When the ceilings that support set end.
ALTER TABLE accounts ADD COLUMN overrides_until INTEGER;

-- The audit trail becomes a chain. Lines from before it began have no number.
ALTER TABLE audit ADD COLUMN number INTEGER;
ALTER TABLE audit ADD COLUMN hash BLOB;
CREATE UNIQUE INDEX audit_by_number ON audit (number);

-- One row: where the chain ends, and how many lines stand outside it.
CREATE TABLE audit_head (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    lines INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    unchained INTEGER NOT NULL
) STRICT;
INSERT INTO audit_head SELECT 1, 0, zeroblob(32), count(*) FROM audit;

-- Append-only: not even a mistake of ours rewrites what was written.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
CREATE TRIGGER audit_is_not_cut BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

-- The newest requests of each account. What they asked about is not kept.
CREATE TABLE requests (
    sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    surface TEXT NOT NULL,
    operation TEXT NOT NULL,
    outcome TEXT NOT NULL,
    units INTEGER NOT NULL
) STRICT;
CREATE INDEX requests_of_account ON requests (account_id, sequence);
CREATE INDEX requests_by_age ON requests (at);
