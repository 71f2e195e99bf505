# What a run leaves when the server goes, or crashes: nothing that loads the host, finished blocks,
# and a state that says what happened.

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

my $node = new_server('crash', 'restart_after_crash = on');
make_tables($node);

# The load is gone, and after the restart everything is as it should be.
sub check_end
{
	my ($load, $name, $restart) = @_;

	is_quiet($load, $name);
	ok(defined finish_sql($load->{session}), "$name: the caller's session ends");
	isnt($load->{session}{err}, '', "$name: the caller is told");
	$restart->() if $restart;
	ok(wait_for_query($node, 'SELECT 1', '1'), "$name: the server is there again");
	nobody_left_behind($node, $name);
	is( run_state($load),
		'aborted|the server or the conductor of the run died',
		"$name: the run is marked as aborted");
	is( $node->safe_psql('postgres', 'SELECT count(*) FROM noisy_progress'), '0',
		"$name: no run is on");
	is( $node->safe_psql('postgres',
			"SELECT count(*) > 0 AND count(*) = max(block) FROM noisy_blocks WHERE run_id = $load->{run_id}"),
		't',
		"$name: blocks that had ended are kept");
	next_run_completes($node, $name);
	is( $node->safe_psql('postgres',
			"SELECT state, finished_at IS NULL FROM noisy_run_records WHERE run_id = $load->{run_id}"),
		'aborted|t',
		"$name: the next run records that this one was aborted");
	return;
}

my $load;

# The server restarts itself when one of its processes dies.
foreach my $role (qw(conductor noise workload sample client))
{
	my $name = "kill -9 of the $role";
	$load = begin_run($node);
	kill 'KILL', (all_pids($load, $role))[0];
	check_end($load, $name);
}

foreach my $mode (qw(fast immediate))
{
	my $name = "$mode shutdown";
	$load = begin_run($node);
	$node->stop($mode);
	check_end($load, $name, sub { $node->start });
}

my $name = 'kill -9 of the postmaster';
$load = begin_run($node);
my @server = split /\n/, $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
push @server, (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
$node->kill9;
check_end(
	$load, $name,
	sub {
		# A process of the old server would be in the way of the new one.
		foreach (1 .. 600)
		{
			last unless grep { kill 0, $_ } @server;
			sleep(0.1);
		}
		$node->start;
	});

# Smart shutdown waits for clients, and ours are clients: for the end of the run, not for ever.
$name = 'smart shutdown';
my $session = background_sql($node, 'postgres',
	q{SELECT noisy_run('select-only', '{1}', '{0}', duration => '1 s', warmup => '0 s', repeats => 1)});
ok(wait_for_query($node, q{SELECT phase = 'measuring' FROM noisy_progress}), "$name: a run is on");
$node->stop('smart');
is(finish_sql($session), 0, "$name: waits for the run, which completes");
$node->start;
is($node->safe_psql('postgres', 'SELECT state FROM noisy_runs ORDER BY run_id DESC LIMIT 1'), 'completed', "$name: and is kept");

$node->stop;
done_testing();
