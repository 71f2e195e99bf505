# What the tests of the life cycle share: a server with the extension, sessions in the
# background, and the processes of a run watched from outside.
#
# Sessions in the background are psql programs of our own, because PostgreSQL's test modules
# changed theirs between versions.

package NoisyTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(new_server make_tables background_sql psql_pid finish_sql wait_for_query
  begin_load begin_run our_processes cpu_seconds is_quiet nobody_left_behind next_run_completes
  run_state wait_until_on take_cpu all_pids);

# Longest wait for something that happens within a second on an idle machine.
our $patience_s = 60;

# CPU time that a run may use after it was told to stop; 3 threads at 50 % that go on use it in 0.7 s.
our $cpu_allowed_s = 1.0;

my $clock_ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK());

# A server with the extension in database "postgres".
sub new_server
{
	my ($name, @conf) = @_;

	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	# The test modules have every statement logged, which is too much for a load driver.
	$node->append_conf('postgresql.conf', "$_\n") foreach 'log_statement = none', @conf;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_noisyneighbor');
	return $node;
}

sub make_tables
{
	my ($node, $database) = @_;

	$node->safe_psql($database // 'postgres', 'SELECT noisy_workload_init(1)');
	return;
}

# Start one or several statements, each a transaction of its own, in a background session.
# Errors come with their SQLSTATE.
sub background_sql
{
	my ($node, $database, @statements) = @_;
	my %session = (out => '', err => '');

	$session{run} = IPC::Run::start(
		[
			$node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose',
			'-d', $node->connstr($database), map { ('-c', $_) } @statements
		],
		'<', \'', '>', \$session{out}, '2>', \$session{err});
	return \%session;
}

sub psql_pid
{
	return $_[0]->{run}{KIDS}[0]{PID};
}

# Wait for the end of a session.  Returns its exit status, or nothing when it does not end in time.
sub finish_sql
{
	my ($session) = @_;
	my $until = time + $patience_s;

	while ($session->{run}->pumpable && time < $until)
	{
		$session->{run}->pump_nb;
		sleep(0.02);
	}
	if ($session->{run}->pumpable)
	{
		kill 'KILL', psql_pid($session);
		$session->{run}->finish;
		return;
	}
	$session->{run}->finish;
	chomp $session->{out};
	return $session->{run}->full_result(0) >> 8;
}

# Poll until a query's result is as expected ("t" by default).  Errors count as "not yet".
sub wait_for_query
{
	my ($node, $query, $expected, $database) = @_;
	my $until = time + $patience_s;
	my ($stdout, $stderr);

	do
	{
		(my $status, $stdout, $stderr) = $node->psql($database // 'postgres', $query);
		return 1 if $status == 0 && $stdout eq ($expected // 't');
		sleep(0.05);
	} while (time < $until);
	diag("waited in vain for: $query\nlast result: $stdout\n$stderr");
	return 0;
}

# pid => role of our workers, and of the run's client connections.
sub our_processes
{
	my ($node) = @_;

	return map { split /\|/ } split /\n/, $node->safe_psql('postgres',
		q{SELECT pid, CASE WHEN backend_type LIKE 'pg\_noisyneighbor%' THEN substr(backend_type, 18)
			ELSE 'client' END FROM pg_stat_activity
		   WHERE backend_type LIKE 'pg\_noisyneighbor%' OR application_name LIKE 'pg\_noisyneighbor run=%'});
}

# CPU time of a process with all its threads.  Nothing when it is gone.
sub cpu_seconds
{
	my ($pid) = @_;

	open(my $file, '<', "/proc/$pid/stat") or return;
	my $stat = <$file>;
	close($file);
	return unless defined $stat && $stat =~ s/^.*\) //s;
	my @fields = split ' ', $stat;
	return if $fields[0] eq 'Z' || $fields[0] eq 'X';
	return ($fields[11] + $fields[12]) / $clock_ticks;
}

# Start noise that would last for a minute, with a caller that waits, and return when it is on:
# {session, run_id, processes, cpu}.
sub begin_load
{
	my ($node, $database) = @_;
	my $load = { node => $node, database => $database // 'postgres' };

	$load->{session} = background_sql($node, $load->{database},
		q{SELECT noisy_load('{cpu,cache,memory}', 50, '60 s', '{"cpu": {"workers": 1},
			"cache": {"workers": 1, "bytes": "4MB"}, "memory": {"workers": 1, "bytes": "8MB"}}');});
	return wait_until_on($load, q{phase = 'measuring'});
}

# Start a run with workload and noise that would last for minutes, and return when it is in a block
# with noise and has ended at least one.
sub begin_run
{
	my ($node, $arguments, $database, $duration) = @_;
	my $load = { node => $node, database => $database // 'postgres' };

	$duration //= '500 ms';
	$load->{session} = background_sql($node, $load->{database},
		"SELECT noisy_run('select-only', '{2}', '{0,50}', '{cpu,memory}',
			'{\"cpu\": {\"workers\": 2}, \"memory\": {\"workers\": 1, \"bytes\": \"8MB\"}}',
			'$duration', '0 s', 200, options => '{\"settle\": 0, \"seed\": 1}'" . ($arguments // '') . ');');
	return wait_until_on($load, q{phase = 'measuring' AND block > 1 AND level > 0});
}

sub wait_until_on
{
	my ($load, $condition) = @_;

	if (!wait_for_query($load->{node}, "SELECT $condition FROM noisy_progress", 't', $load->{database}))
	{
		$load->{session}{run}->pump_nb;
		BAIL_OUT("the run does not start: $load->{session}{err}");
	}
	$load->{run_id} = $load->{node}->safe_psql($load->{database}, 'SELECT run_id FROM noisy_progress');
	$load->{processes} = { our_processes($load->{node}) };
	take_cpu($load);
	return $load;
}

# Note how much CPU time everybody has used: just before the run is made to end.
sub take_cpu
{
	my ($load) = @_;

	$load->{cpu} = { map { $_ => cpu_seconds($_) // 0 } keys %{ $load->{processes} } };
	$load->{since} = time;
	return;
}

# Pids of a run's processes in a role.
sub all_pids
{
	my ($load, $role) = @_;

	my @pids = grep { $load->{processes}{$_} eq $role } sort keys %{ $load->{processes} };
	return @pids;
}

# The processes of the run are gone, or (those in %still) sleep; and they have used next to no
# CPU time since take_cpu(), which was called just before the end was brought about.
sub is_quiet
{
	my ($load, $name, %still) = @_;
	my $until = time + $patience_s;
	my (@alive, @last);
	my %used;

	do
	{
		@alive = ();
		foreach my $pid (keys %{ $load->{processes} })
		{
			my $cpu = cpu_seconds($pid);

			next if !defined $cpu;
			$used{$pid} = $cpu - $load->{cpu}{$pid};
			push @alive, $pid unless $still{$pid};
		}
		@last = @alive if @alive;
		sleep(0.01) if @alive;
	} while (@alive && time < $until);

	my $sum = 0;
	$sum += $used{$_} foreach keys %used;
	note(sprintf("%s: gone after %.2f s, %.2f s of CPU time, at last: %s",
			$name, time - $load->{since}, $sum, join(', ', map { $load->{processes}{$_} } @last)));
	ok(!@alive, "$name: every process of the run is gone")
	  or diag(map { "$_ $load->{processes}{$_}\n" } @alive);
	cmp_ok($sum, '<', $cpu_allowed_s, "$name: no more CPU time is used");
	return;
}

sub nobody_left_behind
{
	my ($node, $name) = @_;

	ok( wait_for_query($node,
			q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type LIKE 'pg\_noisyneighbor%'
				OR application_name LIKE 'pg\_noisyneighbor%'}),
		"$name: no worker and no client is left behind");
	return;
}

# State and error of a run.
sub run_state
{
	my ($load) = @_;

	return $load->{node}->safe_psql($load->{database},
		"SELECT state, error FROM noisy_runs WHERE run_id = $load->{run_id}");
}

sub next_run_completes
{
	my ($node, $name, $database) = @_;
	my ($status, $stdout, $stderr) =
	  $node->psql($database // 'postgres', q{SELECT noisy_load('{cpu}', 10, '100 ms', '{"cpu": {"workers": 1}}')});

	is( $status == 0
		? $node->safe_psql($database // 'postgres', "SELECT state FROM noisy_runs WHERE run_id = $stdout")
		: $stderr,
		'completed',
		"$name: the next run completes");
	return;
}

1;
