# pg_upgrade of a server that preloads the library, with runs in it: nothing of ours is in its way, every run can be
# read afterwards, and the next one works. A server may be upgraded to its own version, so that one version is enough.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = PostgreSQL::Test::Cluster->new('old');
my $new = PostgreSQL::Test::Cluster->new('new');
my $bin = $old->config_data('--bindir');
my $program = (grep { -x $_ } "$bin/pg_upgrade", map { "$_/pg_upgrade" } split /:/, $ENV{PATH})[0];
plan skip_all => 'there is no pg_upgrade here' unless $program;

# Beside the program lies the server that has the library.
$bin = $program =~ s{/[^/]*$}{}r;

foreach my $node ($old, $new)
{
	$node->init;
	$node->append_conf('postgresql.conf', "log_statement = none\nshared_preload_libraries = 'pg_noisyneighbor'\n");
}
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE "Measured 1"');
$old->safe_psql('Measured 1', 'CREATE SCHEMA "Noisy 1"; CREATE EXTENSION pg_noisyneighbor SCHEMA "Noisy 1"; ALTER DATABASE "Measured 1" SET search_path = "Noisy 1", public');
$old->safe_psql('Measured 1', 'SELECT noisy_workload_init(1)');

my $run = q{SELECT noisy_run('tpcb-like', '{2}', '{0,20}', '{cpu}', '{"cpu": {"workers": 1}}', '200 ms', '0 s', 1, options => '{"settle": 0}')};
my $first = $old->safe_psql('Measured 1', $run);

# What a database knows of its runs: number of rows, and a checksum of all of them, per table.
sub contents
{
	my ($node) = @_;
	my @tables = split /\n/, $node->safe_psql('Measured 1', q{
		SELECT c.oid::regclass FROM pg_extension e, unnest(e.extconfig) t JOIN pg_class c ON c.oid = t
		 WHERE e.extname = 'pg_noisyneighbor' AND c.relkind = 'r' ORDER BY 1});

	return join("\n", map { $node->safe_psql('Measured 1', "SELECT '$_', count(*), md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM $_ t") } @tables);
}

# A run that is on when the old server is stopped
my $last = $old->safe_psql('Measured 1', q{SELECT noisy_start('select-only', '{1}', '{0}', duration => '60 s', warmup => '0 s')});
my $before = contents($old);
my $report = $old->safe_psql('Measured 1', "SELECT noisy_report($first)");
$old->stop('fast');

my $folder = PostgreSQL::Test::Utils::tempdir();
chdir $folder or die $!;
command_ok(
	[
		$program, '--no-sync', '--link', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $bin, '-B', $bin,
		'-s', $new->host, '-p', $old->port, '-P', $new->port
	],
	'pg_upgrade succeeds with the library preloaded');
$new->start;

is(contents($new), $before, 'every row of every run is there');
is($new->safe_psql('Measured 1', "SELECT state FROM noisy_runs WHERE run_id = $first"), 'completed', 'the views know the runs');
is($new->safe_psql('Measured 1', "SELECT noisy_report($first)"), $report, 'the report of a run says the same');
is($new->safe_psql('Measured 1', "SELECT state, error FROM noisy_runs WHERE run_id = $last"),
	'aborted|the server or the conductor of the run died', 'a run that was on when the old server was stopped is aborted');
is($new->safe_psql('Measured 1', $run), $last + 1, 'the next run gets the next id');
is($new->safe_psql('Measured 1', 'SELECT state FROM noisy_runs ORDER BY run_id DESC LIMIT 1'), 'completed', 'the next run completes');
nobody_left_behind($new, 'after the upgrade');

$new->stop;
done_testing();
