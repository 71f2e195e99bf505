# A standby reads what was measured, and measures nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "log_statement = none\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION pg_noisyneighbor');
make_tables($primary);
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $run = q{noisy_run('select-only', '{1}', '{0,10}', '{cpu}', '{"cpu": {"workers": 1}}', '200 ms', '0 s', 1)};
my $id = $primary->safe_psql('postgres', "SELECT $run");
$primary->wait_for_catchup($standby);

foreach my $call ($run, q{noisy_start('select-only')}, q{noisy_load('{cpu}', 10, '1 s')})
{
	my ($status, $stdout, $stderr) = $standby->psql('postgres', "SELECT $call");
	like($stderr, qr/recovery is in progress/, "$call is refused");
	like($stderr, qr/HINT:  .*primary.*conninfo/, 'with a way out');
}
is($standby->safe_psql('postgres', 'SELECT noisy_stop()'), 'f', 'there is nothing to stop');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM noisy_progress'), '0', 'there is no progress');
is($standby->safe_psql('postgres', "SELECT state FROM noisy_runs WHERE run_id = $id"), 'completed', 'runs of the primary can be read');
is($standby->safe_psql('postgres', "SELECT count(*) FROM noisy_results WHERE run_id = $id"), '2', 'and so can their results');
like($standby->safe_psql('postgres', "SELECT noisy_report($id)"), qr/select-only/, 'and their report');

# A run that is on at the primary is not called aborted here, where nobody can know.
my $live = $primary->safe_psql('postgres', q{SELECT noisy_start('select-only', '{1}', '{0}', duration => '60 s', warmup => '0 s')});
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', "SELECT state, error FROM noisy_runs WHERE run_id = $live"), 'running|', 'a live run of the primary is shown as it was recorded');
is($primary->safe_psql('postgres', 'SELECT noisy_stop()'), 't', 'the run is stopped at the primary');
nobody_left_behind($primary, 'the primary');

# The primary measures the standby.
(my $conninfo = $standby->connstr('postgres')) =~ s/'/''/g;
my ($status, $remote, $stderr) = $primary->psql('postgres',
	"SELECT noisy_run('select-only', '{2}', '{0}', duration => '300 ms', warmup => '0 s', repeats => 1, conninfo => '$conninfo')");
is($status, 0, 'a run on the primary drives the standby') or diag($stderr);
is($primary->safe_psql('postgres', "SELECT transactions > 0, errors FROM noisy_blocks WHERE run_id = $remote"), 't|0', 'and gets its transactions');

# After a promotion it measures, and knows which runs died with the old primary.
$live = $primary->safe_psql('postgres', q{SELECT noisy_start('select-only', '{1}', '{0}', duration => '60 s', warmup => '0 s')});
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
$standby->promote;
is($standby->safe_psql('postgres', "SELECT state FROM noisy_runs WHERE run_id = $live"), 'aborted', 'a run of the primary that died is aborted after the promotion');
next_run_completes($standby, 'after the promotion');

$standby->stop;
done_testing();
