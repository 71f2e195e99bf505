-- The host as it is now, and what can be measured on it.

CREATE FUNCTION noisy_host_now(
    OUT host_name text, OUT cpu_model text, OUT architecture text, OUT usable_cpus float8, OUT online_cpus int,
    OUT affinity_cpus int, OUT quota_cpus float8, OUT quota_period_ms float8, OUT quota_source text, OUT l2_bytes bigint,
    OUT llc_bytes bigint, OUT llc_source text, OUT mem_total_bytes bigint, OUT mem_available_bytes bigint,
    OUT mem_limit_bytes bigint, OUT mem_used_bytes bigint, OUT mem_limit_source text, OUT autogroup int,
    OUT clocksource text, OUT governor text, OUT kernel text, OUT virtualisation text, OUT load_1min float8,
    OUT block_size_bytes int
) RETURNS record
AS 'MODULE_PATHNAME', 'nn_sql_host'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
REVOKE ALL ON FUNCTION noisy_host_now() FROM PUBLIC;
COMMENT ON FUNCTION noisy_host_now() IS 'the host as it is now; read noisy_host';

CREATE VIEW noisy_host AS SELECT * FROM noisy_host_now();
COMMENT ON VIEW noisy_host IS 'the host as it is now, as the extension sees it; a run keeps it in noisy_runs.environment';
COMMENT ON COLUMN noisy_host.host_name IS 'name of the host';
COMMENT ON COLUMN noisy_host.cpu_model IS 'model of the CPU; NULL: the host does not say';
COMMENT ON COLUMN noisy_host.architecture IS 'architecture';
COMMENT ON COLUMN noisy_host.usable_cpus IS 'CPUs that this server may use: the smaller of its affinity and the CPU quota; fractional';
COMMENT ON COLUMN noisy_host.online_cpus IS 'CPUs of the host that are online';
COMMENT ON COLUMN noisy_host.affinity_cpus IS 'CPUs that the affinity mask allows';
COMMENT ON COLUMN noisy_host.quota_cpus IS 'CPU quota of our control group or of a parent, the smallest; NULL: none';
COMMENT ON COLUMN noisy_host.quota_period_ms IS 'period of that quota, ms';
COMMENT ON COLUMN noisy_host.quota_source IS 'file that holds it';
COMMENT ON COLUMN noisy_host.l2_bytes IS 'size of the second-level cache; NULL: not known';
COMMENT ON COLUMN noisy_host.llc_bytes IS 'size of the last-level cache';
COMMENT ON COLUMN noisy_host.llc_source IS 'where that size is from: sysfs, sysconf or fallback';
COMMENT ON COLUMN noisy_host.mem_total_bytes IS 'memory of the host';
COMMENT ON COLUMN noisy_host.mem_available_bytes IS 'memory that is available without swapping';
COMMENT ON COLUMN noisy_host.mem_limit_bytes IS 'memory limit of our control group or of a parent, the smallest; NULL: none';
COMMENT ON COLUMN noisy_host.mem_used_bytes IS 'memory used of that limit, without file pages that would give way';
COMMENT ON COLUMN noisy_host.mem_limit_source IS 'file that holds the limit';
COMMENT ON COLUMN noisy_host.autogroup IS 'sched_autogroup: 1: the scheduler weighs sessions against each other; 0: it does not; NULL: not known';
COMMENT ON COLUMN noisy_host.clocksource IS 'source of the system''s clock';
COMMENT ON COLUMN noisy_host.governor IS 'governor of the CPU''s frequency; NULL: not offered';
COMMENT ON COLUMN noisy_host.kernel IS 'kernel and its version';
COMMENT ON COLUMN noisy_host.virtualisation IS 'hypervisor or container; NULL: none was seen';
COMMENT ON COLUMN noisy_host.load_1min IS 'tasks that run, or wait for a CPU or a disk, mean of the last minute';
COMMENT ON COLUMN noisy_host.block_size_bytes IS 'block size of this server';

CREATE FUNCTION noisy_capability_list(OUT source text, OUT available boolean, OUT fallback text, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'nn_sql_capabilities'
LANGUAGE C VOLATILE ROWS 20 PARALLEL RESTRICTED;
REVOKE ALL ON FUNCTION noisy_capability_list() FROM PUBLIC;
COMMENT ON FUNCTION noisy_capability_list() IS 'what can be measured on this host; read noisy_capabilities';

CREATE VIEW noisy_capabilities AS SELECT * FROM noisy_capability_list();
COMMENT ON VIEW noisy_capabilities IS 'what can be measured on this host, and why not: columns that rest on it are NULL';
COMMENT ON COLUMN noisy_capabilities.source IS 'what is measured';
COMMENT ON COLUMN noisy_capabilities.available IS 'whether it can be';
COMMENT ON COLUMN noisy_capabilities.fallback IS 'what takes its place; NULL: nothing does, or it is available';
COMMENT ON COLUMN noisy_capabilities.reason IS 'why it cannot be measured; NULL: it can';

GRANT SELECT ON noisy_host, noisy_capabilities TO pg_monitor;
GRANT EXECUTE ON FUNCTION noisy_host_now(), noisy_capability_list() TO pg_monitor;
