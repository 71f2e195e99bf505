# Everything stops: whatever ends a run early, its load is gone at once, its state says how it
# ended, finished blocks are kept, and the next run starts.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'needs /proc' unless -r '/proc/self/stat';

# Dynamic shared memory as files can be counted.
my $node = new_server('stop', 'dynamic_shared_memory_type = mmap');
make_tables($node);
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_noisyneighbor');

# What is true after every early end.
sub check_end
{
	my ($load, $name, $state, $error) = @_;

	is_quiet($load, $name);
	if ($load->{session})
	{
		ok(defined finish_sql($load->{session}), "$name: the caller gets an answer");
		like($load->{session}{err}, $error, "$name: the caller is told") if $error;
	}
	nobody_left_behind($node, $name);
	like(run_state($load), $state, "$name: the state says so");
	next_run_completes($node, $name);
	return;
}

# Blocks that ended before are complete.
sub check_blocks
{
	my ($load, $name) = @_;

	is( $node->safe_psql('postgres', qq{
		SELECT count(*) > 0 AND count(*) = max(block) AND bool_and(transactions > 0),
			bool_and(EXISTS (SELECT FROM noisy_timeline t WHERE t.run_id = b.run_id AND t.block = b.block)
				AND EXISTS (SELECT FROM noisy_bgwriter w WHERE w.run_id = b.run_id AND w.block = b.block)
				AND EXISTS (SELECT FROM noisy_host_usage h WHERE h.run_id = b.run_id AND h.block = b.block)
				AND (SELECT count(*) FROM noisy_dose d WHERE d.run_id = b.run_id AND d.block = b.block) = 3)
		  FROM noisy_blocks b WHERE run_id = $load->{run_id}}),
		't|t',
		"$name: blocks that had ended are kept, and complete");
	return;
}

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

