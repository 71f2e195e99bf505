# shellcheck shell=bash
#
# Shell functions of the benchmarks, on top of those of the tests.  To be sourced by a bash script of this folder:
#
#	. "$(dirname "$0")/lib.sh"
#	bench_server 'shared_buffers = 256MB' …   a throw-away server with the extension in the database "bench"
#	bench_pgbench_tables SCALE                 pgbench's tables in it
#	bench_results NAME                         prints the path of bench/results/NAME, where raw rows are kept
#
# bench_server builds the tree as it is now and sets BIN, WORK, PGHOST, PGPORT, PGUSER and PGDATABASE.  Commands of
# the server run as its user: as_server "$BIN/pgbench" ….  However the script ends, the server is
# stopped and WORK removed.

. "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

bench_server()
{
	trap_cleanup
	find_postgres
	make_work_dir
	say "building for $("$PG_CONFIG" --version)"
	copy_tree
	make_private_postgres
	build_and_install >"$WORK/build.log" 2>&1 || { tail -n 20 "$WORK/build.log"; die "the build failed"; }
	start_server "$WORK/data" "$@"
	sql 'CREATE DATABASE bench'
	export PGDATABASE=bench
	sql 'CREATE EXTENSION pg_noisyneighbor' bench
}

bench_pgbench_tables()
{
	as_server "$BIN/pgbench" -i -q -s "$1" bench >"$WORK/pgbench-i.log" 2>&1 ||
		{ cat "$WORK/pgbench-i.log"; die "pgbench -i failed"; }
}

bench_results()
{
	mkdir -p "$NN_ROOT/bench/results"
	printf '%s\n' "$NN_ROOT/bench/results/$1"
}
