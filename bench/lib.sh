# shellcheck shell=bash
#
# Shell functions of the benchmarks, on top of those of the tests.  To be sourced by a bash script of this folder:
#
#	. "$(dirname "$0")/lib.sh"
#	bench_server 'shared_buffers = 256MB' …   a throw-away server with the extension in the database "bench"
#	bench_second_server DATA LINE …            another one; PGPORT is then the port of that one
#	bench_pgbench_tables SCALE                 pgbench's tables in the server of PGPORT
#	bench_package PACKAGE FOLDER               a peer that is a program, unpacked there
#	bench_compile NAME PROGRAM                 bench/NAME.c, linked with core/ and host/ of the extension
#	bench_extension NAME                       a peer that is an extension, for a server that starts later
#	bench_hog                                  HOG: a program that is a neighbour of a known kind
#	bench_results NAME                         prints the path of bench/results/NAME, where raw rows are kept
#	bench_measure PROGRAM.py ARGUMENT …        runs a measuring program of this folder to its end
#
# bench_server builds the tree as it is now (or uses what bench/run has built), and sets BIN, WORK, PGHOST, PGPORT,
# PGUSER and PGDATABASE.  Commands of the server run as its user: as_server "$BIN/pgbench" ….  However the
# script ends, the servers are stopped and WORK removed.  Nothing is installed into the machine's own PostgreSQL.

. "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

# Build the tree, once for all parts: bench/run exports BENCH_PG, the folder of the private PostgreSQL.
bench_build()
{
	trap_cleanup
	find_postgres
	make_work_dir
	if [ -n "${BENCH_PG:-}" ]; then
		BIN=$BENCH_PG$("$PG_CONFIG" --bindir)
		PATH=$BIN:$PATH
		export BIN PATH
		return
	fi
	say "building for $("$PG_CONFIG" --version)"
	copy_tree
	make_private_postgres
	build_and_install >"$WORK/build.log" 2>&1 || { tail -n 20 "$WORK/build.log"; die "the build failed"; }
	export BENCH_PG=$WORK/pg
}

bench_server()
{
	bench_build
	bench_second_server "$WORK/data" "$@"
}

bench_second_server()
{
	start_server "$@"
	sql 'CREATE DATABASE bench'
	export PGDATABASE=bench
	sql 'CREATE EXTENSION pg_noisyneighbor' bench
}

bench_pgbench_tables()
{
	as_server "$BIN/pgbench" -i -q -s "$1" bench >"$WORK/pgbench-i.log" 2>&1 ||
		{ cat "$WORK/pgbench-i.log"; die "pgbench -i failed"; }
}

# Fetch a Debian package and unpack it in FOLDER, which needs no root and installs nothing.
bench_package()
{
	local package=$1 target=$2 folder

	say "fetching the package $package, to be unpacked in $target"
	folder=$(as_server mktemp -d "$WORK/fetch.XXXXXX")
	if SERVER_CWD=$folder as_server apt-get -q download "$package" >"$WORK/fetch.log" 2>&1 ||
		{ as_root apt-get -q update && SERVER_CWD=$folder as_server apt-get -q download "$package"; } >>"$WORK/fetch.log" 2>&1; then
		as_server dpkg-deb -x "$folder"/*.deb "$target" && return 0
	fi
	tail -n 3 "$WORK/fetch.log"
	say "$package cannot be had: nothing to compare with"
	return 1
}

# Have the extension NAME in the private PostgreSQL.  Fails, with a message, where it cannot be had.
bench_extension()
{
	[ ! -e "$BENCH_PG$("$PG_CONFIG" --sharedir)/extension/$1.control" ] || return 0
	bench_package "postgresql-$PG_MAJOR-$(echo "$1" | tr _ -)" "$BENCH_PG"
}

# Build a C program of this folder with core/ and host/ of the extension: bench_compile NAME PROGRAM.
bench_compile()
{
	# shellcheck disable=SC2086
	(cd "$NN_ROOT" && ${CC:-cc} ${CFLAGS:--O2} -std=gnu99 -D_GNU_SOURCE -Isrc -pthread -o "$2" "bench/$1.c" \
		src/core/*.c src/host/*.c -lm) || die "bench/$1.c cannot be compiled"
}

bench_results()
{
	local folder=${BENCH_RESULTS:-$NN_ROOT/bench/results}

	mkdir -p "$folder"
	printf '%s\n' "$folder/$1"
}

bench_measure()
{
	local program=$1
	shift

	attended env BIN="${BIN:-}" SERVER_USER="$(server_user)" POSTMASTER="$(head -n 1 "$WORK/data/postmaster.pid" 2>/dev/null)" \
		PYTHONDONTWRITEBYTECODE=1 python3 "$NN_ROOT/bench/$program" "$@"
}

# HOG: a program that is a neighbour of a known kind, see bench/hog.c.
bench_hog()
{
	HOG=$WORK/hog
	# shellcheck disable=SC2086
	(cd "$NN_ROOT" && ${CC:-cc} ${CFLAGS:--O2} -std=gnu99 -D_GNU_SOURCE -Isrc -o "$HOG" bench/hog.c src/core/*.c src/host/*.c -lm) ||
		die "bench/hog.c cannot be compiled"
	export HOG
}
