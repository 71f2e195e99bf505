# The open loop: transactions are sent when they are due, whatever the server does; a server that freezes shows in
# all of those that it keeps waiting, and what was never started is counted.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => 'needs /proc' unless -r '/proc/self/stat';

my $node = new_server('open_loop');
make_tables($node);
my ($load, $name);

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# A run of one baseline block without noise, to its end; returns its id.
sub run_to_end
{
	my ($arguments) = @_;

	return sql("SELECT noisy_run('select-only', levels => '{0}', noise => '{}', repeats => 1, $arguments)");
}

# The same, started, and waited for until it is measuring.
sub start_run
{
	my ($arguments) = @_;

	$load = { node => $node, database => 'postgres' };
	$load->{session} = background_sql($node, 'postgres',
		"SELECT noisy_run('select-only', levels => '{0}', noise => '{}', repeats => 1, $arguments)");
	return wait_until_on($load, q{phase = 'measuring'});
}

# Columns of the last block.
sub block_has
{
	my ($columns) = @_;

	return sql("SELECT $columns FROM noisy_blocks ORDER BY run_id DESC, block DESC LIMIT 1");
}

#
# A server that keeps up
#

$name = 'a fixed rate';
my $id = run_to_end(q{clients => '{4}', threads => 2, rate => 250, duration => '2 s', warmup => '0 s',
	options => '{"latency_limit_ms": 60000, "seed": 7}'});
# Their number is that of a Poisson process: 500, and five standard deviations to each side
my $all = block_has('transactions + errors + not_started + unfinished');
cmp_ok(abs($all - 500), '<', 5 * sqrt(500), "$name: every transaction that is due is accounted for ($all)");
cmp_ok(block_has('transactions'), '>', 0.5 * $all, "$name: most of them have ended");
is(block_has('errors, rate, late, late_pct'), '0|250|0|0', "$name: rate and late share are stored");
is(block_has('noisy_count(service) = transactions AND noisy_count(latency) = transactions'), 't', "$name: latency and service time are of the same transactions");
is(sql(qq{SELECT count(*) FILTER (WHERE l >= s) FROM noisy_blocks,
		unnest(noisy_percentile(latency, '{0,0.5,0.9,0.99,1}'::float8[]), noisy_percentile(service, '{0,0.5,0.9,0.99,1}'::float8[])) AS p (l, s)
	 WHERE run_id = $id}),
	'5', "$name: latency is never below the service time");
is(block_has('generator_lag_p99_ms > 0, backlog_max >= 0'), 't|t', "$name: the lag of the driver is measured");
is(sql("SELECT sum(t.transactions) = b.transactions FROM noisy_timeline t JOIN noisy_blocks b USING (run_id, block) WHERE run_id = $id GROUP BY b.transactions"),
	't', "$name: the seconds sum up to the block");
is(sql("SELECT parameters -> 'rate', parameters -> 'latency_limit_ms' FROM noisy_runs WHERE run_id = $id"), '250|60000', "$name: the run's parameters show it");
is(sql("SELECT clients, blocks, rate, tps > 100, p99_ms >= service_p99_ms, late_pct FROM noisy_open_loop WHERE run_id = $id"), '4|1|250|t|t|0', "$name: noisy_open_loop shows it");
like(sql("SELECT noisy_report($id)"), qr/Open loop of 250\.0 transactions\/s, limit 60000 ms: .*\nclients +noise +done\/s.*\n +4 +0 /, "$name: the report shows it");

$name = 'the same seed';
my $again = run_to_end(q{clients => '{4}', threads => 2, rate => 250, duration => '2 s', warmup => '0 s', options => '{"seed": 7}'});
is(block_has('transactions + errors + not_started + unfinished'), $all, "$name: brings the same arrivals");
is(block_has('late, late_pct'), '|', "$name: without a limit nothing is late");

$name = 'a closed loop';
run_to_end(q{clients => '{2}', duration => '500 ms', warmup => '0 s', options => '{"latency_limit_ms": 0.001}'});
is(block_has('service, rate, backlog_max, not_started, generator_lag_p99_ms'), '||||', "$name: has no service time and no backlog");
is(block_has('late >= transactions, late_pct, unfinished BETWEEN 0 AND 2'), 't|100|t', "$name: can have a latency limit");
is(sql('SELECT count(*) FROM noisy_open_loop WHERE run_id = (SELECT max(run_id) FROM noisy_runs)'), '0', "$name: is not in noisy_open_loop");
unlike(sql('SELECT noisy_report(max(run_id)) FROM noisy_runs'), qr/Open loop/, "$name: nor has its report anything to say of it");

