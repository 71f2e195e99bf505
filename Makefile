# pg_noisyneighbor
#
#	make && sudo make install      build and install for the PostgreSQL of PG_CONFIG
#	make demo                      a full run on a throw-away server, in about three minutes
#	make test                      every test, on throw-away servers
#	make test-matrix               the same and more on every version that a Debian has, in chroots
#	make test-sanitize             tests under the sanitizers of gcc and clang, in some ten minutes
#	make fuzz SECONDS=60           fuzz each parser for so long, and keep what is new in test/fuzz/corpus
#	make bench                     measurements against peers
#	make docs                      write docs/views.md from the comments in the catalog
#	make indent                    format the C sources as PostgreSQL does
#	make freeze                    keep the scripts of this version for ever: see CONTRIBUTING.md
#	make dist, make deb            release archives of what is committed, Debian packages of it
#
# PG_CONFIG=/path/to/pg_config chooses another PostgreSQL; WERROR=1 makes warnings errors.  "demo" and
# "test" install what they need first, so this file must be readable before PGXS is there.

EXTENSION = pg_noisyneighbor
MODULE_big = pg_noisyneighbor
EXTVERSION = $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(EXTENSION).control)

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))
SOURCE_HEADERS = $(wildcard src/*.h src/*/*.h)

SQL_PIECES = $(sort $(wildcard sql/[0-9]*.sql))
# sql/update-X.sql leads from version X to this one; sql/frozen has the scripts of released versions as they were.
UPDATES = $(patsubst sql/update-%.sql,$(EXTENSION)--%--$(EXTVERSION).sql,$(wildcard sql/update-*.sql))
DATA_built = $(EXTENSION)--$(EXTVERSION).sql $(UPDATES)
DATA = $(filter-out $(addprefix sql/frozen/,$(DATA_built)),$(wildcard sql/frozen/*.sql))

PG_CPPFLAGS = -I$(srcdir)/src -I$(libpq_srcdir)
PG_CFLAGS = -pthread
SHLIB_LINK = $(libpq) -pthread -lm

# PostgreSQL's own headers do not pass -Wextra without these three.
WARNINGS = -Wall -Wextra -Wdeclaration-after-statement \
	-Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
ifdef WERROR
PG_CFLAGS += $(WARNINGS) -Werror
# A server that was built by gcc has options for it that clang does not know.
ifneq ($(findstring clang,$(CC)),)
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes
endif
endif

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=.
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
EXTRA_CLEAN = test/unit/build test/fuzz/build bench/results

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

ifneq ($(wildcard $(PGXS)),)

# A server that was built with LLVM wants bitcode from one certain clang, which may be missing here. Bitcode only
# lets the server inline our functions, so go without.
pg_global := $(dir $(PGXS))../Makefile.global
pg_clang := $(shell sed -n 's/^CLANG *= *//p' $(pg_global))
pg_llvm := $(shell sed -n 's/^LLVM_BINPATH *= *//p' $(pg_global))
ifeq ($(and $(shell command -v $(pg_clang)),$(wildcard $(pg_llvm)/llvm-lto)),)
override with_llvm = no
endif

include $(PGXS)

# Few files and a fast compiler: every object depends on every header.
$(OBJS) $(OBJS:.o=.bc): $(SOURCE_HEADERS)

$(EXTENSION)--$(EXTVERSION).sql: $(SQL_PIECES) $(EXTENSION).control
	{ echo '-- Put together from sql/ by make: change the pieces there.'; cat $(SQL_PIECES); } >$@

# A line "-- include 26-formula.sql" in an update stands for that piece.
$(UPDATES): $(EXTENSION)--%--$(EXTVERSION).sql: sql/update-%.sql $(SQL_PIECES) $(EXTENSION).control
	awk '/^-- include / { while ((got = (getline line < ("sql/" $$3))) > 0) print line; \
		if (got < 0) { print FILENAME ": there is no " $$3 >"/dev/stderr"; exit 1 } next } { print }' $< >$@.new
	mv $@.new $@

freeze: $(DATA_built)
	cp $(DATA_built) sql/frozen/

.PHONY: freeze

else

all install clean:
	@echo 'There is no PGXS of "$(PG_CONFIG)": install the PostgreSQL server headers' >&2
	@echo '(Debian, Ubuntu: postgresql-server-dev-NN, or run test/setup), or set PG_CONFIG.' >&2
	@false

.PHONY: all install clean
endif

test:
	@test/run

test-matrix:
	@test/matrix

test-sanitize:
	@test/sanitize

SECONDS = 60
fuzz:
	@test/fuzz/run $(SECONDS)

demo:
	@test/demo

bench:
	@bench/run

docs:
	@docs/generate

indent:
	@test/lint/format --fix

# PGXN wants the version of META.json in the names.
META_VERSION = $(shell sed -n 's/^ *"version": "\(.*\)",$$/\1/p' META.json | head -n 1)
dist:
	@git diff --quiet HEAD || echo 'what is not committed will be missing in the archives' >&2
	git archive --prefix=$(EXTENSION)-$(EXTVERSION)/ -o $(EXTENSION)-$(EXTVERSION).tar.gz HEAD
	git archive --prefix=$(EXTENSION)-$(META_VERSION)/ -o $(EXTENSION)-$(META_VERSION).zip HEAD

deb: dist
	debian/make-packages $(EXTENSION)-$(EXTVERSION).tar.gz

.PHONY: test test-matrix test-sanitize fuzz demo bench docs indent dist deb
