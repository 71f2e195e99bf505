# Runs are data: pg_dump keeps them, DELETE removes them with all that belongs to them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('dump');
make_tables($node);

my $run = q{SELECT noisy_run('tpcb-like', '{2}', '{0,20}', '{cpu}', '{"cpu": {"workers": 1}}', '200 ms', '0 s', 1,
	label => 'kept', options => '{"settle": 0, "lock_probe": {"workers": 2}}')};
my $first = $node->safe_psql('postgres', $run);
my $second = $node->safe_psql('postgres', $run);
cmp_ok($second, '>', $first, 'ids ascend');
# Whether a checkpoint is on meanwhile is left to chance.
$node->safe_psql('postgres', q{
	INSERT INTO noisy_checkpoints SELECT run_id, 99, started_at, started_at, 'timed', true, 1, 8192, NULL FROM noisy_run_records;
	INSERT INTO noisy_checkpoint_latency SELECT run_id, block, 1, 0, latency, latency FROM noisy_blocks ON CONFLICT DO NOTHING});

$node->safe_psql('postgres', q{SELECT noisy_calibrate('{cpu}', '50 ms', 1)});

my @tables = split /\n/, $node->safe_psql('postgres', q{
	SELECT c.oid::regclass FROM pg_extension e, unnest(e.extconfig) t JOIN pg_class c ON c.oid = t
	 WHERE e.extname = 'pg_noisyneighbor' AND c.relkind = 'r' ORDER BY 1});

# Number of rows, and a checksum of all of them, per table.
sub contents
{
	my ($database) = @_;

	return join("\n", map { $node->safe_psql($database, "SELECT '$_', count(*), md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM $_ t") } @tables);
}

my $before = contents('postgres');
unlike($before, qr/\|0\|/, 'runs and calibrations have rows in every table');

foreach my $format (qw(plain custom))
{
	my $file = PostgreSQL::Test::Utils::tempdir() . "/dump.$format";

	command_ok([ 'pg_dump', "--format=$format", '-f', $file, $node->connstr('postgres') ], "pg_dump in format $format");
	$node->safe_psql('postgres', "CREATE DATABASE $format TEMPLATE template0");
	command_ok(
		$format eq 'plain'
		? [ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr($format) ]
		: [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($format), $file ],
		"restore from format $format");
	is(contents($format), $before, "every row is there after the restore from format $format");
	is($node->safe_psql($format, "SELECT state FROM noisy_runs WHERE run_id = $second"), 'completed', 'the views know the runs');
	my $next = $node->safe_psql($format, $run);
	is($next, $second + 1, 'the next run gets the next id');
	is($node->safe_psql($format, "SELECT noisy_count(noisy_merge(latency)) = sum(transactions) FROM noisy_blocks WHERE run_id = $first"),
		't', 'histograms can be read');
}

# DELETE
$node->safe_psql('postgres', "DELETE FROM noisy_runs WHERE run_id = $first");
foreach my $table (grep { !/calibration/ } @tables)
{
	is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE run_id = $first), count(*) FILTER (WHERE run_id = $second) > 0 FROM $table"),
		'0|t', "DELETE FROM noisy_runs removes its rows of $table, and leaves those of others");
}

$node->safe_psql('postgres', 'DELETE FROM noisy_calibrations');
is($node->safe_psql('postgres', 'SELECT count(*) FROM noisy_calibration_samples'), '0', 'DELETE FROM noisy_calibrations removes what was measured');

# A database that was copied while a run was recorded as live knows that the run is not its own.
$node->safe_psql('postgres', "UPDATE noisy_run_records SET state = 'running' WHERE run_id = $second");
is($node->safe_psql('postgres', "SELECT state FROM noisy_runs WHERE run_id = $second"), 'aborted', 'a run that is recorded as live and is not is shown as aborted');

# The end
$node->safe_psql('postgres', 'DROP EXTENSION pg_noisyneighbor');
is( $node->safe_psql('postgres', q{SELECT count(*) FROM (SELECT relname AS name FROM pg_class UNION ALL SELECT proname FROM pg_proc
		UNION ALL SELECT typname FROM pg_type) n WHERE name LIKE '%noisy%'}),
	'0', 'DROP EXTENSION leaves nothing');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench\_%' AND relkind = 'r'}), '4',
	'DROP EXTENSION leaves the tables of the workload alone');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_noisyneighbor');
is($node->safe_psql('postgres', $run), '1', 'the extension works again after it was created anew');

$node->stop;
done_testing();
