-- From version 0.1. Pieces that replace what they create serve a fresh installation and an update alike.

-- include 26-formula.sql
-- include 27-curve.sql
-- include 35-attribution-tables.sql
-- include 36-timeline.sql
-- include 36-checkpoints.sql
-- include 45-host.sql
-- include 46-calibration.sql
-- include 47-calibration-compare.sql
-- include 48-deletion.sql
-- include 50-workload.sql
-- include 60-views.sql
-- include 65-sensitivity.sql
-- include 66-sanity.sql
-- include 67-open-loop.sql
-- include 68-attribution.sql
-- include 68-lock-probe.sql
-- include 69-checkpoints.sql
-- include 69-compare.sql
-- include 70-report.sql
-- include 71-report-guard.sql
-- include 72-report-pictures.sql
-- include 73-export.sql
-- include 74-calibration-run.sql
-- include 75-prometheus.sql
-- include 76-html.sql
-- include 77-html-style.sql
-- include 78-html-charts.sql
-- include 79-html-page.sql
-- include 90-privileges.sql
-- include 95-strangers.sql

-- Its answer was a run that settles the question in one of two cases; noisy_blocks_for_power() says how many settle it in nine of ten.
DROP FUNCTION noisy_blocks_needed(float8, float8, float8);

-- The later states of a run find room in the page of the first, so that they can be recorded on a full disk.
ALTER TABLE noisy_run_records ALTER COLUMN label SET STORAGE MAIN, ALTER COLUMN parameters SET STORAGE MAIN,
    ALTER COLUMN environment SET STORAGE MAIN, ALTER COLUMN error SET STORAGE MAIN;

COMMENT ON COLUMN noisy_run_records.error IS 'why the run failed, was aborted or was stopped';
COMMENT ON COLUMN noisy_runs.error IS 'why the run failed, was aborted or was stopped';
COMMENT ON COLUMN noisy_host_usage.own_pct IS 'conductor, sample and lock workers, percent of the host';
COMMENT ON COLUMN noisy_blocks.accepted IS 'whether results count this block: the judgement of the block guard when the run ended';
