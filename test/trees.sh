# shellcheck shell=bash
#
# What test/matrix and test/packages share: which Debian has which PostgreSQL, trees of them, and sums.  To be
# sourced after lib.sh.

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/pg_noisyneighbor
VERSIONS='17 18 16'
PASSED=0 FAILED=0 SKIPPED=0

# suite_of MAJOR: the release of Debian, or Ubuntu, whose own PostgreSQL has this version.
suite_of()
{
	case $1 in
		16) echo noble ;;
		17) echo trixie ;;
		18) echo forky ;;
		*) die "no Debian tree for PostgreSQL $1; known: $VERSIONS" ;;
	esac
}

# get_tree MAJOR: the tree with everything that the tests need.
get_tree()
{
	attended as_root "$WORK/exchange/pg_noisyneighbor/test/tree" "$CACHE" get "$(suite_of "$1")" \
		build-essential clang "postgresql-$1" "postgresql-server-dev-$1" libpq-dev libipc-run-perl perl python3 locales locales-all
}

# in_tree SUITE COMMAND: a shell command in a layer above the tree, as root, with WORK/exchange as /src.
in_tree()
{
	attended as_root "$WORK/exchange/pg_noisyneighbor/test/tree" "$CACHE" run "$1" "$WORK/exchange" "$2"
}

# WORK with a fresh clone of HEAD in WORK/exchange/pg_noisyneighbor; "worktree": with the files as they are.
make_exchange()
{
	local clone

	WORK=$(mktemp -d "${TMPDIR:-/tmp}/noisy.XXXXXX") || die "cannot make a folder in ${TMPDIR:-/tmp}"
	chmod 755 "$WORK"
	clone=$WORK/exchange/pg_noisyneighbor
	mkdir "$WORK/exchange"
	if [ "${1:-}" = worktree ] || ! git -C "$NN_ROOT" rev-parse -q --verify HEAD >/dev/null 2>&1; then
		mkdir "$clone"
		tar -C "$NN_ROOT" --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - . | tar -C "$clone" -xf -
		git -C "$clone" init -q && git -C "$clone" add -A &&
			git -C "$clone" -c user.name=test -c user.email=test@test.example -c commit.gpgsign=false commit -q -m 'as it is' ||
			die 'cannot make a repository of the files'
		say 'testing the files as they are'
	else
		git clone -q --no-hardlinks "$NN_ROOT" "$clone" || die 'cannot clone the repository'
		say "testing a fresh clone of $(git -C "$clone" log -1 --format='%h, %s')"
	fi
}

# add_counts FILE: add what the closing line "N passed, N failed, N skipped" of a program's output says; a program
# that ended before it could say so has failed.
add_counts()
{
	local counts passed failed skipped

	counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$1" 2>/dev/null | tail -n 1 | tr -c '0-9\n' ' ')
	read -r passed failed skipped <<<"${counts:-0 1 0}"
	PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + ${skipped:-0}))
}
