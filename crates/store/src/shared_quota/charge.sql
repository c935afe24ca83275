, looked AS MATERIALIZED (
    SELECT COALESCE(clock_us, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint) AS now_us
    FROM given
), seen AS MATERIALIZED (
    -- A first look without the lock. What does not fit what is committed already is refused from here: nothing is locked,
    -- written or flushed for it.
    SELECT deficit, last_us, day, spent, now_us,
           GREATEST(deficit - LEAST(GREATEST(now_us - last_us, 0), deficit / per_minute + 1) * per_minute, 0)
               + cost * 60000000 > per_minute * 60000000
           OR CASE WHEN GREATEST(now_us, last_us) / 86400000000 > day THEN 0 ELSE spent END
               + cost > per_day AS short
    FROM quota CROSS JOIN looked CROSS JOIN given
    WHERE quota.account = (SELECT account FROM given)
), held AS MATERIALIZED (
    -- Waits for its turn at the account's row and reads it as the one before left it.
    SELECT deficit, last_us, day, spent, ceiling
    FROM quota
    WHERE account = (SELECT account FROM given) AND NOT EXISTS (SELECT FROM seen WHERE short)
    FOR UPDATE
), clocked AS MATERIALIZED (
    -- The clock is read for each row that comes out of the lock, so after it.
    SELECT held.*,
           COALESCE(clock_us, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint) AS now_us
    FROM held CROSS JOIN given
), settled AS MATERIALIZED (
    SELECT clocked.*, cost, per_minute, per_day,
           GREATEST(now_us, last_us) AS at_us,
           GREATEST(now_us, last_us) / 86400000000 AS today
    FROM clocked CROSS JOIN given
), due AS MATERIALIZED (
    SELECT now_us, at_us, per_minute, per_day,
           GREATEST(deficit - LEAST(at_us - last_us, deficit / per_minute + 1) * per_minute, 0)
               + cost * 60000000 AS new_deficit,
           GREATEST(day, today) AS new_day,
           CASE WHEN today > day THEN 0 ELSE spent END + cost AS new_spent,
           CASE WHEN at_us - last_us < 60000000 THEN GREATEST(ceiling, per_minute) ELSE per_minute END AS new_ceiling
    FROM settled
), charged AS (
    UPDATE quota
    SET deficit = new_deficit, last_us = at_us, day = new_day, spent = new_spent, ceiling = new_ceiling
    FROM due
    WHERE account = (SELECT account FROM given)
      AND new_deficit <= per_minute * 60000000
      AND new_spent <= per_day
    RETURNING quota.deficit, quota.last_us, quota.day, quota.spent, due.now_us
), opened AS (
    -- An account without a row has everything, and the cost is within both ceilings.
    INSERT INTO quota (account, deficit, last_us, day, spent, ceiling)
    SELECT account, cost * 60000000, now_us, now_us / 86400000000, cost, per_minute
    FROM (
        SELECT account, cost, per_minute,
               COALESCE(clock_us, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint) AS now_us
        FROM given
        WHERE NOT EXISTS (SELECT FROM seen)
    ) AS first
    ON CONFLICT (account) DO NOTHING
    RETURNING deficit, last_us, day, spent
)
SELECT TRUE, deficit, last_us, day, spent, now_us FROM charged
UNION ALL
SELECT TRUE, deficit, last_us, day, spent, last_us FROM opened
UNION ALL
SELECT FALSE, deficit, last_us, day, spent, now_us FROM seen WHERE short
UNION ALL
SELECT FALSE, deficit, last_us, day, spent, now_us FROM clocked WHERE NOT EXISTS (SELECT FROM charged)
