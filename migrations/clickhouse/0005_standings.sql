-- What rows beside the changes of subscriptions say of their payments (schemas/records Standing), so
-- that those few are found without reading all. Its subscription is the item of the only step.
ALTER TABLE subscription_changes
    ADD COLUMN IF NOT EXISTS standing LowCardinality(String)
    MATERIALIZED if(subscription = '' AND notEmpty(steps), steps[1].2[1].3, '')
    COMMENT 'failing, unpaid, ended_unpaid, ended_otherwise; empty of all other rows';
