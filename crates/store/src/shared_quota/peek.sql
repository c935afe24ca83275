
SELECT FALSE, COALESCE(deficit, 0), COALESCE(last_us, 0), COALESCE(quota.day, 0), COALESCE(spent, 0),
       COALESCE(clock_us, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint)
FROM given LEFT JOIN quota ON quota.account = given.account
