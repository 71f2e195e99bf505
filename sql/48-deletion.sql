-- A run that is deleted while it is on has nobody who reads what it measures: end its load, too.

CREATE FUNCTION noisy_run_deleted() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        PERFORM @extschema@.noisy_stop();
    ELSE
        PERFORM @extschema@.noisy_stop(OLD.run_id);
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION noisy_run_deleted() FROM PUBLIC;
COMMENT ON FUNCTION noisy_run_deleted() IS 'trigger of noisy_run_records: stops a run that is deleted while it is on';

CREATE TRIGGER noisy_run_deleted AFTER DELETE ON noisy_run_records FOR EACH ROW EXECUTE FUNCTION noisy_run_deleted();
CREATE TRIGGER noisy_runs_truncated AFTER TRUNCATE ON noisy_run_records FOR EACH STATEMENT EXECUTE FUNCTION noisy_run_deleted();
