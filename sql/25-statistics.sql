-- Statistics that the views need and the server does not have.

CREATE FUNCTION noisy_t_quantile(p float8, df float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_t_quantile';
COMMENT ON FUNCTION noisy_t_quantile(float8, float8)
    IS 'quantile of Student''s t distribution: the value that a t with df degrees of freedom stays below with probability p';
