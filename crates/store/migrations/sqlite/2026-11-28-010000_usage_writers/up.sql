-- The last batch of counts that each process wrote, by which one that it sends again is known. One row a process, which goes
-- some days after its last word.
CREATE TABLE usage_writers (
    writer TEXT NOT NULL PRIMARY KEY,
    batch INTEGER NOT NULL,
    forget_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
