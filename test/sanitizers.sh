# shellcheck shell=bash
#
# The extension under the address and undefined-behaviour sanitizers of gcc, within a server that knows nothing of
# them.  To be sourced after test/lib.sh, by test/run when NN_SANITIZE is set:
#
#	sanitize_build                 BUILD_FLAGS for make; CFLAGS for the unit tests
#	sanitize_postgres              every server of the private PostgreSQL loads the sanitizers' libraries first
#	sanitizer_planted_faults LOG   are the faults of a library made for this reported in the log of the server that runs?
#	sanitizer_reports              what is reported in the logs of all servers below WORK; fails when there is something
#
# Leaks are not looked for: a server frees memory contexts, and a worker ends with what it has until then.

# -fno-wrapv: an overflow is a fault here, although PostgreSQL is built so that it is defined.
SANITIZERS='-fsanitize=address,undefined -fno-omit-frame-pointer -fno-wrapv -g -O1'

sanitize_build()
{
	BUILD_FLAGS=("COPT=$SANITIZERS" with_llvm=no)
	export CFLAGS="$SANITIZERS -fno-sanitize-recover=all" ASAN_OPTIONS=detect_leaks=0
}

sanitize_postgres()
{
	# libasan looks for this function and does not find it; the message of that, once translated, leaves glibc's
	# gettext locked, and postgres waits for ever when it sets its language.
	echo 'char *swift_demangle(void) { return 0; }' | as_server "${CC:-cc}" -shared -fPIC -o "$WORK/no_demangler.so" -x c - ||
		die "cannot build a library"
	mv "$BIN/postgres" "$BIN/postgres.real"
	cat >"$BIN/postgres" <<-WRAPPER
		#!/bin/sh
		LD_PRELOAD="$("${CC:-cc}" -print-file-name=libasan.so) $("${CC:-cc}" -print-file-name=libubsan.so) $WORK/no_demangler.so" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		exec "$BIN/postgres.real" "\$@"
	WRAPPER
	chmod 755 "$BIN/postgres"
}

sanitizer_planted_faults()
{
	local log=$1 kind

	cat >"$WORK/planted.c" <<-'PLANTED'
		#include "postgres.h"
		#include "fmgr.h"
		PG_MODULE_MAGIC;
		PG_FUNCTION_INFO_V1(overflow);
		PG_FUNCTION_INFO_V1(overrun);
		Datum
		overflow(PG_FUNCTION_ARGS)
		{
			PG_RETURN_INT32(PG_GETARG_INT32(0) + 2147483647);
		}
		Datum
		overrun(PG_FUNCTION_ARGS)
		{
			char	   *room = malloc(7);
			char		c = room[PG_GETARG_INT32(0) + 6];

			free(room);
			PG_RETURN_INT32(c);
		}
	PLANTED
	# shellcheck disable=SC2086
	as_server "${CC:-cc}" $SANITIZERS -shared -fPIC -I"$("$PG_CONFIG" --includedir-server)" -o "$WORK/planted.so" \
		"$WORK/planted.c" || return
	for kind in overflow overrun; do
		sql "CREATE FUNCTION $kind(int) RETURNS int LANGUAGE c AS '$WORK/planted.so'" &&
			sql "SELECT $kind(1)" >/dev/null 2>&1
	done
	grep -q 'runtime error: signed integer overflow' "$log" && grep -q 'AddressSanitizer: heap-buffer-overflow' "$log" &&
		mv "$log" "$log.looked_at"
}

sanitizer_reports()
{
	local logs

	logs=$(grep -rlE --include='*.log' 'runtime error: |AddressSanitizer' "$WORK")
	[ -n "$logs" ] || return 0
	# shellcheck disable=SC2086
	grep -hE -A 12 'runtime error: |AddressSanitizer' $logs | head -n 100
	return 1
}
