# A wall clock that is stepped, again and again, by hours: a run takes as long as it should, and none of its figures shows it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

# The server gets a clock of ours.
my $library = PostgreSQL::Test::Utils::tempdir() . '/step_clock.so';
my $compiler = $ENV{CC} // 'cc';
plan skip_all => 'needs a C compiler, and LD_PRELOAD'
  unless $^O eq 'linux' && system("$compiler -shared -fPIC -O2 -o $library '$FindBin::RealBin/../clock/step_clock.c' -ldl") == 0;

my $file = PostgreSQL::Test::Utils::tempdir() . '/step';

# In place, because the file is mapped
sub step_clock
{
	my ($seconds) = @_;

	open(my $handle, -e $file ? '+<' : '>', $file) or die $!;
	syswrite($handle, pack('q', $seconds)) == 8 or die $!;
	close $handle;
	return;
}

step_clock(0);
my $node = PostgreSQL::Test::Cluster->new('clock');
$node->init;
$node->append_conf('postgresql.conf', 'log_statement = none');
{
	local $ENV{LD_PRELOAD} = $library;
	local $ENV{NN_CLOCK_FILE} = $file;
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION pg_noisyneighbor');
make_tables($node);

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

my $real = time;
step_clock(7200);
cmp_ok(abs(sql(q{SELECT extract(epoch FROM clock_timestamp())}) - $real - 7200), '<', $NoisyTest::patience_s, "the server's clock can be stepped");

# Step it until a session ends, forward and back.  Returns its exit status.
sub step_until_end
{
	my ($session) = @_;
	my $until = time + $NoisyTest::patience_s;
	my $steps = 0;

	while ($session->{run}->pumpable && time < $until)
	{
		step_clock($steps++ % 2 ? -7200 : 7200);
		$session->{run}->pump_nb;
		sleep(0.05);
	}
	step_clock(0);
	return finish_sql($session);
}

# Durations on the monotonic clock; a machine under load is late, but not by hours.
my $begin = time;
my $session = background_sql($node, 'postgres', q{
	SELECT noisy_run('select-only', '{2}', '{0,20}', '{cpu,memory}', '{"cpu": {"workers": 1}, "memory": {"workers": 1, "bytes": "8MB"}}',
		'1500 ms', '200 ms', 1, options => '{"settle": 0.1, "guard": false}')});
is(step_until_end($session), 0, 'a run completes while the clock is stepped') or diag($session->{err});
cmp_ok(time - $begin, '>', 3 * 1.7, 'it takes no less time than it should');
my ($id) = $session->{out} =~ /(\d+)\s*\z/;
is(sql("SELECT state FROM noisy_runs WHERE run_id = $id"), 'completed', 'its state says so');
is(sql("SELECT count(*), bool_and(duration_s BETWEEN 1.49 AND 2.5), bool_and(transactions > 0), sum(errors) FROM noisy_blocks WHERE run_id = $id"),
	'3|t|t|0', 'blocks have the length that was asked for');
is(sql("SELECT bool_and(max_ms < 10000 AND avg_ms BETWEEN 0 AND 1000 AND tps > 1) FROM noisy_results WHERE run_id = $id"), 't', 'no latency shows the steps');
is(sql("SELECT count(*), min(second), max(second), bool_and(host_busy_pct BETWEEN 0 AND 100) FROM noisy_timeline WHERE run_id = $id"), '6|1|2|t',
	'the timeline has a row per second');
is(sql("SELECT bool_and(achieved_pct BETWEEN 0 AND 30) FROM noisy_dose WHERE run_id = $id AND stressor = 'cpu'"), 't', 'the dose is no other');
is(sql("SELECT bool_and(samples_expected BETWEEN 140 AND 160 AND samples_taken > 0) FROM noisy_blocks WHERE run_id = $id"), 't', 'samples are taken');
like(sql("SELECT noisy_report($id)"), qr/select-only/, 'the report works');

# How long a load lasts, how long it still has to go, and its end by a stop
my $load = begin_load($node);
step_clock(-7200);
is(sql('SELECT elapsed_s BETWEEN 0 AND 60 AND remaining_s BETWEEN 0 AND 100 FROM noisy_progress'), 't', 'progress knows nothing of the steps');
sleep(1);
is(sql('SELECT phase FROM noisy_progress'), 'measuring', 'a load goes on when the clock is set back');
step_clock(7200);
sleep(1);
is(sql('SELECT phase FROM noisy_progress'), 'measuring', 'and when it is set forward');
take_cpu($load);
sql('SELECT noisy_stop()');
is_quiet($load, 'a stop after a step');
finish_sql($load->{session});
is(run_state($load), 'stopped|', 'a run is stopped as ever');
step_clock(0);
next_run_completes($node, 'with the right time again');
nobody_left_behind($node, 'in the end');

$node->stop;
done_testing();
