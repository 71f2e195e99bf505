# Names and settings that a server may have: none of them keeps a run from working.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $small = q{duration => '300 ms', warmup => '0 s', repeats => 1, noise => '{cpu}'};

my $node = new_server('surroundings');
my $port = $node->port;

# As the server's own, but for every name of a socket folder.
sub connstr
{
	my ($server, $database) = @_;
	my @values = ($server->port, $server->host, $database);

	s/([\\'])/\\$1/g foreach @values;
	return sprintf("port='%s' host='%s' dbname='%s'", @values);
}

# A run that completes with transactions and without errors.  "before" is done in its session before it.  Where
# settings are "hostile", our own sessions take back what would hit them, before their first statement.
sub run_works
{
	my ($server, $database, $name, %options) = @_;
	my $schema = $options{schema} // 'public';
	my $before = join('', map { "$_;\n" } @{ $options{before} // [] });
	my @connstr = (connstr => connstr($server, $database));
	local $ENV{PGOPTIONS} = $options{hostile} ? '-c statement_timeout=0 -c idle_session_timeout=0' : '';
	my ($status, $id, $stderr) = $server->psql($database, "${before}SELECT $schema.noisy_run('tpcb-like', '{2}', '{0}', $small"
		  . ($options{arguments} // '') . ')', @connstr);

	is( $status == 0
		? $server->safe_psql($database, "SET search_path = pg_catalog;
			SELECT r.state, count(*), bool_and(b.transactions > 0), sum(b.errors)
			FROM $schema.noisy_runs r JOIN $schema.noisy_blocks b USING (run_id) WHERE run_id = $id GROUP BY 1", @connstr)
		: $stderr,
		'completed|1|t|0',
		$name);
	return $id;
}

# Databases and roles

$node->safe_psql('postgres', 'CREATE DATABASE ready');
$node->safe_psql('ready', 'CREATE EXTENSION pg_noisyneighbor');
make_tables($node, 'ready');

my $odd = q{"We're = \ odd" host=nowhere Ünï};
(my $quoted = $odd) =~ s/"/""/g;
foreach my $database ($odd, 'Capital', 'a b')
{
	(my $identifier = $database) =~ s/"/""/g;
	$node->safe_psql('postgres', qq{CREATE DATABASE "$identifier" TEMPLATE ready});
	run_works($node, $database, "a database named <$database>");
}
my $start = $node->safe_psql($odd, q{SELECT noisy_start('select-only', '{1}', '{0}', duration => '30 s')});
my ($status, $stdout, $stderr) = $node->psql('postgres', q{SELECT noisy_load('{cpu}', 10, '1 s')});
like($stderr, qr/run $start in database "\Q$odd\E"/, 'the error of a second run names such a database');
$node->safe_psql($odd, 'SELECT noisy_stop()');
ok(wait_for_query($node, 'SELECT count(*) = 0 FROM noisy_progress', 't', $odd), 'noisy_stop works there');

make_tables($node);
$node->safe_psql('postgres', qq{CREATE ROLE "$quoted" SUPERUSER LOGIN});
run_works($node, 'postgres', 'a role with such a name', before => [qq{SET SESSION AUTHORIZATION "$quoted"}]);
is($node->safe_psql('postgres', 'SELECT role_name FROM noisy_runs ORDER BY run_id DESC LIMIT 1'), $odd, 'is recorded');

# Schema

$node->safe_psql('postgres', q{CREATE DATABASE schemas});
$node->safe_psql('schemas', q{CREATE SCHEMA "My Schema"; CREATE EXTENSION pg_noisyneighbor SCHEMA "My Schema"});
$node->safe_psql('schemas', q{SELECT "My Schema".noisy_workload_init(1)});
my $schema = q{"My Schema"};
my $id = run_works($node, 'schemas', 'the extension in a schema outside of search_path', schema => $schema);
like($node->safe_psql('schemas', "SELECT $schema.noisy_report($id)"), qr/tpcb-like/, 'its report works there');

# What lies in the way in search_path, temporary objects included, is neither read nor called.
$node->safe_psql('schemas', q{
	CREATE SCHEMA evil;
	CREATE TABLE evil.trace (what text);
	GRANT INSERT ON evil.trace TO PUBLIC;
	CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		$$INSERT INTO evil.trace VALUES ('clock_timestamp'); SELECT pg_catalog.now()$$;
	CREATE FUNCTION evil.greater(bigint, bigint) RETURNS boolean LANGUAGE sql AS
		$$INSERT INTO evil.trace VALUES ('='); SELECT true$$;
	CREATE OPERATOR evil.= (FUNCTION = evil.greater, LEFTARG = bigint, RIGHTARG = bigint);
	CREATE TABLE evil.noisy_run_records (run_id bigint);
	CREATE TABLE evil.noisy_blocks (run_id bigint);
	ALTER DATABASE schemas SET search_path = evil, pg_catalog, public});
run_works($node, 'schemas', 'a hostile search_path', schema => $schema,
	before => ['CREATE TEMP TABLE noisy_blocks (run_id bigint)', 'CREATE TEMP TABLE pg_class (oid oid)']);
is($node->safe_psql('schemas', 'SELECT count(*) FROM evil.trace'), '0', 'nothing of it was called');

# Settings of databases and roles

my @hostile = ("statement_timeout = '1ms'", "lock_timeout = '1ms'", 'default_transaction_read_only = on',
	"idle_in_transaction_session_timeout = '1ms'", 'row_security = off',
	"DateStyle = 'German, DMY'", "IntervalStyle = 'sql_standard'", "TimeZone = 'Asia/Kathmandu'", 'extra_float_digits = -15',
	"bytea_output = 'escape'", 'standard_conforming_strings = off', "client_min_messages = 'error'", 'transform_null_equals = on',
	"session_replication_role = 'replica'", 'quote_all_identifiers = on', 'array_nulls = off');
push @hostile, "idle_session_timeout = '1ms'";

$node->safe_psql('postgres', 'CREATE DATABASE hostile TEMPLATE ready');
$node->safe_psql('postgres', "ALTER DATABASE hostile SET $_") foreach @hostile;
run_works($node, 'hostile', 'settings of the database that would hit the workload', hostile => 1);
$node->safe_psql('postgres', join(";\n", map { "ALTER ROLE CURRENT_USER IN DATABASE postgres SET $_" } @hostile));
run_works($node, 'postgres', 'settings of the role that would hit the workload', hostile => 1);

$node->safe_psql('ready', 'ALTER ROLE CURRENT_USER IN DATABASE postgres RESET ALL; ALTER DATABASE hostile RESET ALL');

# What an isolation level makes fail is counted, and the client goes on.
$node->safe_psql('ready', "ALTER DATABASE hostile SET default_transaction_isolation = 'serializable'");
($status, $stdout) = $node->psql('hostile', "SET default_transaction_isolation = 'read committed';
	SELECT noisy_run('tpcb-like', '{4}', '{0}', duration => '1 s', repeats => 1)");
is( $node->safe_psql('hostile', "SELECT errors > 0 AND errors = serialization_failures AND transactions > 0, last_error ~ 'serialize'
		FROM noisy_blocks WHERE run_id = $stdout"),
	't|t', 'serialization failures are counted as errors, with the last message, and the clients go on');

# Labels and encodings

my $label = qq{it's "quoted" \\ <b>&amp;</b> \x{1}\x{1f}\x{7f}\ttab\nnewline äöü €};
(my $literal = $label) =~ s/(['\\])/$1$1/g;
$id = run_works($node, 'postgres', 'a label with quotes and control characters', arguments => ", label => E'$literal'");
is($node->safe_psql('postgres', "SELECT label = E'$literal' FROM noisy_runs WHERE run_id = $id"), 't', 'it is kept as it is');
like($node->safe_psql('postgres', "SELECT noisy_report($id)"), qr/tpcb-like/, 'and the report works');
$id = run_works($node, 'postgres', 'a label in LATIN1', before => [q{SET client_encoding = 'LATIN1'}], arguments => ", label => 'Gr\xfc\xdfe'");
is($node->safe_psql('postgres', "SELECT label = U&'Gr\\00fc\\00dfe' FROM noisy_runs WHERE run_id = $id"), 't', 'it is converted');
$node->safe_psql('postgres', q{CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0});
$node->safe_psql('latin', 'CREATE EXTENSION pg_noisyneighbor');
make_tables($node, 'latin');
$id = run_works($node, 'latin', 'a database in LATIN1', arguments => ", label => U&'Gr\\00fc\\00dfe'");
is($node->safe_psql('latin', "SELECT label = U&'Gr\\00fc\\00dfe' FROM noisy_runs WHERE run_id = $id"), 't', 'keeps its labels');

# A decimal comma, where the machine has a locale with one; test/run makes one
my $comma;
foreach my $locale (grep { defined } $ENV{NN_COMMA_LOCALE}, split /\n/, `locale -a 2>/dev/null`)
{
	next unless $locale =~ /^(de|fr|es|it|nl|ru|pl)_/;
	$comma = $locale if $node->psql('postgres', "SET lc_numeric = '$locale'") == 0;
	last if $comma;
}
SKIP:
{
	skip 'no locale with a decimal comma here', 2 unless $comma;
	$node->safe_psql('postgres', "ALTER DATABASE postgres SET lc_numeric = '$comma'");
	$id = run_works($node, 'postgres', 'a decimal comma');
	like($node->safe_psql('postgres', "SELECT noisy_report($id)"), qr/\d\.\d/, 'the report has points');
	$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET lc_numeric');
}

# Tables made by pgbench itself
SKIP:
{
	my $pgbench = $node->installed_command('pgbench');

	$node->safe_psql('postgres', 'DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history');
	skip 'no pgbench here', 1
	  if system_log($pgbench, '-iq', '-s', '2', '--partitions=2', '-h', $node->host, '-p', $port, 'postgres') != 0;
	$id = run_works($node, 'postgres', 'tables made by pgbench -i, with partitions');
}

# Another server
my $other = PostgreSQL::Test::Cluster->new('other');
$other->init;
$other->append_conf('postgresql.conf', 'log_statement = none');
$other->start;
my $conninfo = $other->connstr('postgres');
(my $conninfo_literal = $conninfo) =~ s/'/''/g;
($status, $stdout, $stderr) = $node->psql('postgres', "SELECT noisy_run('tpcb-like', '{2}', '{0,20}', $small, conninfo => '$conninfo_literal')");
like($stderr, qr/pgbench/, 'another server without the tables is refused');
$other->safe_psql('postgres', 'CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
	CREATE TABLE pgbench_tellers AS SELECT tid, 1 AS bid, 0 AS tbalance, NULL::char(84) AS filler FROM generate_series(1, 10) tid;
	CREATE TABLE pgbench_accounts AS SELECT aid, 1 AS bid, 0 AS abalance, NULL::char(84) AS filler FROM generate_series(1, 100000) aid;
	CREATE TABLE pgbench_branches AS SELECT 1 AS bid, 0 AS bbalance, NULL::char(88) AS filler;
	ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid); ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid); ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)');
my $history = $node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_history');
$id = run_works($node, 'postgres', 'conninfo drives another server', arguments => ", conninfo => '$conninfo_literal password=topsecret'");
is($node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_history'), $history, 'this one is left alone');
cmp_ok($other->safe_psql('postgres', 'SELECT count(*) FROM pgbench_history'), '>', 0, 'the other one has got the transactions');
unlike($node->safe_psql('postgres', "SELECT r::text FROM noisy_runs r WHERE run_id = $id") . slurp_file($node->logfile),
	qr/topsecret/, 'no password is kept or logged');
$other->stop;
($status, $stdout, $stderr) = $node->psql('postgres', "SELECT noisy_run('select-only', conninfo => '$conninfo_literal password=topsecret')");
isnt($status, 0, 'a server that is not there is refused');
unlike($stderr, qr/topsecret/, 'the message does not tell the password');
is($node->safe_psql('postgres', q{SELECT count(*) FROM noisy_runs WHERE state <> 'completed'}), '0', 'nothing is left of a run that did not begin');

# Sockets
my $folder = PostgreSQL::Test::Utils::tempdir_short() . q{/a b's};
mkdir $folder;
(my $folder_setting = $folder) =~ s/'/''/g;
$node->append_conf('postgresql.conf', qq{unix_socket_directories = '"$folder_setting"'});
restart($node, $folder);
run_works($node, 'postgres', 'a socket folder with a space and a quote');
$node->append_conf('postgresql.conf', qq{unix_socket_directories = ''\nlisten_addresses = '127.0.0.1'});
append_to_file($node->data_dir . '/pg_hba.conf', "host all all 127.0.0.1/32 trust\n");
restart($node, '127.0.0.1');
run_works($node, 'postgres', 'a server without sockets');

$node->stop;
done_testing();

# Restart where the server is then reached by another host.
sub restart
{
	my ($server, $host) = @_;

	$server->stop;
	$server->{_host} = $host;
	$server->start;
	return;
}
