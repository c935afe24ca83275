-- Whose event it is: a listing that may no longer be shown takes its events along.
ALTER TABLE listing_events ADD COLUMN key TEXT COLLATE "C";
UPDATE listing_events SET key = convert_from(body, 'UTF8')::json -> 'listing' ->> 'listing_key';
CREATE INDEX listing_events_by_key ON listing_events (key);
