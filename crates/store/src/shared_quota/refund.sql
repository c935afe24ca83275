, held AS MATERIALIZED (
    SELECT deficit, last_us, day, spent, ceiling
    FROM quota WHERE account = (SELECT account FROM given)
    FOR UPDATE
), clocked AS MATERIALIZED (
    SELECT held.*, cost, charged_at_us, charged_day,
           GREATEST(ceiling, per_minute) AS rate,
           GREATEST(
               COALESCE(clock_us, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint),
               last_us
           ) AS at_us
    FROM held CROSS JOIN given
), due AS MATERIALIZED (
    -- To the minute what has not refilled since the charge, to the day all of it while it is the same one.
    SELECT GREATEST(
               deficit - GREATEST(
                   cost * 60000000
                       - LEAST(GREATEST(at_us - charged_at_us, 0), cost * 60000000 / rate + 1) * rate,
                   0
               ),
               0
           ) AS new_deficit,
           CASE WHEN day = charged_day AND at_us / 86400000000 <= charged_day
                THEN GREATEST(spent - cost, 0) ELSE spent END AS new_spent
    FROM clocked
)
UPDATE quota
SET deficit = new_deficit, spent = new_spent
FROM due
WHERE account = (SELECT account FROM given)
  AND (new_deficit <> quota.deficit OR new_spent <> quota.spent)
