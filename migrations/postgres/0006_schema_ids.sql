-- Ids by which messages on the public topics name their schema (backends/public-schemas.ts): a row
-- stands here before the first message that carries its id, and never goes.
CREATE TABLE schema_ids (
  topic text NOT NULL,
  id integer NOT NULL,
  -- Who gave the id: the URL of a registry, without credentials; empty for our own.
  registry text NOT NULL,
  version integer NOT NULL,
  schema text NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (topic, id, registry)
);
