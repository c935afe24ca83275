-- The last good value of each mortgage rate series. Dates are the publisher's own text, rates percent a year.
CREATE TABLE rate_series (
    id TEXT NOT NULL PRIMARY KEY,
    observed_on TEXT NOT NULL,
    rate_percent REAL NOT NULL,
    points REAL,
    previous_observed_on TEXT,
    previous_rate_percent REAL,
    previous_points REAL,
    fetched_at INTEGER NOT NULL,
    CHECK ((previous_observed_on IS NULL) = (previous_rate_percent IS NULL))
) STRICT;
