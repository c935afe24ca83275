-- Index files that every instance fetches into its own folder, as opaque bytes in parts. A version without its row in
-- index_files is not whole.
CREATE TABLE index_parts (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    part INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (name, version, part)
) STRICT;

CREATE TABLE index_files (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    length INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (name, version),
    UNIQUE (name, ordinal)
) STRICT;
