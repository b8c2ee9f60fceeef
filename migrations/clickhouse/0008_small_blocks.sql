-- To look up an account a block of each column is read whole: in blocks of 4 kB instead of 64 the
-- changes of 2,000 accounts among a million took 0.49 s of processor time instead of 0.64, a scan
-- as long as before, for a fiftieth more on disk. Of parts that are there already, when merged.
ALTER TABLE subscription_changes MODIFY SETTING min_compress_block_size = 4096;
