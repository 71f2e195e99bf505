# Clients that fail: connections that are lost, that hang, that cannot be made. What can be counted is counted
# and the run goes on; what cannot go on ends with an error; and a stop is answered at once in every case.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use IO::Socket::INET;
use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

plan skip_all => 'needs /proc' unless -r '/proc/self/stat';

my $node = new_server('clients');
make_tables($node);
my ($load, $name);

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# Clients that are terminated are errors of the workload, which reconnects and goes on.
# What happens between two blocks is counted in neither: so do it until it is counted.
sub until_counted
{
	my ($what, $count) = @_;

	foreach (1 .. 20)
	{
		$what->();
		wait_for_two_blocks();
		return 1 if sql("SELECT COALESCE(sum(connection_errors), 0) >= $count FROM noisy_blocks WHERE run_id = $load->{run_id}") eq 't';
	}
	return 0;
}

# Wait for a block that is wholly after now.
sub wait_for_two_blocks
{
	my $now = sql('SELECT block FROM noisy_progress');

	wait_for_query($node, "SELECT block > $now + 1 FROM noisy_progress") or BAIL_OUT("the run does not go on: $load->{session}{err}");
	return $now + 1;
}

$name = 'termination of clients';
$load = begin_run($node);
ok( until_counted(
		sub {
			sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'pg\_noisyneighbor run=%' LIMIT 1});
		}, 1),
	"$name: that of one is counted, and the run goes on");
ok( until_counted(
		sub {
			sql(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'pg\_noisyneighbor run=%'});
		}, 3),
	"$name: that of all is counted, and the run goes on");
wait_for_two_blocks();
is(sql(qq{SELECT errors, transactions > 0 FROM noisy_blocks WHERE run_id = $load->{run_id} ORDER BY block DESC LIMIT 1}),
	'0|t', "$name: leaves later blocks without errors");
is(scalar(grep { $_ eq 'client' } values %{ { our_processes($node) } }), 2, "$name: every client is connected again");
$load->{processes} = { our_processes($node) };
take_cpu($load);
sql('SELECT noisy_stop()');
is_quiet($load, $name);
finish_sql($load->{session});
is(run_state($load), 'stopped|', "$name: the run can be stopped");

#
# Clients that hang
#

$name = 'clients that hang';
$load = begin_run($node, undef, undef, '5 s');	# a run is stalled after 3 s
kill 'STOP', all_pids($load, 'client');
ok(wait_for_query($node, q{SELECT phase = 'stalled' AND idle_s >= 3 FROM noisy_progress}), "$name: the run is shown as stalled");
my %hanging = map { $_ => 1 } all_pids($load, 'client');
take_cpu($load);
sql(q{SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'SELECT noisy\_run%'});
is_quiet($load, $name, %hanging);
isnt(finish_sql($load->{session}), 0, "$name: the caller is told");
like(run_state($load), qr/^cancelled\|/, "$name: the run is cancelled all the same");
kill 'CONT', keys %hanging;
nobody_left_behind($node, $name);
next_run_completes($node, $name);

$name = 'clients that hang for a while';
$load = begin_run($node, undef, undef, '5 s');	# a run is stalled after 3 s
%hanging = map { $_ => 1 } all_pids($load, 'client');
kill 'STOP', keys %hanging;
ok(wait_for_query($node, q{SELECT phase = 'stalled' FROM noisy_progress}), "$name: the run is shown as stalled");
kill 'CONT', keys %hanging;
wait_for_two_blocks();
is(sql("SELECT count(*) = max(block) FROM noisy_blocks WHERE run_id = $load->{run_id}"), 't', "$name: every block is kept");
sql('SELECT noisy_stop()');
finish_sql($load->{session});
like(run_state($load), qr/^stopped\|/, "$name: it can be stopped");

#
# Tables that go
#

