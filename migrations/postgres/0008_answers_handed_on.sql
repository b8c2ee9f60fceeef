-- Whether what the answers add is on its way: if not, it is received when it is handed on, since figures may
-- have been reported as complete meanwhile (processors/enrich-adorn.ts).
ALTER TABLE kept_answers ADD COLUMN handed_on boolean NOT NULL DEFAULT true;
