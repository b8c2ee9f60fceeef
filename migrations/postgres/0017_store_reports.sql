-- Stores' reports of a month: sums, never payments (workspaces/history/reports.ts).
CREATE TABLE store_reports (
  integration text NOT NULL REFERENCES integrations (id),
  kind text NOT NULL CHECK (kind IN ('sales', 'finance', 'earnings', 'estimated_sales')),
  -- YYYY-MM
  month text NOT NULL,
  -- What it covers; the end is exclusive.
  from_at timestamptz NOT NULL,
  to_at timestamptz NOT NULL,
  lines integer NOT NULL,
  -- [{product, currency, paid, refunded}] in minor units, as text.
  sums jsonb NOT NULL,
  -- [{currency, amount}], the same.
  proceeds jsonb NOT NULL,
  uploaded_at timestamptz NOT NULL,
  PRIMARY KEY (integration, kind, month)
);