$name = 'a table that is gone';
$load = begin_run($node);
sql('ALTER TABLE pgbench_accounts RENAME TO elsewhere');
my $block = wait_for_two_blocks();
is( sql("SELECT errors > 0 AND other_errors = errors AND transactions = 0, last_error FROM noisy_blocks WHERE run_id = $load->{run_id} AND block = $block"),
	't|relation "pgbench_accounts" does not exist (SQLSTATE 42P01)', "$name: errors are counted, with the last message");
sql('ALTER TABLE elsewhere RENAME TO pgbench_accounts');
wait_for_two_blocks();
$block = wait_for_two_blocks();
is(sql("SELECT errors = 0 AND transactions > 0 FROM noisy_blocks WHERE run_id = $load->{run_id} AND block = $block"), 't', "$name: there are no more errors when it is back");
sql('SELECT noisy_stop()');
finish_sql($load->{session});

#
# Another server
#

my $other = PostgreSQL::Test::Cluster->new('other');
$other->init;
$other->append_conf('postgresql.conf', "log_statement = none\n");
$other->start;
$other->safe_psql('postgres', 'CREATE EXTENSION pg_noisyneighbor; SELECT noisy_workload_init(1)');
(my $conninfo = $other->connstr('postgres')) =~ s/'/''/g;

$name = 'another server that dies';
$load = begin_run($node, ", conninfo => '$conninfo'");
$other->stop('immediate');
is(finish_sql($load->{session}) // 'nothing', 1, "$name: the caller gets an error");
like($load->{session}{err}, qr/2 of 2 clients lost their connections for good/, "$name: it says what happened");
like(run_state($load), qr/^failed\|2 of 2 clients lost their connections/, "$name: the run has failed");
is(sql("SELECT count(*) > 0 AND count(*) = max(block) FROM noisy_blocks WHERE run_id = $load->{run_id}"), 't', "$name: blocks that had ended are kept");
nobody_left_behind($node, $name);
$other->start;

$name = 'another server that restarts';
$load = begin_run($node, ", conninfo => '$conninfo'");
ok(until_counted(sub { $other->restart }, 2), "$name: lost connections are counted, and the run goes on");
$block = wait_for_two_blocks();
is(sql("SELECT errors = 0 AND transactions > 0 FROM noisy_blocks WHERE run_id = $load->{run_id} AND block = $block"), 't', "$name: the clients are connected again");
sql('SELECT noisy_stop()');
finish_sql($load->{session});

# A host that takes connections and never says a word
my $silent = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die $!;
$name = 'a host that never answers';
my $begin = time;
my $session = background_sql($node, 'postgres', "SELECT noisy_run('select-only', '{2}', conninfo => 'host=127.0.0.1 port=" . $silent->sockport . "')");
ok(wait_for_query($node, q{SELECT phase = 'connecting' FROM noisy_progress}), "$name: is waited for");
$load = { node => $node, processes => { our_processes($node) } };
take_cpu($load);
sql(q{SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'SELECT noisy\_run%'});
is_quiet($load, "$name, and a cancel");
finish_sql($session);
like($session->{err}, qr/57014/, "$name: the wait can be cancelled");
$session = background_sql($node, 'postgres', "SELECT noisy_start('select-only', '{2}', conninfo => 'host=127.0.0.1 port=" . $silent->sockport . "')");
ok(wait_for_query($node, q{SELECT phase = 'connecting' FROM noisy_progress}), "$name: is waited for again");
sql('SELECT noisy_stop()');
finish_sql($session);
like($session->{err}, qr/57014: the run was stopped before it began/, "$name: the wait can be ended by noisy_stop");
my ($status, $stdout, $stderr) = $node->psql('postgres',
	"SELECT noisy_run('select-only', '{2}', conninfo => 'host=127.0.0.1 connect_timeout=2 port=" . $silent->sockport . "')");
like($stderr, qr/could not connect 2 of 2 clients.*did not answer in time.*within 2 s/s, "$name: connect_timeout ends the wait");
is(sql(q{SELECT count(*) FROM noisy_runs WHERE state IN ('starting', 'aborted')}), '0', "$name: no run is recorded");
next_run_completes($node, $name);

$other->stop;
$node->stop;
done_testing();
