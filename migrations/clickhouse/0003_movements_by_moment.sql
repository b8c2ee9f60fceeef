-- Who moved MRR in a month, and how many churned, are asked of single movements: with the account
-- and the time of recording beside them they are read in the order of time, not all of them. Under
-- another name: a part that still has `by_time` must not be read as if it had these columns.
ALTER TABLE mrr_movements
    ADD PROJECTION IF NOT EXISTS by_moment
    (
        SELECT workspace, environment, at, account, vintage, provider, external_id, kind, currency, country,
               plan_interval, mrr, accounts, subscriptions, recorded_at
        ORDER BY (workspace, environment, at)
    );

ALTER TABLE mrr_movements DROP PROJECTION IF EXISTS by_time;

ALTER TABLE mrr_movements MATERIALIZE PROJECTION by_moment;
