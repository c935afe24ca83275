-- Scans, listings and events, each by the ZIP that was scanned. Bodies are JSON.
CREATE TABLE listing_areas (
    zip TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    first_snapshot_at INTEGER NOT NULL,
    last_complete_scan_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE listing_scans (
    zip TEXT NOT NULL PRIMARY KEY,
    id INTEGER NOT NULL,
    feed TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    next_page TEXT,
    pages INTEGER NOT NULL
) STRICT;

CREATE TABLE listing_pages (
    scan INTEGER NOT NULL,
    page INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (scan, page)
) STRICT;

CREATE TABLE listings (
    key TEXT NOT NULL PRIMARY KEY,
    zip TEXT NOT NULL,
    bbl TEXT,
    bin TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX listings_by_zip ON listings (zip);
CREATE INDEX listings_by_bbl ON listings (bbl);
CREATE INDEX listings_by_bin ON listings (bin);

-- Append-only. Money in cents.
CREATE TABLE listing_events (
    id INTEGER NOT NULL PRIMARY KEY,
    zip TEXT NOT NULL,
    listing_type TEXT NOT NULL,
    detected_at INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    property_type TEXT NOT NULL,
    price INTEGER,
    previous_price INTEGER,
    bedrooms INTEGER,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX listing_events_by_time ON listing_events (detected_at, id);

-- One row: the last number of a scan, an event or a version. Its lock puts them in the order in which they are seen.
CREATE TABLE listing_numbers (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO listing_numbers (id, last) VALUES (1, 0);
