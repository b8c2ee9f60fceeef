-- One event leads to its facts and changes, and these, by the primary keys, to all the rest. So the
-- index by event moves to where the way begins; the booking of an event costs what it did.
ALTER TABLE money_facts
    ADD INDEX IF NOT EXISTS by_event event_id TYPE bloom_filter(0.001) GRANULARITY 4;
ALTER TABLE money_facts MATERIALIZE INDEX by_event;
ALTER TABLE subscription_changes
    ADD INDEX IF NOT EXISTS by_event event_id TYPE bloom_filter(0.001) GRANULARITY 4;
ALTER TABLE subscription_changes MATERIALIZE INDEX by_event;
ALTER TABLE transactions DROP INDEX IF EXISTS by_event;
ALTER TABLE mrr_movements DROP INDEX IF EXISTS by_event;
