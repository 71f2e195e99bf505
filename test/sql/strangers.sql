-- The extension refuses a schema in which somebody's operators or functions would take the place of the server's.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
\set SHOW_CONTEXT never
CREATE ROLE regress_noisy_stranger;
BEGIN;
DROP EXTENSION pg_noisyneighbor;
CREATE SCHEMA regress_noisy_shared;
GRANT CREATE, USAGE ON SCHEMA regress_noisy_shared TO regress_noisy_stranger;
SET ROLE regress_noisy_stranger;
CREATE FUNCTION regress_noisy_shared.divide(bigint, float8) RETURNS float8 LANGUAGE sql AS 'SELECT 666.0::float8';
SAVEPOINT operator;
CREATE OPERATOR regress_noisy_shared./ (LEFTARG = bigint, RIGHTARG = float8, FUNCTION = regress_noisy_shared.divide);
RESET ROLE;
CREATE EXTENSION pg_noisyneighbor SCHEMA regress_noisy_shared;
ROLLBACK TO operator;
CREATE FUNCTION regress_noisy_shared.sqrt(bigint) RETURNS float8 LANGUAGE sql AS 'SELECT 666.0::float8';
RESET ROLE;
CREATE EXTENSION pg_noisyneighbor SCHEMA regress_noisy_shared;
ROLLBACK TO operator;

-- what is not used does no harm
RESET ROLE;
CREATE EXTENSION pg_noisyneighbor SCHEMA regress_noisy_shared;
SHOW search_path;
ROLLBACK;
DROP ROLE regress_noisy_stranger;