my $caller = q{SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%noisy\_load%' AND pid <> pg_backend_pid()};
my ($load, $name);
my $segments = split /\n/, sql(q{SELECT * FROM pg_ls_dir('pg_dynshmem') f WHERE f LIKE 'mmap.%'});

#
# Persons
#

$name = 'cancel of the caller';
$load = begin_load($node);
my %roles = reverse %{ $load->{processes} };
is_deeply([ sort keys %roles ], [qw(conductor noise sample)], 'the processes of noise alone are seen in pg_stat_activity');
sql($caller);
check_end($load, $name, qr/^cancelled\|$/, qr/57014: canceling statement due to user request/);

$name = 'termination of the caller';
$load = begin_load($node);
sql($caller =~ s/cancel/terminate/r);
check_end($load, $name, qr/^cancelled\|$/, qr/57P01: terminating connection/);

$name = 'death of the client program';
$load = begin_load($node);
kill 'KILL', psql_pid($load->{session});
check_end($load, $name, qr/^cancelled\|$/);

$name = 'statement_timeout of the caller';
$load = { node => $node, database => 'postgres', session =>
	  background_sql($node, 'postgres',
		q{SET statement_timeout = '2 s'}, q{SELECT noisy_load('{cpu}', 50, '60 s', '{"cpu": {"workers": 1}}');}) };
wait_until_on($load, q{phase = 'measuring'});
is(finish_sql($load->{session}), 1, "$name: the caller gets an error");
take_cpu($load);
check_end($load, $name, qr/^cancelled\|$/, qr/57014: canceling statement due to statement timeout/);

$name = 'noisy_stop';
$load = begin_load($node);
is($node->safe_psql('other', 'SELECT noisy_stop()'), 'f', "$name: does not reach a run of another database");
is(sql("SELECT noisy_stop($load->{run_id} + 1)"), 'f', "$name: does not stop a run with another id");
is(sql("SELECT phase FROM noisy_progress"), 'measuring', "$name: the run went on");
take_cpu($load);
is(sql("SELECT noisy_stop($load->{run_id})"), 't', "$name: says that it has stopped the run");
check_end($load, $name, qr/^stopped\|$/, qr/NOTICE: .*run \d+ was stopped/);
is(sql('SELECT noisy_stop()'), 'f', "$name: says so when there is nothing to stop");

$name = 'noisy_stop in a run with clients';
$load = begin_run($node);
my (undef, undef, $refusal) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT noisy_workload_init(1, true)");
like($refusal, qr/55006: cannot replace the tables of the workload while a run is on/, 'tables are not replaced under a run');
take_cpu($load);
sql('SELECT noisy_stop()');
check_end($load, $name, qr/^stopped\|$/, qr/run \d+ was stopped/);
check_blocks($load, $name);

$name = 'cancel in a run with clients';
$load = begin_run($node);
is(scalar(all_pids($load, 'client')), 2, 'clients are seen in pg_stat_activity by their application_name');
is(scalar(all_pids($load, 'workload')), 1, 'and so is the load driver');
sql($caller =~ s/noisy\\_load/noisy\\_run/r);
check_end($load, $name, qr/^cancelled\|$/, qr/57014/);
check_blocks($load, $name);

# A caller that does not wait may go; a waiter that is cancelled stops nothing.
$name = 'noisy_start';
my $id = sql(q{SELECT noisy_start('select-only', '{1}', '{0}', duration => '60 s', warmup => '0 s')});
ok(wait_for_query($node, q{SELECT phase = 'measuring' FROM noisy_progress}), "$name: the run goes on when its caller has gone");
my $waiter = background_sql($node, 'postgres', "CALL noisy_wait($id);");
ok(wait_for_query($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CALL noisy\_wait%' AND wait_event = 'Extension'}),
	"$name: CALL noisy_wait waits");
sql($caller =~ s/noisy\\_load/CALL/r);
is(finish_sql($waiter), 1, "$name: CALL noisy_wait can be cancelled");
is(sql("SELECT state FROM noisy_runs WHERE run_id = $id"), 'running', "$name: the run went on");
$load = { node => $node, database => 'postgres', run_id => $id, processes => { our_processes($node) } };
take_cpu($load);
is(sql("SELECT noisy_stop($id)"), 't', "$name: noisy_stop reaches it");
check_end($load, $name, qr/^stopped\|$/);

# A second load is refused, wherever it comes from.
$name = 'a second run';
$load = begin_load($node);
my $first = "run $load->{run_id} in database \"postgres\", conducted by process " . join(' ', all_pids($load, 'conductor'));
foreach my $database (qw(postgres other))
{
	foreach my $call (q{noisy_load('{cpu}', 10, '1 s')}, q{noisy_run('select-only')}, q{noisy_start('select-only')})
	{
		my ($status, $stdout, $stderr) = $node->psql($database, "SELECT $call");
		like($stderr, qr/another run is on in this cluster.*\Q$first\E/s, "$name: $call in database $database is refused by naming the first");
	}
}
is(sql('SELECT count(*) FROM noisy_progress'), '1', "$name: the first goes on");
take_cpu($load);
sql('SELECT noisy_stop()');
check_end($load, $name, qr/^stopped\|$/);

# So it is when several begin at the same moment.
$name = 'a race';
my @racers = map { background_sql($node, 'postgres', q{SELECT noisy_load('{cpu}', 10, '500 ms', '{"cpu": {"workers": 1}}')}) } 1 .. 4;
finish_sql($_) foreach @racers;
my @winners = grep { $_->{err} !~ /ERROR/ } @racers;
cmp_ok(scalar(@winners), '>=', 1, "$name: one wins");
is(scalar(@winners) + scalar(grep { $_->{err} =~ /55006: another run is on in this cluster/ } @racers), 4, "$name: the others are refused")
  or diag(map { $_->{err} } @racers);
nobody_left_behind($node, $name);
is(sql(q{SELECT count(*) FROM noisy_runs WHERE state NOT IN ('completed', 'stopped', 'cancelled')}), '0', "$name: they leave nothing");

# Cancel at any moment of the start leaves nothing behind.
$name = 'cancel during the start';
foreach my $delay (0, 10, 20, 40, 60, 100, 150, 250)
{
	my $session = background_sql($node, 'postgres', q{SELECT noisy_run('select-only', '{8}', '{0,50}');});
	wait_for_query($node, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'SELECT noisy\_run%'});
	sleep($delay / 1000);
	sql($caller =~ s/noisy\\_load/noisy\\_run/r);
	finish_sql($session);
	like($session->{err}, qr/57014/, "$name: after $delay ms");
}
nobody_left_behind($node, $name);
is(sql(q{SELECT count(*) FROM noisy_runs WHERE state NOT IN ('completed', 'stopped', 'cancelled')}), '0', "$name: no run is left in a live state");
next_run_completes($node, $name);

# A lock on our tables delays the end, not the stop of the load.
$name = 'a lock on the tables';
$load = begin_load($node);
my $locker = background_sql($node, 'postgres',
	q{LOCK TABLE noisy_run_records IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600);});
ok(wait_for_query($node, q{SELECT count(*) > 0 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'noisy_run_records'::regclass}),
	"$name: is there");
take_cpu($load);
sql($caller);
finish_sql($load->{session});
like($load->{session}{err}, qr/57014/, "$name: the caller can be cancelled all the same");
is_quiet($load, $name, map { $_ => 1 } all_pids($load, 'conductor'));
sql($caller =~ s/cancel/terminate/r =~ s/noisy\\_load/pg\\_sleep/r);
finish_sql($locker);
check_end($load, $name, qr/^cancelled\|$/);

