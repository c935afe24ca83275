-- Whose event it is: a listing that may no longer be shown takes its events along.
ALTER TABLE listing_events ADD COLUMN key TEXT;
UPDATE listing_events SET key = json_extract(CAST(body AS TEXT), '$.listing.listing_key');
CREATE INDEX listing_events_by_key ON listing_events (key);
