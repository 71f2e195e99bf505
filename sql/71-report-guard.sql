-- What the block guard rejected.

CREATE FUNCTION noisy_report_guard(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'Rejected by the block guard: %s of %s blocks; they are kept and not counted\n', max(b.rejected), max(b.blocks)) ||
           @extschema@.noisy_report_table('{block,clients,noise,repeat,because}', 'rrrrl',
               array_agg(ARRAY[b.block::text, nullif(b.clients, 0)::text, b.level::text, b.repeat::text,
                               @extschema@.noisy_report_clean(coalesce(b.reject_reason, 'no reason given'), 68)]
                         ORDER BY b.block) FILTER (WHERE b.place <= 20)) ||
           CASE WHEN max(b.rejected) > 20 THEN format(E'\n... and %s more: see noisy_blocks.reject_reason', max(b.rejected) - 20)
                ELSE '' END
    FROM (SELECT c.*, count(*) OVER () AS blocks, count(*) FILTER (WHERE NOT c.accepted) OVER () AS rejected,
                 count(*) FILTER (WHERE NOT c.accepted) OVER (ORDER BY c.block) AS place
          FROM @extschema@.noisy_blocks c
          WHERE c.run_id = run) AS b
    WHERE NOT b.accepted
    HAVING count(*) > 0
$$;
COMMENT ON FUNCTION noisy_report_guard(bigint) IS 'section of noisy_report(): blocks that do not count, and why; NULL when all do';
REVOKE ALL ON FUNCTION noisy_report_guard(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_report_guard(bigint) TO pg_monitor;
