-- Calls in flight by their workspace: a long import holds up the figures of its own workspace only.
-- Null: the process is of a version that promises only `earliest`, for all of them.
ALTER TABLE ingest_processes
  ADD COLUMN others bigint,
  ADD COLUMN by_workspace jsonb;
