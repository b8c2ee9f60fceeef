-- Nothing received later than this was ever reported as complete (backends/reported-time.ts): one row.
CREATE TABLE told_time (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- ms since 1970
  until bigint NOT NULL
);
