# An update is as good as a fresh installation: every version that was ever released can be installed, measures with
# the library of today, and becomes today's version with all its results and with what users built on it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyCatalog;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($current) = slurp_file('pg_noisyneighbor.control') =~ /^default_version = '(.+)'/m;
my @frozen = sort map { m{pg_noisyneighbor--((?:(?!--).)+)\.sql$} ? $1 : () } glob 'sql/frozen/*.sql';

plan skip_all => 'no version has been frozen yet' unless @frozen;

my $node = PostgreSQL::Test::Cluster->new('upgrade');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE tester; CREATE ROLE reader');

# A database with the extension in a schema whose name needs quotes.
sub new_database
{
	my ($database, $version) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql('postgres', "ALTER DATABASE $database SET search_path = public, \"Noisy 1\"");
	$node->safe_psql($database,
		'CREATE SCHEMA "Noisy 1"; CREATE EXTENSION pg_noisyneighbor SCHEMA "Noisy 1"' . ($version ? " VERSION '$version'" : ''));
	return;
}

# Measure for a second; returns the state of the run.
sub measure
{
	my ($database, $label) = @_;
	my ($status, $stdout, $stderr) = $node->psql($database, qq{
		SELECT noisy_run('select-only', '{2}', '{0,20}', '{cpu}', '{"cpu": {"workers": 1}}', '300 ms', '100 ms', 1,
			label => '$label')});

	return $stderr if $status != 0;
	return $node->safe_psql($database, "SELECT state FROM noisy_runs WHERE run_id = $stdout");
}

# Rows of every table of the extension.
sub rows_of_tables
{
	my ($database, @tables) = @_;

	@tables = split /\n/, $node->safe_psql($database, q{
		SELECT c.oid::regclass FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
		  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
		 WHERE e.extname = 'pg_noisyneighbor' AND c.relkind = 'r' ORDER BY 1}) unless @tables;
	return map { $_ => $node->safe_psql($database, "SELECT count(*) FROM $_") } @tables;
}

new_database('fresh');
my $fresh = catalog($node, 'fresh');

foreach my $version (@frozen)
{
	if ($version eq $current)
	{
		ok( slurp_file("sql/frozen/pg_noisyneighbor--$version.sql") eq slurp_file("pg_noisyneighbor--$version.sql"),
			"version $version is frozen: what is built is still what was released");
		next;
	}

	(my $database = "from_$version") =~ tr/0-9a-z/_/c;
	new_database($database, $version);
	$node->safe_psql($database, 'SELECT noisy_workload_init(1)');
	is(measure($database, 'old'), 'completed', "version $version runs with the library of version $current");
	my $report = $node->safe_psql($database, 'SELECT noisy_report(max(run_id)) FROM noisy_runs');
	isnt($report, '', "version $version reports with the library of version $current");
	my %rows = rows_of_tables($database);

	# The database of somebody who has granted privileges and built a view.
	my $used = "used_$version" =~ tr/0-9a-z/_/cr;
	$node->safe_psql('postgres', "CREATE DATABASE $used TEMPLATE $database");
	$node->safe_psql('postgres', "ALTER DATABASE $used SET search_path = public, \"Noisy 1\"");
	$node->safe_psql($used, q{
		GRANT USAGE ON SCHEMA "Noisy 1" TO reader;
		GRANT EXECUTE ON FUNCTION noisy_run, noisy_stop TO tester;
		GRANT EXECUTE ON FUNCTION noisy_live_run TO reader;
		GRANT SELECT ON noisy_runs, noisy_results TO reader;
		CREATE VIEW my_results AS SELECT r.label, s.* FROM noisy_runs r JOIN noisy_results s USING (run_id);
		GRANT SELECT ON my_results TO reader});

	# The extension alone.
	my (undef, undef, $stderr) = $node->psql($database, 'ALTER EXTENSION pg_noisyneighbor UPDATE');
	is($stderr, '', "update from $version: it succeeds") or next;
	my $updated = catalog($node, $database);
	foreach my $class (sort keys %$fresh)
	{
		my @difference = difference($updated->{$class}, $fresh->{$class});

		ok(!@difference, "update from $version: $class are those of a fresh installation")
		  or diag(join("\n", map { substr($_, 0, 400) } @difference));
	}
	is_deeply({ rows_of_tables($database, keys %rows) }, \%rows, "update from $version: every row is kept");
	like($node->safe_psql($database, 'SELECT noisy_report(max(run_id)) FROM noisy_runs'),
		qr/\bold\b/, "update from $version: the old run still reads");
	is($node->safe_psql($database, q{SELECT count(*) FROM noisy_results WHERE run_id = (SELECT max(run_id) FROM noisy_runs)}),
		'2', "update from $version: the results of the old run are there");
	is(measure($database, 'new'), 'completed', "update from $version: a new run works");
	is($node->safe_psql($database, q{SELECT string_agg(label, ',' ORDER BY run_id) FROM noisy_runs}),
		'old,new', "update from $version: old and new runs are side by side");
	$node->safe_psql($database, q{DELETE FROM noisy_runs WHERE label = 'old'});
	is($node->safe_psql($database, q{SELECT string_agg(label, ',') FROM noisy_runs}),
		'new', "update from $version: an old run can be removed");
	$node->safe_psql($database, 'DROP EXTENSION pg_noisyneighbor');
	is($node->safe_psql($database, q{SELECT count(*) FROM pg_proc WHERE proname LIKE 'noisy%'}),
		'0', "update from $version: nothing is left after DROP EXTENSION");

	# With what a user added.
	(undef, undef, $stderr) = $node->psql($used, 'ALTER EXTENSION pg_noisyneighbor UPDATE');
	is($stderr, '', "update from $version: views that users built do not stand in its way");
	is($node->safe_psql($used, q{SELECT has_function_privilege('tester', p.oid, 'EXECUTE') FROM pg_proc p
			WHERE proname IN ('noisy_run', 'noisy_stop') GROUP BY 1}),
		't', "update from $version: granted functions stay granted");
	is($node->safe_psql($used, 'SET ROLE reader; SELECT count(*) FROM my_results JOIN noisy_results USING (run_id, clients, level)'),
		'2', "update from $version: granted views stay granted, and users' views work");
}

# Facts that only one of two sorted lists has.
sub difference
{
	my ($updated, $fresh) = @_;
	my %updated = map { $_ => 1 } @$updated;
	my %fresh = map { $_ => 1 } @$fresh;

	return (
		(map { "only updated: $_" } grep { !$fresh{$_} } @$updated),
		(map { "only fresh:   $_" } grep { !$updated{$_} } @$fresh));
}

$node->stop;
done_testing();
