-- One record an account: missing sub-units of the bucket as of the last charge (microseconds since the epoch), units spent on
-- a UTC day (days since 1970-01-01), and the largest ceiling it was charged under since it last paused for a minute.
-- Half of each page stays free and no other index is there, so that an update stays on its page.
CREATE TABLE quota (
    account TEXT NOT NULL PRIMARY KEY,
    deficit BIGINT NOT NULL CHECK (deficit >= 0),
    last_us BIGINT NOT NULL CHECK (last_us >= 0),
    day BIGINT NOT NULL CHECK (day >= 0),
    spent BIGINT NOT NULL CHECK (spent >= 0),
    ceiling BIGINT NOT NULL CHECK (ceiling >= 0)
) WITH (fillfactor = 50);
