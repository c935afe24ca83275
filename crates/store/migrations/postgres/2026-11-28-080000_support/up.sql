-- When the ceilings that support set end.
ALTER TABLE accounts ADD COLUMN overrides_until TIMESTAMPTZ;

-- The audit trail becomes a chain. Lines from before it began have no number.
ALTER TABLE audit ADD COLUMN number BIGINT;
ALTER TABLE audit ADD COLUMN hash BYTEA;
CREATE UNIQUE INDEX audit_by_number ON audit (number);

-- One row: where the chain ends, and how many lines stand outside it.
CREATE TABLE audit_head (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    lines BIGINT NOT NULL,
    hash BYTEA NOT NULL CHECK (length(hash) = 32),
    unchained BIGINT NOT NULL
);
INSERT INTO audit_head SELECT 1, 0, decode(repeat('00', 32), 'hex'), count(*) FROM audit;

-- Append-only: not even a mistake of ours rewrites what was written.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only';
END
$$;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_append_only();

-- The newest requests of each account. What they asked about is not kept.
CREATE TABLE requests (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    key_id TEXT NOT NULL,
    surface TEXT NOT NULL,
    operation TEXT NOT NULL,
    outcome TEXT NOT NULL,
    units BIGINT NOT NULL
);
CREATE INDEX requests_of_account ON requests (account_id, sequence);
CREATE INDEX requests_by_age ON requests (at);
