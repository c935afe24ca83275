-- Index files that every instance fetches into its own folder, as opaque bytes in parts. A version without its row in
-- index_files is not whole.
CREATE TABLE index_parts (
    name TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    part INTEGER NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (name, version, part)
);
-- The bytes are compressed already, or as good as random.
ALTER TABLE index_parts ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE index_files (
    name TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    ordinal BIGINT NOT NULL,
    length BIGINT NOT NULL,
    parts INTEGER NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (name, version),
    UNIQUE (name, ordinal)
);
