# What is done to databases, during a run and right after it; and timeouts that a database or a role has: nothing
# of a run is in the way of the next statement, and none of these settings reaches a run.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyFault;
use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'needs /proc' unless -r '/proc/self/stat';

# Not more than the server's own check for other sessions takes before it gives up.
my $at_once_s = 5;

my $node = new_server('databases');
$node->safe_psql('postgres', 'CREATE DATABASE first');
$node->safe_psql('first', 'CREATE EXTENSION pg_noisyneighbor');
make_tables($node, 'first');
my $run = q{SELECT noisy_run('select-only', '{4}', '{0,20}', '{cpu}', '{"cpu": {"workers": 1}}', '200 ms', '0 s', 1)};
my ($load, $name, $id, $status, $stdout, $stderr);

sub sql
{
	return $node->safe_psql($_[1] // 'postgres', $_[0]);
}

# A statement that is refused while a run is on, after the 5 s that the server gives others to go.
sub check_refused
{
	my ($session) = @_;

	is(finish_sql($session), 1, "$name: ends");
	like($session->{err}, qr/55006: (source )?database "first" is being accessed by other users/, "$name: is refused");
	return;
}

# A statement that has to succeed at once.
sub check_at_once
{
	my ($statement) = @_;
	my $begin = time;

	($status, $stdout, $stderr) = $node->psql('postgres', $statement);
	is($stderr, '', "$name: succeeds");
	cmp_ok(time - $begin, '<', $at_once_s, "$name: waits for nothing");
	return;
}

# The end of every fault here.
sub check_next
{
	my ($database) = @_;

	nobody_left_behind($node, $name);
	next_run_completes($node, $name, $database);
	return;
}

#
# During a run
#

$load = begin_run($node, '', 'first');
my $rename = background_sql($node, 'postgres', 'ALTER DATABASE first RENAME TO second');
my $copy = background_sql($node, 'postgres', 'CREATE DATABASE copy TEMPLATE first');
$name = 'ALTER DATABASE RENAME during a run';
check_refused($rename);
$name = 'CREATE DATABASE TEMPLATE during a run';
check_refused($copy);
my $block = sql('SELECT block FROM noisy_progress', 'first');
ok(wait_for_query($node, "SELECT block > $block + 1 FROM noisy_progress", 't', 'first'), 'the run goes on');

# No new session may come in: the clients that are there go on, those that are lost cannot return.
$name = 'ALTER DATABASE ALLOW_CONNECTIONS during a run';
sql('ALTER DATABASE first ALLOW_CONNECTIONS false');
sql(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'pg\_noisyneighbor run=%'});
is(finish_sql($load->{session}), 1, "$name: the run fails when it has lost its clients");
like($load->{session}{err}, qr/2 of 2 clients lost their connections.*not currently accepting connections/s, "$name: the caller is told");
take_cpu($load);
sql('ALTER DATABASE first ALLOW_CONNECTIONS true');
check_end($load, $name, qr/^failed\|2 of 2 clients lost their connections/);

#
# Right after a run, by another session
#

$name = 'ALTER DATABASE RENAME after a run';
$id = sql($run, 'first');
check_at_once('ALTER DATABASE first RENAME TO second');
is(sql("SELECT state FROM noisy_runs WHERE run_id = $id", 'second'), 'completed', "$name: the run is kept");
check_next('second');

$name = 'CREATE DATABASE TEMPLATE after a run';
$id = sql($run, 'second');
check_at_once('CREATE DATABASE copy TEMPLATE second');
is(sql("SELECT state, count(*) FROM noisy_runs JOIN noisy_blocks USING (run_id) WHERE run_id = $id GROUP BY 1", 'copy'), 'completed|3',
	"$name: the copy has the run");
is(sql($run, 'copy'), $id + 1, "$name: the next run in the copy gets the next id");
check_next('copy');

$name = 'DROP DATABASE after a run';
sql($run, 'copy');
check_at_once('DROP DATABASE copy');
check_next('second');

# A run that was stopped may be about to end still when noisy_stop() returns.
$name = 'DROP DATABASE after noisy_stop';
sql('CREATE DATABASE copy TEMPLATE second');
$load = begin_run($node, '', 'copy');
sql('SELECT noisy_stop()', 'copy');
finish_sql($load->{session});
check_at_once('DROP DATABASE copy');
is_quiet($load, $name);
check_next('second');

# By the session that has called
$name = 'CREATE DATABASE TEMPLATE by the caller';
($status, $stdout, $stderr) = $node->psql('second', "$run;\nCREATE DATABASE copy TEMPLATE second;\n$run");
is($status, 0, "$name: succeeds") or diag($stderr);
check_next('copy');

#
# Timeouts
#

# Those that this version has, as short as a session survives them. The calls take back what would hit themselves.
my @timeouts = split /\n/, sql(q{
	SELECT name FROM pg_settings WHERE name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout',
		'idle_session_timeout', 'transaction_timeout') ORDER BY 1});
my $long = q{SELECT noisy_run('tpcb-like', '{2}', '{0,20}', '{cpu}', '{"cpu": {"workers": 1}}', '200 ms', '0 s', 1,
	options => '{"settle": %s}')};
my $own = join('', map { "SET $_ = 0;\n" } @timeouts);
my %settings_of = (database => 'ALTER DATABASE second', role => 'ALTER ROLE CURRENT_USER IN DATABASE second');

foreach my $who (sort keys %settings_of)
{
	foreach my $timeout (@timeouts)
	{
		$name = "$timeout of the $who";
		# psql must live; clients are idle between the blocks.
		my ($value, $settle) = $timeout eq 'idle_session_timeout' ? ("'1 s'", 1.5) : ("'20 ms'", 0);

		sql("$settings_of{$who} SET $timeout = $value");
		($status, $stdout, $stderr) = $node->psql('second', $own . sprintf($long, $settle));
		is( $status == 0
			? $node->safe_psql('second', "${own}SELECT state, count(*), sum(transactions) > 0, sum(errors)
				FROM noisy_runs JOIN noisy_blocks USING (run_id) WHERE run_id = $stdout GROUP BY 1")
			: $stderr,
			'completed|3|t|0',
			"$name: does not reach a run");
		sql("$settings_of{$who} RESET $timeout");
	}
}
$name = 'timeouts of databases and roles';
check_next('second');

# A caller whose own timeout ends its session takes the run along; one that does not wait leaves it alone.
foreach my $timeout (grep { /^(idle_session_timeout|transaction_timeout)$/ } @timeouts)
{
	$name = "$timeout of the session";
	my $session = background_sql($node, 'second', "SET $timeout = '1 s'", $timeout eq 'transaction_timeout'
		? q{SELECT noisy_load('{cpu}', 50, '60 s', '{"cpu": {"workers": 1}}')}
		: (q{SELECT noisy_load('{cpu}', 50, '60 s', '{"cpu": {"workers": 1}}', wait => false)}, '\! sleep 3', 'SELECT 1'));
	$load = wait_until_on({ node => $node, database => 'second', session => $session }, q{phase = 'measuring'});
	isnt(finish_sql($session), 0, "$name: ends the session");
	take_cpu($load);
	is(sql('SELECT noisy_stop()', 'second'), 't', "$name: the run went on without it") if $timeout eq 'idle_session_timeout';
	check_end($load, $name, $timeout eq 'transaction_timeout' ? qr/^cancelled\|$/ : qr/^stopped\|$/);
}

$node->stop;
done_testing();
