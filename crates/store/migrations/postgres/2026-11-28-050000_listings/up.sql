-- Scans, listings and events, each by the ZIP that was scanned. Bodies are JSON.
CREATE TABLE listing_areas (
    zip TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    first_snapshot_at TIMESTAMPTZ NOT NULL,
    last_complete_scan_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE listing_scans (
    zip TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    id BIGINT NOT NULL,
    feed TEXT NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    next_page TEXT,
    pages BIGINT NOT NULL
);

CREATE TABLE listing_pages (
    scan BIGINT NOT NULL,
    page BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (scan, page)
);

CREATE TABLE listings (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    zip TEXT COLLATE "C" NOT NULL,
    bbl TEXT COLLATE "C",
    bin TEXT COLLATE "C",
    body BYTEA NOT NULL
);
CREATE INDEX listings_by_zip ON listings (zip);
CREATE INDEX listings_by_bbl ON listings (bbl);
CREATE INDEX listings_by_bin ON listings (bin);

-- Append-only. Money in cents.
CREATE TABLE listing_events (
    id BIGINT NOT NULL PRIMARY KEY,
    zip TEXT COLLATE "C" NOT NULL,
    listing_type TEXT NOT NULL,
    detected_at TIMESTAMPTZ NOT NULL,
    event_type TEXT NOT NULL,
    property_type TEXT NOT NULL,
    price BIGINT,
    previous_price BIGINT,
    bedrooms BIGINT,
    body BYTEA NOT NULL
);
CREATE INDEX listing_events_by_time ON listing_events (detected_at, id);

-- One row: the last number of a scan, an event or a version. Its lock puts them in the order in which they are seen.
CREATE TABLE listing_numbers (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    last BIGINT NOT NULL
);
INSERT INTO listing_numbers (id, last) VALUES (1, 0);
