-- Which part of the books this database has: place 0 of 1 is all of them, place -1 none, where
-- databases of their own have them (STATE_DATABASE_URLS). Written at the first start.
CREATE TABLE book_place (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  place integer NOT NULL,
  places integer NOT NULL
);
INSERT INTO book_place (place, places)
SELECT 0, 1 WHERE EXISTS (SELECT FROM book_partitions);