#
# A frozen server: a stall of S in a window T leaves a share x / T of the transactions with a latency
# above S - x.  A closed loop would have one late transaction per client, far beyond its p95.
#

$name = 'a frozen server';
start_run(q{clients => '{4}', rate => 500, duration => '4 s', warmup => '500 ms', options => '{"latency_limit_ms": 250, "seed": 3}'});
my @backends = all_pids($load, 'client');
is(scalar(@backends), 4, "$name: all clients are connected");
sleep(0.3);
my $from = time;
kill 'STOP', @backends;
sleep(0.5);
kill 'CONT', @backends;
my $stall_ms = 1000 * (time - $from);
is(finish_sql($load->{session}), 0, "$name: the run goes on");
my $expected_ms = sql("SELECT noisy_stall_percentile_ms($stall_ms, 4, 0.95)");
my $p95_ms = block_has('noisy_percentile(latency, 0.95)');
note("stall of $stall_ms ms: p95 $p95_ms ms, expected $expected_ms ms");
cmp_ok($p95_ms, '>', 0.7 * $expected_ms, "$name: the p95 is that of the stall");
# Waiting for the backlog to be worked off takes its time on a busy machine.
cmp_ok($p95_ms, '<', 1.5 * $stall_ms, "$name: and no more than that");
cmp_ok(block_has('noisy_percentile(service, 0.95)'), '<', 0.5 * $p95_ms, "$name: hardly any service time sees it");
cmp_ok(block_has('noisy_max(latency)'), '>', 0.9 * $stall_ms, "$name: the longest latency is as long as the stall");
# 500/s times 500 ms, less four in flight
cmp_ok(block_has('backlog_max'), '>', 150, "$name: those that wait are the backlog");
cmp_ok(block_has('late'), '>', 0.5 * 500 * ($stall_ms - 250) / 1000, "$name: late ones are counted");

$name = 'a server that is frozen when the block ends';
start_run(q{clients => '{2}', rate => 200, duration => '1500 ms', warmup => '0 s', options => '{"latency_limit_ms": 100}'});
my $blocker = background_sql($node, 'postgres', 'BEGIN; LOCK TABLE pgbench_accounts; SELECT pg_sleep(2); COMMIT');
is(finish_sql($load->{session}), 0, "$name: the run ends");
is(finish_sql($blocker), 0, "$name: so does the lock");
is(block_has('unfinished, not_started > 5, backlog_max >= not_started'), '2|t|t', "$name: what was due and is not started is counted");
is(block_has('late > 5 AND late <= transactions + not_started + unfinished AND late_pct > 0 AND late_pct <= 100'), 't', "$name: and late once it is over the limit");

#
# More than any server can do
#

$name = 'a million a second';
run_to_end(q{clients => '{2}', rate => 1000000, duration => '300 ms', warmup => '0 s'});
$all = block_has('transactions + errors + not_started + unfinished');
cmp_ok(abs($all - 300_000), '<', 5 * sqrt(300_000), "$name: every transaction that is due is accounted for ($all)");
is(block_has('transactions > 0, not_started > transactions, backlog_max >= not_started'), 't|t|t', "$name: most are not started");

#
# Trouble
#

$name = 'idle clients that are terminated';
start_run(q{clients => '{3}', rate => 20, duration => '4 s', warmup => '0 s'});
sql(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'pg\_noisyneighbor run=%'});
is(finish_sql($load->{session}), 0, "$name: the run goes on");
cmp_ok(block_has('errors'), '<=', 3, "$name: only transactions that were in flight are errors");
$all = block_has('transactions + errors + not_started + unfinished');
cmp_ok(abs($all - 80), '<', 5 * sqrt(80), "$name: every transaction that is due is accounted for ($all)");
cmp_ok(block_has('transactions'), '>', 20, "$name: and done by those that came back");

$name = 'a stop before the first transaction';
start_run(q{clients => '{2}', rate => 1e-6, duration => '60 s', warmup => '0 s'});
take_cpu($load);
sql('SELECT noisy_stop()');
is_quiet($load, $name);
finish_sql($load->{session});
is(run_state($load), 'stopped|', "$name: the run is stopped");

$name = 'a stop of a driver that cannot keep up';
start_run(q{clients => '{2}', rate => 1000000, duration => '60 s', warmup => '0 s'});
take_cpu($load);
sql('SELECT noisy_stop()');
is_quiet($load, $name);
finish_sql($load->{session});
nobody_left_behind($node, $name);

$node->stop;
done_testing();
