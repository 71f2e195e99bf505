# Signals to the processes of a run that do not ask it to end: it goes on. (Those that do are in 002_stop and 004_crash.)

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

my $node = new_server('signals', 'restart_after_crash = on');
make_tables($node);
my ($load, $name);
my @roles = qw(conductor noise workload sample);

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# The run ends some more blocks, with the processes that it had.
sub check_goes_on
{
	my $block = sql('SELECT block FROM noisy_progress');
	my %before = %{ $load->{processes} };

	ok(wait_for_query($node, "SELECT block > $block + 1 FROM noisy_progress"), "$name: the run goes on");

	my %now = our_processes($node);
	is(scalar(grep { !$now{$_} } keys %before), 0, "$name: with all its processes");
	return;
}

# Those that the server uses, and those that would end a process that does not know them
$load = begin_run($node);
$name = 'stray signals';
foreach my $signal (qw(HUP USR1 USR2 ALRM PIPE CHLD WINCH URG HUP))
{
	kill $signal, map { all_pids($load, $_) } @roles;
	sleep(0.01);
}
check_goes_on();

# As a debugger or a frozen container does it. What was not measured in time is late or missing, and the next block is complete again.
foreach my $role (@roles)
{
	$name = "SIGSTOP and SIGCONT of the $role";
	kill 'STOP', all_pids($load, $role);
	sleep(1);
	kill 'CONT', all_pids($load, $role);
	check_goes_on();
	is( sql(qq{SELECT transactions > 0, errors, samples_taken > 0, (SELECT count(*) FROM noisy_dose d WHERE d.run_id = b.run_id AND d.block = b.block)
			FROM noisy_blocks b WHERE run_id = $load->{run_id} ORDER BY block DESC LIMIT 1}),
		't|0|t|3',
		"$name: later blocks are complete");
}

# All at once
$name = 'SIGSTOP and SIGCONT of all';
my @all = map { all_pids($load, $_) } @roles;
kill 'STOP', @all;
sleep(1);
kill 'CONT', @all;
check_goes_on();
is(sql("SELECT count(*) = max(block) FROM noisy_blocks WHERE run_id = $load->{run_id}"), 't', 'every block of this run is kept');

$name = 'cancel of clients';
sql(q{SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'pg\_noisyneighbor run=%'});
check_goes_on();
take_cpu($load);
sql('SELECT noisy_stop()');
check_end($load, $name, qr/^stopped\|$/);

# What the server sends when one of its processes has crashed; it restarts itself.
$name = 'SIGQUIT of the sample';
$load = begin_run($node);
take_cpu($load);
kill 'QUIT', all_pids($load, 'sample');
is_quiet($load, $name);
isnt(finish_sql($load->{session}) // 0, 0, "$name: the caller's session ends");
ok(wait_for_query($node, 'SELECT 1', '1'), "$name: the server is there again");
nobody_left_behind($node, $name);
is(run_state($load), 'aborted|the server or the conductor of the run died', "$name: the state says so");
next_run_completes($node, $name);

$node->stop;
done_testing();
