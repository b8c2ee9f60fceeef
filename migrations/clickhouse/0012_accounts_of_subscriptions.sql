-- Under which accounts a subscription was ever reported, by a look at its name: a renewal looks whether
-- there is another than its own. Atomic with the rows, so that whoever wrote and then looks sees it.
ALTER TABLE subscription_changes ADD PROJECTION IF NOT EXISTS by_subscription
(
    SELECT workspace, environment, provider, subscription, account, count()
    GROUP BY workspace, environment, provider, subscription, account
);
ALTER TABLE subscription_changes MATERIALIZE PROJECTION by_subscription;
