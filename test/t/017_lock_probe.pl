# The lock probe: what it tells, and its workers when something ends them, or the run, in the middle.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => 'needs /proc' unless -r '/proc/self/schedstat';

my $node = new_server('lock_probe', 'restart_after_crash = on', 'max_worker_processes = 8');
my ($load, $name, $status, $stdout, $stderr);

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# By itself
is( sql(q{SELECT acquisitions > 100, hold_p50_ms >= 0.05, hold_p99_ms >= hold_p50_ms, wait_max_ms >= wait_p99_ms AND wait_p99_ms >= wait_p50_ms,
		abs(holder_on_cpu_pct + holder_off_cpu_pct + waiter_run_queue_pct + rest_pct - 100) < 0.001, closure_pct BETWEEN 95 AND 105,
		next_in_line_pct <= rest_pct + 0.001
		FROM noisy_lock_probe('1 s', 4, 50, 20)}),
	't|t|t|t|t|t|t',
	'the parts sum to the waits, by the clock of the waiters and by that of the holders');
is( sql(q{WITH p AS (SELECT * FROM noisy_lock_probe(duration => '200 ms', workers => 2, hold_us => 20)), n AS (SELECT count(*) FROM p)
		SELECT n.count, count(v.run_id), (SELECT count(*) FROM noisy_runs WHERE state = 'completed') FROM n, noisy_lock_probe v GROUP BY n.count}),
	'1|1|1',
	'it can stand within a query, which goes on to see what it saw before');
is( sql(q{SELECT count(*), bool_and(r.state = 'completed' AND r.parameters -> 'lock_probe' = jsonb_build_object('workers', v.workers, 'hold_us', v.hold_us,
			'pause_us', v.pause_us)), bool_and(r.workload IS NULL AND v.clients = 0 AND v.level = 0 AND v.blocks = 1)
		FROM noisy_lock_probe v JOIN noisy_runs r USING (run_id)}),
	'2|t|t',
	'each is a run, and has its row in the view');
is( sql(q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT long_waits >= 0 FROM noisy_lock_probe('100 ms', 2); COMMIT}),
	't', 'it runs in a transaction block');
like(sql('SELECT noisy_report(max(run_id)) FROM noisy_lock_probe'), qr/^Lock probe: 2 workers hold a lock of their own for 50/m,
	'the report has it');

# Beside a workload
make_tables($node);
sql(q{SELECT noisy_run('select-only', '{1}', '{0,50}', '{cpu}', '{"cpu": {"workers": 1}}', '500 ms', '0 s', 1,
	options => '{"lock_probe": true, "guard": false}')});
is( sql(q{SELECT count(*), sum(v.blocks), bool_and(v.acquisitions BETWEEN 50 AND 2000), bool_and(v.workers = 2 AND v.hold_us = 20 AND v.closure_pct BETWEEN 90 AND 110),
		(SELECT bool_and(b.transactions > 0) FROM noisy_blocks b WHERE b.run_id = v.run_id)
		FROM noisy_lock_probe v WHERE v.clients = 1 GROUP BY v.run_id}),
	'2|3|t|t|t',
	'a run with the option has a row for each level');
my ($used, $lasted) = split /\|/, sql(q{SELECT sum(own_pct * duration_s), sum(duration_s) FROM noisy_host_usage JOIN noisy_blocks USING (run_id, block)
	WHERE run_id = (SELECT max(run_id) FROM noisy_lock_probe)});
note("conductor, sample and lock workers used $used % of the host, times seconds, in $lasted s");

# The name of its lock
$load = { node => $node, database => 'postgres', session => background_sql($node, 'postgres', q{SELECT noisy_lock_probe('60 s', 4, 10000, 0)}) };
wait_until_on($load, q{phase = 'measuring'});
is(scalar(all_pids($load, 'lock')), 4, 'its workers are in pg_stat_activity');
ok( wait_for_query($node,
		q{SELECT count(*) FROM noisy_progress; SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'pg_noisyneighbor lock' AND wait_event_type = 'LWLock' AND wait_event = 'noisy_lock_probe'},
		"1\nt"),
	'a session that has looked at the run sees what they wait for');

# One load at a time
($status, $stdout, $stderr) = $node->psql('postgres', q{SELECT noisy_load('{cpu}', 10, '1 s')});
like($stderr, qr/another run is on in this cluster/, 'while it is on, no other load begins');
take_cpu($load);
is(sql('SELECT noisy_stop()'), 't', 'noisy_stop finds it');
is_quiet($load, 'noisy_stop of a lock probe');
is(finish_sql($load->{session}), 0, 'and its caller has no row');
is($load->{session}{out}, '', 'for nothing was completed');

sub begin_probe
{
	$load = { node => $node, database => 'postgres' };
	$load->{session} = background_sql($node, 'postgres', q{SELECT noisy_lock_probe('60 s', 4, 10000, 0)});
	return wait_until_on($load, q{phase = 'measuring'});
}

