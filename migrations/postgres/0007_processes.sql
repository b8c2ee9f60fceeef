-- What several processes agree on.

-- What one of them does at a time, or any of them once in a while.
CREATE TABLE leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  until timestamptz NOT NULL
);

-- Up to what each may still have calls at its door (backends/doors.ts).
CREATE TABLE doors (
  process text PRIMARY KEY,
  -- ms since 1970: it stamps nothing earlier, and has nothing earlier that is not in the log.
  earliest bigint NOT NULL,
  until timestamptz NOT NULL
);