#
# Objects that go
#

$name = 'DELETE of the live run';
$load = begin_run($node);
sql("DELETE FROM noisy_runs WHERE run_id = $load->{run_id}");
check_end($load, $name, qr/^$/, qr/run \d+ was deleted while it was on/);

$name = 'DROP EXTENSION';
$load = begin_run($node);
sql('DROP EXTENSION pg_noisyneighbor');
is_quiet($load, $name);
finish_sql($load->{session});
like($load->{session}{err}, qr/extension "pg_noisyneighbor" was dropped while the run was on/, "$name: the caller is told");
nobody_left_behind($node, $name);
is(sql(q{SELECT count(*) FROM pg_class WHERE relname LIKE 'noisy%'}), '0', "$name: nothing of it is left");
sql('CREATE EXTENSION pg_noisyneighbor');
next_run_completes($node, $name);

$name = 'DROP DATABASE (FORCE)';
make_tables($node, 'other');
$load = begin_run($node, '', 'other');
my ($status, $stdout, $stderr) = $node->psql('postgres', 'DROP DATABASE other');
like($stderr, qr/is being accessed by other users/, 'DROP DATABASE is refused while a run is on');
take_cpu($load);
sql('DROP DATABASE other WITH (FORCE)');
is_quiet($load, $name);
finish_sql($load->{session});
nobody_left_behind($node, $name);
next_run_completes($node, $name);

#
# Processes that are terminated
#

foreach my $role (qw(conductor noise workload sample))
{
	$name = "termination of the $role";
	$load = begin_run($node);
	sql('SELECT pg_terminate_backend(' . (all_pids($load, $role))[0] . ')');
	check_end($load, $name, qr/^aborted\|.*(died|ended unexpectedly)/,
		$role eq 'conductor' ? qr/57P01: .*conductor of the run was terminated/ : qr/57P01: .*$role worker of the run ended unexpectedly/);
	check_blocks($load, $name);
}

# pg_cancel_backend on a process of the run ends it as well.
foreach my $role (qw(conductor noise workload sample))
{
	$name = "cancel of the $role";
	$load = begin_run($node);
	sql('SELECT pg_cancel_backend(' . (all_pids($load, $role))[0] . ')');
	check_end($load, $name, qr/^(cancelled|failed|aborted)\|/, qr/ERROR/);
	check_blocks($load, $name);
}

#
# Processes that are stopped
#

$name = 'a noise worker that hangs';
$load = { node => $node, database => 'postgres', session =>
	  background_sql($node, 'postgres', q{SELECT noisy_load('{cpu}', 50, '2 s', '{"cpu": {"workers": 1}}');}) };
wait_until_on($load, q{phase = 'measuring'});
kill 'STOP', all_pids($load, 'noise');
is(finish_sql($load->{session}), 1, "$name: the caller gets an error after some time");
like($load->{session}{err}, qr/noise worker of the run did not answer in time/, "$name: the error names it");
like(run_state($load), qr/^aborted\|noise worker of the run did not answer/, "$name: the state says so");
next_run_completes($node, "$name, still hanging");
take_cpu($load);
kill 'CONT', all_pids($load, 'noise');
is_quiet($load, "$name, awake again");
nobody_left_behind($node, $name);

$name = 'a conductor that hangs';
$load = begin_load($node);
kill 'STOP', all_pids($load, 'conductor');
sql($caller);
finish_sql($load->{session});
is_quiet($load, $name, map { $_ => 1 } all_pids($load, 'conductor'));
kill 'CONT', all_pids($load, 'conductor');
check_end($load, $name, qr/^cancelled\|$/, qr/57014/);

# Without anybody to end it, the load ends with the time of its block.
$name = 'a conductor that hangs, and nobody who stops the load';
$load = { node => $node, database => 'postgres', session =>
	  background_sql($node, 'postgres', q{SELECT noisy_load('{cpu}', 50, '2 s', '{"cpu": {"workers": 1}}');}) };
wait_until_on($load, q{phase = 'measuring'});
kill 'STOP', all_pids($load, 'conductor');
sleep(2.5);
take_cpu($load);
sleep(1);
my $used = 0;
$used += cpu_seconds($_) - $load->{cpu}{$_} foreach all_pids($load, 'noise');
cmp_ok($used, '<', 0.1, "$name: noise ends with its block");
kill 'CONT', all_pids($load, 'conductor');
is(finish_sql($load->{session}), 0, "$name: the run completes when it is awake again");
is(run_state($load), 'completed|', "$name: and its state says so");

is(scalar(split /\n/, sql(q{SELECT * FROM pg_ls_dir('pg_dynshmem') f WHERE f LIKE 'mmap.%'})), $segments, 'no shared memory is left of all these runs');

$node->stop;
done_testing();