# Stop a worker at a moment at which it holds the lock, and return its pid; nothing when it was never caught.
sub stop_holder
{
	my ($pid) = all_pids($load, 'lock');

	foreach my $try (1 .. 200)
	{
		kill 'STOP', $pid;
		sleep(0.05);
		return $pid
		  if sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_noisyneighbor lock' AND wait_event_type = 'LWLock'}) == 3;
		kill 'CONT', $pid;
		sleep(0.003 * ($try % 7));
	}
	return;
}

$name = 'too few worker slots for the lock probe';
($status, $stdout, $stderr) = $node->psql('postgres', q{SELECT noisy_lock_probe('1 s', 7)});
like($stderr, qr/not enough background worker slots.*Needed 9, free [0-8]; max_worker_processes is 8/s, "$name: refused, with what is needed and free");
nobody_left_behind($node, $name);

$name = 'cancel of noisy_lock_probe';
begin_probe();
take_cpu($load);
sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT noisy_lock_probe%' AND backend_type = 'client backend'});
is_quiet($load, $name);
isnt(finish_sql($load->{session}), 0, "$name: the caller is told");
like($load->{session}{err}, qr/57014/, "$name: by a query that was canceled");
is(run_state($load), 'cancelled|', "$name: the state says so");

$name = 'termination of a lock worker';
begin_probe();
take_cpu($load);
kill 'TERM', (all_pids($load, 'lock'))[1];
is_quiet($load, $name);
isnt(finish_sql($load->{session}), 0, "$name: the caller is told");
like($load->{session}{err}, qr/lock worker of the run ended unexpectedly/, "$name: by an error that names it");
like(run_state($load), qr/^aborted\|lock worker of the run ended unexpectedly/, "$name: the state says so");
nobody_left_behind($node, $name);

# Whoever stands still holds the lock, or stands in line; the others go on, or wait for it.
$name = 'SIGSTOP and SIGCONT of lock workers';
$load = { node => $node, database => 'postgres', session => background_sql($node, 'postgres', q{SELECT wait_max_ms > 100, closure_pct BETWEEN 95 AND 105 FROM noisy_lock_probe('3 s', 3, 2000, 0)}) };
wait_until_on($load, q{phase = 'measuring'});
foreach my $pid (all_pids($load, 'lock'))
{
	kill 'STOP', $pid;
	sleep(0.3);
	kill 'CONT', $pid;
}
is(finish_sql($load->{session}), 0, "$name: the probe goes on");
is($load->{session}{out}, 't|t', "$name: and has seen the wait");

# Everybody waits for one that does not move.
$name = 'a lock worker that hangs with the lock';
begin_probe();
my @workers = all_pids($load, 'lock');
my $holder = stop_holder();
SKIP:
{
	skip "$name: it was never caught with the lock", 3 unless $holder;
	take_cpu($load);
	is(sql('SELECT noisy_stop()'), 't', "$name: the run can be stopped");
	sleep(1);
	my $sum = 0;
	$sum += (cpu_seconds($_) // 0) - $load->{cpu}{$_} foreach @workers;
	cmp_ok($sum, '<', $NoisyTest::cpu_allowed_s, "$name: nobody burns CPU");
	kill 'CONT', $holder;
	is_quiet($load, $name);
}
kill 'CONT', @workers;
sql('SELECT noisy_stop()');
finish_sql($load->{session});
nobody_left_behind($node, $name);

$name = 'kill -9 of a worker that holds the lock';
begin_probe();
take_cpu($load);
kill 'KILL', stop_holder() // (all_pids($load, 'lock'))[0];
is_quiet($load, $name);
isnt(finish_sql($load->{session}) // 0, 0, "$name: the caller's session ends");
ok(wait_for_query($node, 'SELECT 1', '1'), "$name: the server is there again");
nobody_left_behind($node, $name);
is(run_state($load), 'aborted|the server or the conductor of the run died', "$name: the state says so");
is(sql(q{SELECT count(*) FROM noisy_lock_probe('100 ms', 2)}), '1', "$name: the next one works");

$name = 'kill -9 of the postmaster during a lock probe';
begin_probe();
$node->kill9;
is_quiet($load, $name);
finish_sql($load->{session});
foreach (1 .. 600)
{
	last unless grep { kill 0, $_ } keys %{ $load->{processes} };
	sleep(0.1);
}

# Preloaded, every session knows the name.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_noisyneighbor'\n");
ok(wait_for_query_after_start(), "$name: the server starts again");
is(run_state($load), 'aborted|the server or the conductor of the run died', "$name: the state says so");
begin_probe();
ok( wait_for_query($node,
		q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'pg_noisyneighbor lock' AND wait_event_type = 'LWLock' AND wait_event = 'noisy_lock_probe'}),
	'where the library is preloaded, every session sees what they wait for');
sql('SELECT noisy_stop()');
finish_sql($load->{session});

sub wait_for_query_after_start
{
	foreach (1 .. 20)
	{
		return 1 if eval { $node->start; 1 };
		sleep(0.5);
	}
	return 0;
}

$node->stop;
done_testing();
