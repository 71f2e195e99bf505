-- Who may do what. Functions that load, write or connect are nobody's but the owner's: the owner grants them.
-- Reading is pg_monitor's. The functions of histograms and formulas read nothing and stay everybody's; so do the
-- text helpers of the report.

GRANT SELECT ON
    noisy_run_records, noisy_blocks, noisy_dose, noisy_timeline, noisy_wait_samples, noisy_bgwriter, noisy_host_usage,
    noisy_progress, noisy_runs, noisy_results, noisy_block_effects, noisy_impact, noisy_wait_events
    TO pg_monitor;

GRANT EXECUTE ON FUNCTION noisy_live_run() TO pg_monitor;

REVOKE ALL ON FUNCTION
    noisy_report_what(bigint), noisy_report_effect(bigint, text), noisy_report_verdict(bigint), noisy_report_results(bigint),
    noisy_report_impact(bigint), noisy_report_dose(bigint), noisy_report_waits(bigint), noisy_report_server(bigint),
    noisy_report_host(bigint), noisy_report_warnings_run(bigint), noisy_report_warnings_host(bigint), noisy_report(bigint)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    noisy_report_what(bigint), noisy_report_effect(bigint, text), noisy_report_verdict(bigint), noisy_report_results(bigint),
    noisy_report_impact(bigint), noisy_report_dose(bigint), noisy_report_waits(bigint), noisy_report_server(bigint),
    noisy_report_host(bigint), noisy_report_warnings_run(bigint), noisy_report_warnings_host(bigint), noisy_report(bigint)
    TO pg_monitor;
