-- The last good value of each mortgage rate series. Dates are the publisher's own text, rates percent a year.
CREATE TABLE rate_series (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    observed_on TEXT NOT NULL,
    rate_percent DOUBLE PRECISION NOT NULL,
    points DOUBLE PRECISION,
    previous_observed_on TEXT,
    previous_rate_percent DOUBLE PRECISION,
    previous_points DOUBLE PRECISION,
    fetched_at TIMESTAMPTZ NOT NULL,
    CHECK ((previous_observed_on IS NULL) = (previous_rate_percent IS NULL))
);
