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
$name = 'termination of clients';
$load = begin_run($node);
my $block = sql('SELECT block FROM noisy_progress');
sql('SELECT pg_terminate_backend(' . (all_pids($load, 'client'))[0] . ')');
sleep(0.3);
sql(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'pg\_noisyneighbor run=%'});
ok(wait_for_query($node, "SELECT block > $block + 3 FROM noisy_progress"), "$name: the run goes on");
cmp_ok(sql("SELECT sum(connection_errors) FROM noisy_blocks WHERE run_id = $load->{run_id}"), '>=', 2, "$name: is counted");
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
$load = begin_run($node);
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
$load = begin_run($node);
%hanging = map { $_ => 1 } all_pids($load, 'client');
kill 'STOP', keys %hanging;
ok(wait_for_query($node, q{SELECT phase = 'stalled' FROM noisy_progress}), "$name: the run is shown as stalled");
$block = sql('SELECT block FROM noisy_progress');
kill 'CONT', keys %hanging;
ok(wait_for_query($node, "SELECT block > $block + 1 FROM noisy_progress"), "$name: the run goes on");
is(sql("SELECT count(*) = max(block) FROM noisy_blocks WHERE run_id = $load->{run_id}"), 't', "$name: every block is kept");
sql('SELECT noisy_stop()');
finish_sql($load->{session});
like(run_state($load), qr/^stopped\|/, "$name: it can be stopped");

#
# Tables that go
#

$name = 'a table that is dropped';
$load = begin_run($node);
$block = sql('SELECT block FROM noisy_progress');
sql('ALTER TABLE pgbench_accounts RENAME TO elsewhere');
ok(wait_for_query($node, "SELECT block > $block + 2 FROM noisy_progress"), "$name: the run goes on");
is(sql("SELECT errors > 0 AND other_errors = errors AND transactions = 0, last_error FROM noisy_blocks WHERE run_id = $load->{run_id} AND block = $block + 1"),
	't|relation "pgbench_accounts" does not exist (SQLSTATE 42P01)', "$name: errors are counted, with the last message");
sql('ALTER TABLE elsewhere RENAME TO pgbench_accounts');
$block = sql('SELECT block FROM noisy_progress');
ok(wait_for_query($node, "SELECT block > $block + 2 FROM noisy_progress"), "$name: the run goes on when it is back");
is(sql("SELECT errors = 0 AND transactions > 0 FROM noisy_blocks WHERE run_id = $load->{run_id} AND block = $block + 2"), 't', "$name: and there are no more errors");
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
$block = sql('SELECT block FROM noisy_progress');
$other->restart;
ok(wait_for_query($node, "SELECT block > $block + 2 FROM noisy_progress"), "$name: the run goes on");
is(sql("SELECT sum(connection_errors) >= 2 FROM noisy_blocks WHERE run_id = $load->{run_id}"), 't', "$name: lost connections are counted");
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
my ($status, $stdout, $stderr) = $node->psql('postgres',
	"SELECT noisy_run('select-only', '{2}', conninfo => 'host=127.0.0.1 connect_timeout=2 port=" . $silent->sockport . "')");
like($stderr, qr/could not connect 2 of 2 clients.*did not answer in time.*within 2 s/s, "$name: connect_timeout ends the wait");
is(sql(q{SELECT count(*) FROM noisy_runs WHERE state IN ('starting', 'aborted')}), '0', "$name: no run is recorded");
next_run_completes($node, $name);

$other->stop;
$node->stop;
done_testing();
