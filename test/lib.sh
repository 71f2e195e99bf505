# shellcheck shell=bash
#
# Shell functions of the tests, the demo and the benchmarks.  To be sourced by a bash script that lies one
# folder below the top of the tree:
#
#	. "$(dirname "$0")/../test/lib.sh"
#	trap_cleanup                       whatever happens now, nothing is left running
#	find_postgres                      PG_CONFIG, PG_MAJOR
#	make_work_dir                      WORK
#	copy_tree                          TREE: a copy of the tree that the server's user may write to
#	make_private_postgres              BIN: a private PostgreSQL that make install can write to
#	build_and_install [VARIABLE=VALUE …]
#	start_server "$WORK/data" 'max_connections = 200' …
#	sql 'SELECT 1'
#
# Nothing is written outside of WORK: the server's own folders stay as they are.  Servers refuse
# to run as root: root runs them as the user "postgres" (or NN_SERVER_USER), anybody else as himself.
# Servers listen on a socket below WORK only, which other users cannot reach.

NN_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What a caller's environment says of another server must not have a say here.
unset PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE \
	PGOPTIONS PGAPPNAME PGSSLMODE PGREQUIRESSL PGCONNECT_TIMEOUT PGCLIENTENCODING PGTZ PGDATESTYLE \
	PGDATA PGTARGETSESSIONATTRS PGLOADBALANCEHOSTS PGCHANNELBINDING PGGSSENCMODE MAKEFLAGS MFLAGS MAKELEVEL

WORK=
CHILD=

say() { printf '%s\n' "== $*"; }
die() { printf '%s\n' "$(basename "$0"): $*" >&2; exit 1; }

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root: $*"
	fi
}

