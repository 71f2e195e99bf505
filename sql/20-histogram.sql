-- Latency histograms: log-linear, 128 buckets per power of two, nanoseconds to 73 minutes.

CREATE TYPE noisy_histogram;

CREATE FUNCTION noisy_histogram_in(cstring) RETURNS noisy_histogram
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_in';
COMMENT ON FUNCTION noisy_histogram_in(cstring) IS 'I/O';

CREATE FUNCTION noisy_histogram_out(noisy_histogram) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_out';
COMMENT ON FUNCTION noisy_histogram_out(noisy_histogram) IS 'I/O';

CREATE FUNCTION noisy_histogram_recv(internal) RETURNS noisy_histogram
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_recv';
COMMENT ON FUNCTION noisy_histogram_recv(internal) IS 'I/O';

CREATE FUNCTION noisy_histogram_send(noisy_histogram) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_send';
COMMENT ON FUNCTION noisy_histogram_send(noisy_histogram) IS 'I/O';

CREATE TYPE noisy_histogram (
    INPUT = noisy_histogram_in,
    OUTPUT = noisy_histogram_out,
    RECEIVE = noisy_histogram_recv,
    SEND = noisy_histogram_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = extended
);
COMMENT ON TYPE noisy_histogram
    IS 'counts of latencies in log-linear buckets: percentiles within 0.4 %, exact count, sum, minimum and maximum; histograms can be merged';

-- Building

CREATE FUNCTION noisy_record(h noisy_histogram, ms float8) RETURNS noisy_histogram
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_record';
COMMENT ON FUNCTION noisy_record(noisy_histogram, float8)
    IS 'the histogram with one more latency, in ms; a NULL histogram counts as an empty one, a NULL latency is left out';

CREATE FUNCTION noisy_histogram_agg_trans(internal, ms float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_trans';
COMMENT ON FUNCTION noisy_histogram_agg_trans(internal, float8) IS 'aggregate transition function';

CREATE FUNCTION noisy_merge_trans(internal, h noisy_histogram) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_merge_trans';
COMMENT ON FUNCTION noisy_merge_trans(internal, noisy_histogram) IS 'aggregate transition function';

CREATE FUNCTION noisy_histogram_agg_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_combine';
COMMENT ON FUNCTION noisy_histogram_agg_combine(internal, internal) IS 'aggregate combine function';

CREATE FUNCTION noisy_histogram_agg_serialize(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_serialize';
COMMENT ON FUNCTION noisy_histogram_agg_serialize(internal) IS 'aggregate serial function';

CREATE FUNCTION noisy_histogram_agg_deserialize(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_deserialize';
COMMENT ON FUNCTION noisy_histogram_agg_deserialize(bytea, internal) IS 'aggregate deserial function';

CREATE FUNCTION noisy_histogram_agg_final(internal) RETURNS noisy_histogram
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_final';
COMMENT ON FUNCTION noisy_histogram_agg_final(internal) IS 'aggregate final function';

CREATE AGGREGATE noisy_histogram_agg(ms float8) (
    SFUNC = noisy_histogram_agg_trans,
    STYPE = internal,
    SSPACE = 36912,
    FINALFUNC = noisy_histogram_agg_final,
    COMBINEFUNC = noisy_histogram_agg_combine,
    SERIALFUNC = noisy_histogram_agg_serialize,
    DESERIALFUNC = noisy_histogram_agg_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE noisy_histogram_agg(float8)
    IS 'histogram of latencies in ms; NULLs are left out, NULL when there are no others';

CREATE AGGREGATE noisy_merge(h noisy_histogram) (
    SFUNC = noisy_merge_trans,
    STYPE = internal,
    SSPACE = 36912,
    FINALFUNC = noisy_histogram_agg_final,
    COMBINEFUNC = noisy_histogram_agg_combine,
    SERIALFUNC = noisy_histogram_agg_serialize,
    DESERIALFUNC = noisy_histogram_agg_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE noisy_merge(noisy_histogram)
    IS 'all histograms added up: percentiles of several blocks or nodes come from here, never from averaging percentiles';

-- Asking

CREATE FUNCTION noisy_percentile(h noisy_histogram, p float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_percentile';
COMMENT ON FUNCTION noisy_percentile(noisy_histogram, float8)
    IS 'latency in ms at fraction p (0.99: the 99th percentile), within 0.4 %; 0 and 1 give the exact minimum and maximum; NULL for an empty histogram';

CREATE FUNCTION noisy_percentile(h noisy_histogram, p float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_percentiles';
COMMENT ON FUNCTION noisy_percentile(noisy_histogram, float8[])
    IS 'latencies in ms at several fractions: an array of the same shape; NULL for an empty histogram';

CREATE FUNCTION noisy_count(h noisy_histogram) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_count';
COMMENT ON FUNCTION noisy_count(noisy_histogram) IS 'number of latencies recorded';

CREATE FUNCTION noisy_mean(h noisy_histogram) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_mean';
COMMENT ON FUNCTION noisy_mean(noisy_histogram) IS 'mean latency in ms, from the exact sum; NULL for an empty histogram';

CREATE FUNCTION noisy_stddev(h noisy_histogram) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_stddev';
COMMENT ON FUNCTION noisy_stddev(noisy_histogram)
    IS 'sample standard deviation of the latencies in ms, from the exact sums; NULL for fewer than two';

CREATE FUNCTION noisy_min(h noisy_histogram) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_min';
COMMENT ON FUNCTION noisy_min(noisy_histogram) IS 'smallest latency in ms, exact; NULL for an empty histogram';

CREATE FUNCTION noisy_max(h noisy_histogram) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_max';
COMMENT ON FUNCTION noisy_max(noisy_histogram) IS 'largest latency in ms, exact; NULL for an empty histogram';

CREATE FUNCTION noisy_buckets(h noisy_histogram, OUT low_ms float8, OUT high_ms float8, OUT count bigint)
RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 500 AS 'MODULE_PATHNAME', 'nn_sql_histogram_buckets';
COMMENT ON FUNCTION noisy_buckets(noisy_histogram)
    IS 'buckets that are not empty, in order: count latencies from low_ms to below high_ms; high_ms is infinite for latencies of 73 minutes and more';
