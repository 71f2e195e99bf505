ALTER TABLE noisy_run_records SET (fillfactor = 25);