server_user()
{
	if [ "$(id -u)" -ne 0 ]; then
		id -un
	elif [ -n "${NN_SERVER_USER:-}" ]; then
		echo "$NN_SERVER_USER"
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

# Run a command as the user that servers run as, in a folder that he can read.
as_server()
{
	local dir=${SERVER_CWD:-${WORK:-/}}

	if [ "$(id -u)" -eq 0 ]; then
		(cd "$dir" && exec runuser -u "$(server_user)" -- env HOME="$dir" "$@")
	else
		(cd "$dir" && exec "$@")
	fi
}

# PG_CONFIG as given, else that of the newest server with headers.
find_postgres()
{
	local candidate

	if [ -z "${PG_CONFIG:-}" ]; then
		for candidate in $(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -t/ -k5,5nr) pg_config; do
			if command -v "$candidate" >/dev/null &&
				[ -x "$("$candidate" --bindir)/postgres" ] && [ -f "$("$candidate" --pgxs)" ]; then
				PG_CONFIG=$candidate
				break
			fi
		done
	fi
	[ -n "${PG_CONFIG:-}" ] || die "found no PostgreSQL server with its headers; test/setup installs them"
	PG_CONFIG=$(command -v "$PG_CONFIG") || die "there is no program \"$PG_CONFIG\""
	PG_MAJOR=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	export PG_CONFIG PG_MAJOR
}

# WORK: a folder of the server's user, gone at the end.
make_work_dir()
{
	WORK=$(WORK=/ as_server mktemp -d "${TMPDIR:-/tmp}/noisy.XXXXXX" 2>/dev/null) ||
		WORK=$(WORK=/ as_server mktemp -d /tmp/noisy.XXXXXX) || die "cannot make a folder in /tmp"
	# A socket's path may have 107 bytes only.
	if [ ${#WORK} -gt 60 ]; then
		rmdir "$WORK"
		WORK=$(WORK=/ as_server mktemp -d /tmp/noisy.XXXXXX)
	fi
	export WORK
}

copy_tree()
{
	TREE=$WORK/tree
	mkdir "$TREE"
	tar -C "$NN_ROOT" --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - . | tar -C "$TREE" -xf -
	[ "$(id -u)" -ne 0 ] || chown -R "$(server_user)": "$TREE"
	export TREE
}

#
# A private PostgreSQL: copies of the programs, which find everything else relative to themselves, and links to
# the server's libraries and shared files, all at the same paths below WORK/pg.  "make install
# DESTDIR=WORK/pg" adds the extension to it, and the machine's own server never sees it.
#
make_private_postgres()
{
	local pg=$WORK/pg bin lib share

	bin=$("$PG_CONFIG" --bindir) lib=$("$PG_CONFIG" --pkglibdir) share=$("$PG_CONFIG" --sharedir)
	as_server mkdir -p "$pg$bin" "$pg$lib" "$pg$share"
	as_server cp -RLp "$bin/." "$pg$bin"
	as_server cp -Rs "$lib/." "$pg$lib"
	as_server cp -Rs "$share/." "$pg$share"
	# An installed pg_noisyneighbor stays out of it.
	as_server find "$pg" -depth -name 'pg_noisyneighbor*' -exec rm -rf {} +
	BIN=$pg$bin
	PATH=$BIN:$PATH
	export BIN PATH
}

# Build the copy of the tree and install it into the private PostgreSQL.
build_and_install()
{
	SERVER_CWD=$TREE as_server make -s -j"$(nproc)" PG_CONFIG="$PG_CONFIG" "$@" &&
		SERVER_CWD=$TREE as_server make -s install PG_CONFIG="$PG_CONFIG" DESTDIR="$WORK/pg" "$@"
}

free_port()
{
	perl -MIO::Socket::INET -e \
		'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport, "\n"'
}

# start_server DATA_FOLDER [LINE OF postgresql.conf …]; sets PGHOST, PGPORT, PGUSER for psql.
start_server()
{
	local data=$1 bin=${BIN:-$("$PG_CONFIG" --bindir)}
	shift

	as_server "$bin/initdb" -D "$data" -A trust -U postgres -E UTF8 --no-locale -N >"$WORK/initdb.log" 2>&1 ||
		{ cat "$WORK/initdb.log"; die "initdb failed"; }
	PGPORT=$(free_port)
	as_server tee -a "$data/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$WORK'
		port = $PGPORT
		$(printf '%s\n' "$@")
	CONF
	as_server "$bin/pg_ctl" -D "$data" -l "$data.log" -w -s start || { tail -n 20 "$data.log"; die "the server does not start"; }
	export PGHOST=$WORK PGPORT PGUSER=postgres
}

# stop_server DATA_FOLDER
stop_server()
{
	local bin=${BIN:-$("$PG_CONFIG" --bindir)}

	[ -f "$1/postmaster.pid" ] || return 0
	as_server "$bin/pg_ctl" -D "$1" -m fast -w -t 30 -s stop 2>/dev/null ||
		as_server "$bin/pg_ctl" -D "$1" -m immediate -w -s stop
}

# sql STATEMENT [DATABASE]: unaligned, without headings; fails when the statement does.
sql()
{
	as_server "${BIN:-$("$PG_CONFIG" --bindir)}/psql" -XqAt -v ON_ERROR_STOP=1 -d "${2:-postgres}" -c "$1"
}

#
# A control group of version 1 with a quota of 0.8 CPUs each 50 ms that processes of the server's user may enter: sets and
# exports NN_QUOTA_GROUP.  Nothing where root can't make one.  Its weight leaves it its quota on a busy host, too.
#
make_quota_group()
{
	local group=/sys/fs/cgroup/cpu/${WORK##*/}

	[ "$(id -u)" -eq 0 ] && mkdir "$group" 2>/dev/null || return 0
	NN_QUOTA_GROUP=$group
	export NN_QUOTA_GROUP
	if ! { echo 50000 >"$group/cpu.cfs_period_us" && echo 40000 >"$group/cpu.cfs_quota_us" &&
		echo 262144 >"$group/cpu.shares" && chown "$(server_user)" "$group/cgroup.procs"; } 2>/dev/null; then
		remove_quota_group
	fi
}

remove_quota_group()
{
	[ -z "${NN_QUOTA_GROUP:-}" ] || rmdir "$NN_QUOTA_GROUP"
	unset NN_QUOTA_GROUP
}

# Run a long command in a process group of its own, so that a signal to this script is answered at once.
attended()
{
	local status

	set -m
	"$@" </dev/null &
	CHILD=$!
	set +m
	wait "$CHILD"
	status=$?
	CHILD=
	return $status
}

cleanup()
{
	local pid_file

	trap '' INT TERM HUP
	if [ -n "$CHILD" ]; then
		kill -TERM -- "-$CHILD" 2>/dev/null
		wait "$CHILD" 2>/dev/null
	fi
	remove_quota_group
	[ -d "$WORK" ] || return
	# Servers of ours and those that a test has left behind.
	while IFS= read -r pid_file; do
		stop_server "$(dirname "$pid_file")"
	done < <(find "$WORK" -name postmaster.pid)
	if [ -n "${NN_KEEP:-}" ]; then
		say "kept: $WORK"
	else
		rm -rf "$WORK"
	fi
}

# Stop every server and remove WORK at the end, however it comes.  NN_KEEP=1 keeps WORK to look at.
trap_cleanup()
{
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}
