# Memory that runs out: the host's, where noise is prepared and in each process of a run, and the lock table of the
# server. An error says so, or what still can go on does; the server itself is never hit.
#
# A limit of the address space stands for a host without memory: malloc() and mmap() fail in the same way.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyFault;
use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'needs /proc' unless -r '/proc/self/stat';
plan skip_all => 'needs prlimit' unless can_limit();

my $node = new_server('memory', 'max_connections = 20', 'max_locks_per_transaction = 24', 'autovacuum = off');
make_tables($node);
my $started = start_time($node);
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my $call = q{SELECT noisy_load('{cpu}', 10, '100 ms', '{"cpu": {"workers": 1}}')};
my ($load, $name, $status, $stdout, $stderr);

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# Address space of a process, bytes.
sub address_space
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/status") =~ /^VmSize:\s+(\d+) kB/m ? $1 * 1024 : die;
}

# Nothing is left of a run that did not begin.
sub check_refused
{
	nobody_left_behind($node, $name);
	is(sql(q{SELECT count(*) FROM noisy_runs WHERE state NOT IN ('completed', 'stopped', 'failed')}), '0', "$name: no run is recorded");
	next_run_completes($node, $name);
	return;
}

#
# Noise that cannot be prepared
#

foreach my $stressor (qw(memory cache))
{
	$name = "out of memory for $stressor noise";
	limit('as', address_space($postmaster) + 100_000_000, $postmaster);
	($status, $stdout, $stderr) = $node->psql('postgres', qq{
		SET pg_noisyneighbor.max_memory_percent = 90;
		SELECT noisy_load('{$stressor}', 50, '1 s', '{"$stressor": {"workers": 1, "bytes": "256MB"}}')});
	like($stderr, qr/could not prepare noise "$stressor".*DETAIL: .*Cannot allocate memory.*HINT:  Ask for fewer "bytes" or "workers"/s,
		"$name: the caller is told");
	unlimit('as', $postmaster);
	check_refused();
}

#
# Processes that get no more memory
#

# Nothing new can be started, in a session that exists.
$name = 'out of memory for the conductor';
my $session = qq{
	SELECT pg_backend_pid() AS pid
	\\gset
	\\setenv SERVER_PID :pid
	LOAD 'pg_noisyneighbor';
	\\! prlimit --pid=%s --as=%d:
	\\echo limited
	$call;
	\\! prlimit --pid=%s --as=unlimited:};
($status, $stdout, $stderr) = $node->psql('postgres', sprintf($session, $postmaster, address_space($postmaster), $postmaster), on_error_stop => 0);
like($stderr, qr/ERROR:  (out of memory|the run ended unexpectedly\nHINT:  The server's log says why|.*could not load library)/, "$name: the caller is told");
check_refused();

$name = 'out of memory for the caller';
($status, $stdout, $stderr) = $node->psql('postgres', sprintf("$session\n$call", '$SERVER_PID', 1, '$SERVER_PID'), on_error_stop => 0);
like($stderr, qr/ERROR:  (out of memory|could not map shared memory segment .*Cannot allocate memory)/, "$name: is told");
like($stdout, qr/^limited\n\d+\z/, "$name: the next run of the same session completes");
check_refused();

# In the middle of a run it may do without, or end with an error.
foreach my $role (qw(conductor noise workload sample client))
{
	$name = "out of memory in the $role";
	$load = begin_run($node);
	limit('as', 1, all_pids($load, $role));
	sleep(1.5);
	my $was_on = sql('SELECT count(*) FROM noisy_progress');
	take_cpu($load);
	sql('SELECT noisy_stop()');
	check_end($load, $name, $was_on ? qr/^stopped\|$/ : qr/^failed\|.*out of memory/);
	note("$name: the run " . ($was_on ? 'went on' : 'ended: ' . run_state($load)));
}
is(start_time($node), $started, 'the server has not crashed in all this');

#
# The lock table
#

# Take every lock that there is, for the session.
my $take_all = q{
	BEGIN
		FOR i IN 1 .. 1000000 LOOP
			PERFORM pg_advisory_lock(n, i);
		END LOOP;
	EXCEPTION WHEN out_of_memory THEN
		NULL;
	END;};

# Nobody can connect then, so the session that calls is the one that has the locks.
$name = 'lock table full';
($status, $stdout, $stderr) = $node->psql('postgres', qq{
	DO \$\$ DECLARE n integer := 1; BEGIN $take_all END \$\$;
	\\set VERBOSITY verbose
	$call;
	SELECT pg_advisory_unlock_all();
	$call;}, on_error_stop => 0);
like($stderr, qr/ERROR:  53200: out of shared memory.*max_locks_per_transaction/s, "$name: the caller is told");
like($stdout, qr/^\n\d+\z/, "$name: the next run of the same session completes");
check_refused();

# A session that takes what becomes free as well, until the load has gone, and a moment longer.
$name = 'lock table full during a run';
$load = begin_run($node);
my $locker = background_sql($node, 'postgres', qq{
	DO \$\$
	BEGIN
		FOR n IN 1 .. 600 LOOP
			EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_get_activity(NULL) WHERE backend_type = 'pg_noisyneighbor noise');
			$take_all
			PERFORM pg_sleep(0.1);
		END LOOP;
		PERFORM pg_sleep(0.3);
	END \$\$});
is(finish_sql($load->{session}), 1, "$name: the run fails");
is(finish_sql($locker), 0, "$name: which ends its load");
take_cpu($load);
check_end($load, $name, qr/^failed\|out of shared memory$/, qr/53200: out of shared memory.*max_locks_per_transaction/s);
is(sql("SELECT count(*) > 0 AND count(*) = max(block) FROM noisy_blocks WHERE run_id = $load->{run_id}"),
	't', "$name: blocks that had ended are kept");

$node->stop;
done_testing();
