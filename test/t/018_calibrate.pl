# However a calibration ends, nothing goes on working, no file is left, what was measured is kept, and the next one
# can begin.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use NoisyFault;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs /proc' unless -r '/proc/self/stat';

my $node = new_server('calibrate', 'restart_after_crash = on');
my $call = q{SELECT noisy_calibrate('{disk,cpu,memory}', '2 s', 10,
	options => '{"disk_bytes": "16MB", "memory_bytes": "16MB"}')};
my $name;

# Start one that would last for minutes, and return when a figure is stored and the next is being measured.
sub begin_calibration
{
	my ($database) = @_;
	my $load = { node => $node, database => $database // 'postgres' };

	$load->{session} = background_sql($node, $load->{database}, q{SELECT noisy_calibrate('{cpu,disk}', '100 ms', 1000,
		options => '{"disk_bytes": "16MB", "threads": [1]}')});
	wait_for_query($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pg_noisyneighbor calibrate'
		AND query LIKE 'calibration %: cpu'}) or BAIL_OUT("the calibration does not start: $load->{session}{err}");
	$load->{processes} = { our_processes($node) };
	take_cpu($load);
	return $load;
}

# It has ended: nothing works, nothing is left, its state says how, the next one can begin.
sub check_calibration
{
	my ($load, $state, $error) = @_;

	is_quiet($load, $name);
	my $status = finish_sql($load->{session});
	if ($error)
	{
		ok($status, "$name: the caller gets an error");
		like($load->{session}{err}, $error, "$name: and is told which");
	}
	nobody_left_behind($node, $name);
	like(
		$node->safe_psql('postgres',
			'SELECT state, error FROM noisy_calibrations ORDER BY calibration_id DESC LIMIT 1'),
		$state, "$name: the state says so");
	next_run_completes($node, $name);
	return;
}

sub no_file_left
{
	is(join(' ', glob $node->data_dir . '/base/pgsql_tmp/*'), '', "$name: no file is left");
	return;
}

# The whole of it.
my ($status, $stdout, $stderr) = $node->psql('postgres',
	q{SELECT noisy_calibrate('{cpu,memory,cache,disk}', '20 ms', 3, 'all',
		'{"disk_bytes": "4MB", "memory_bytes": "16MB", "threads": [1, 2], "disk_depths": [1, 2]}')});
is($status, 0, 'a calibration ends well') or diag($stderr);
like($stderr, qr{NOTICE:  cpu, primes 10000, 1 thread: [0-9.e+]+ events/s}, 'with a line per figure');
is($node->safe_psql('postgres', "SELECT state, label, error IS NULL FROM noisy_calibrations WHERE calibration_id = $stdout"),
	'completed|all|t', 'its state says so');
is( $node->safe_psql('postgres', qq{
	SELECT string_agg(DISTINCT probe, ',' ORDER BY probe), bool_and(repeats = 3), bool_and(p10 <= median AND median <= p90)
	  FROM noisy_calibration_results WHERE calibration_id = $stdout}),
	'cache,cpu,disk,memory|t|t', 'every probe has figures, a sample for each repeat');
is( $node->safe_psql('postgres', qq{
	SELECT bool_and(median > 0) FROM noisy_calibration_results WHERE calibration_id = $stdout}),
	't', 'none of which is 0');

# Twice in the same environment: the fingerprint is the same.
$node->safe_psql('postgres', q{SELECT noisy_calibrate('{cpu}', '20 ms', 1)});
is($node->safe_psql('postgres', 'SELECT count(DISTINCT environment_hash) FROM noisy_calibrations'),
	'1', 'the same environment has the same hash');
$node->safe_psql('postgres', q{ALTER SYSTEM SET jit = off; SELECT pg_reload_conf()});
ok(wait_for_query($node, q{SELECT current_setting('jit') = 'off'}), 'a setting is changed');
$node->safe_psql('postgres', q{SELECT noisy_calibrate('{cpu}', '20 ms', 1)});
is($node->safe_psql('postgres', 'SELECT count(DISTINCT environment_hash) FROM noisy_calibrations'),
	'2', 'another environment has another');
is(join(' ', glob $node->data_dir . '/base/pgsql_tmp/*'), '', 'no file is left');

# The server itself. Clients in a closed loop: rate * mean latency = clients, but for the time in which a client itself gets no CPU. The witness of the rate is the server's count of look-ups.
my $looked_up = q{SELECT coalesce(idx_scan, 0) FROM pg_stat_all_tables WHERE relname = 'noisy_calibration_accounts'};
my $before = $node->safe_psql('postgres', $looked_up);
($status, $stdout, $stderr) = $node->psql('postgres', q{SELECT noisy_calibrate('{postgres}', '300 ms', 3, options => '{"threads": [1, 3]}')});
is($status, 0, 'the probe "postgres" ends well') or diag($stderr);
ok(wait_for_query($node, q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pg_noisyneighbor calibration')}),
	'its clients are gone');
is( $node->safe_psql('postgres', qq{SELECT string_agg(concat_ws(' ', threads, variant, unit, repeats, valid), ', ' ORDER BY threads, unit, variant)
	FROM noisy_calibration_results WHERE calibration_id = $stdout AND (threads = 1 OR unit <> 'ms')}),
	'1 small select-only, mean ms 3 t, 1 small select-only, p50 ms 3 t, 1 small select-only, p95 ms 3 t, 1 small select-only, p99 ms 3 t, '
	  . '1 small select-only transactions/s 3 t, 3 small select-only transactions/s 3 t', 'it has its figures');
is( $node->safe_psql('postgres', qq{SELECT bool_and(abs(r.mean * m.mean / 1000 / r.threads - 1) < 0.5)
	FROM noisy_calibration_results r JOIN noisy_calibration_results m USING (calibration_id, threads)
	WHERE calibration_id = $stdout AND r.unit = 'transactions/s' AND m.variant LIKE '%, mean'}), 't', "for which Little's law holds");
my $counted = $node->safe_psql('postgres', qq{SELECT sum(0.3 * x) FROM noisy_calibration_results, unnest(samples) x
	WHERE calibration_id = $stdout AND unit = 'transactions/s'});
ok(wait_for_query($node, "SELECT idx_scan - $before >= $counted FROM pg_stat_all_tables WHERE relname = 'noisy_calibration_accounts'"),
	'the server has looked up at least as many rows');
cmp_ok($node->safe_psql('postgres', $looked_up) - $before, '<', 1.8 * $counted + 100, 'and not many more: the warm-up is two thirds of a repeat');

$name = 'a calibration of a role that may not log in';
$node->safe_psql('postgres', 'CREATE ROLE guest NOLOGIN; GRANT EXECUTE ON FUNCTION noisy_calibrate TO guest');
($status, $stdout, $stderr) = $node->psql('postgres', q{SET ROLE guest; SELECT noisy_calibrate('{postgres}', '20 ms', 1, options => '{"threads": [1]}')});
is($status, 0, "$name: ends well") or diag($stderr);
like($node->safe_psql('postgres', "SELECT DISTINCT concat_ws(' ', valid, repeats, note) FROM noisy_calibration_results WHERE calibration_id = $stdout"),
	qr/\Af 0 could not connect: .*role "guest" is not permitted to log in\z/, "$name: and says why it has no figures");

$name = 'a calibration of a role that may not read the data set';
$node->safe_psql('postgres', 'ALTER ROLE guest LOGIN');
$stdout = $node->safe_psql('postgres', q{SET ROLE guest; SELECT noisy_calibrate('{postgres}', '20 ms', 1, options => '{"threads": [1]}')});
like($node->safe_psql('postgres', "SELECT DISTINCT concat_ws(' ', valid, repeats, note) FROM noisy_calibration_results WHERE calibration_id = $stdout"),
	qr/\Af 0 a client failed: permission denied for table noisy_calibration_accounts/, "$name: says so");

$name = 'termination of a client of a calibration';
my $losing = background_sql($node, 'postgres', q{SELECT noisy_calibrate('{postgres}', '500 ms', 4, options => '{"threads": [2]}')});
ok(wait_for_query($node, q{SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'pg_noisyneighbor calibration' AND query LIKE 'SELECT abalance%'}),
	"$name: works");
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pg_noisyneighbor calibration' LIMIT 1});
is(finish_sql($losing), 0, "$name: ends well") or diag($losing->{err});
like($node->safe_psql('postgres', q{SELECT concat_ws(' ', valid, note) FROM noisy_calibration_results ORDER BY calibration_id DESC, variant LIMIT 1}),
	qr/\Af a client failed: .*(terminating connection|closed the connection)/s, "$name: and says why its figures are not valid");

$name = 'another load during a calibration';
my $load = begin_calibration();
foreach my $other (q{noisy_load('{cpu}', 10, '100 ms')}, q{noisy_calibrate('{cpu}', '50 ms', 1)})
{
	($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT $other");
	like($stderr, qr/55006: a calibration is on in this cluster.*It is calibration \d+ in database "postgres"/s,
		"$name: it is refused, and told what is on");
}
is($node->safe_psql('postgres', q{SELECT state FROM noisy_calibrations ORDER BY calibration_id DESC LIMIT 1}),
	'running', "$name: the calibration goes on");
take_cpu($load);

$name = 'cancel of a calibration';
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
	WHERE query LIKE 'SELECT noisy_calibrate%' AND state = 'active' AND pid <> pg_backend_pid()});
check_calibration($load, qr/^cancelled\|$/, qr/57014: canceling statement due to user request/);

$name = 'termination of a calibration';
$load = begin_calibration();
$node->safe_psql('postgres', "SELECT pg_terminate_backend($_)") foreach all_pids($load, 'calibrate');
check_calibration($load, qr/^aborted\|/, qr/57P01: the worker of the calibration was terminated/);

$name = 'death of the client program of a calibration';
$load = begin_calibration();
kill 'KILL', psql_pid($load->{session});
check_calibration($load, qr/^cancelled\|$/);

$name = 'DROP EXTENSION during a calibration';
$node->safe_psql('postgres', 'CREATE DATABASE dropped');
$node->safe_psql('dropped', 'CREATE EXTENSION pg_noisyneighbor');
$load = begin_calibration('dropped');
$node->safe_psql('dropped', 'DROP EXTENSION pg_noisyneighbor');
is_quiet($load, $name);
ok(finish_sql($load->{session}), "$name: the caller gets an error");
like($load->{session}{err}, qr/42P01: extension "pg_noisyneighbor" was dropped while the calibration was on/,
	"$name: and is told which");
nobody_left_behind($node, $name);

$name = 'DROP DATABASE ... (FORCE) during a calibration';
$node->safe_psql('dropped', 'CREATE EXTENSION pg_noisyneighbor');
$load = begin_calibration('dropped');
$node->safe_psql('postgres', 'DROP DATABASE dropped WITH (FORCE)');
is_quiet($load, $name);
nobody_left_behind($node, $name);
next_run_completes($node, $name);

$name = 'kill -9 of a calibration';
$load = begin_calibration();
take_cpu($load);
kill 'KILL', all_pids($load, 'calibrate');
is_quiet($load, $name);
finish_sql($load->{session});
ok(wait_for_query($node, q{SELECT state = 'aborted' FROM noisy_calibrations ORDER BY calibration_id DESC LIMIT 1}),
	"$name: the server restarts itself, and the state is aborted");
no_file_left();
next_run_completes($node, $name);

$name = 'too few worker slots for a calibration';
$node->append_conf('postgresql.conf',
	"max_worker_processes = 0\nmax_logical_replication_workers = 0\nmax_parallel_workers = 0");
$node->restart;
($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$call");
like($stderr, qr/53400: not enough background worker slots.*Needed 1, free 0; max_worker_processes is 0/s,
	"$name: the caller is told");
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->restart;

# A run becomes a part of a calibration.
make_tables($node);
my $part = $node->safe_psql('postgres', q{SELECT noisy_calibrate('{cpu}', '20 ms', 1)});
my $run = $node->safe_psql('postgres',
	q{SELECT noisy_run('select-only', '{1,2}', '{0}', noise => '{}', duration => '200 ms', warmup => '0 s', repeats => 2)});
is($node->safe_psql('postgres', "SELECT noisy_calibration_add_run($part, $run)"), '10', 'a run adds its figures');
is( $node->safe_psql('postgres', qq{
	SELECT string_agg(DISTINCT threads::text, ','), bool_and(valid AND repeats = (SELECT count(*) FROM noisy_blocks b
			WHERE b.run_id = $run AND b.clients = threads AND b.accepted))
	  FROM noisy_calibration_results WHERE calibration_id = $part AND probe = 'postgres'}),
	'1,2|t', 'of each number of clients, a sample per block');
($status, $stdout, $stderr) = $node->psql('postgres', "SELECT noisy_calibration_add_run($part, 0)");
like($stderr, qr/run 0 does not exist/, 'one that does not exist adds none');

# Whoever may call it needs no right to the tables.
$node->safe_psql('postgres', q{CREATE ROLE calibrator LOGIN; GRANT EXECUTE ON FUNCTION noisy_calibrate TO calibrator;
	GRANT pg_monitor TO calibrator});
my $id = $node->safe_psql('postgres', q{SET ROLE calibrator; SELECT noisy_calibrate('{cpu}', '20 ms', 2)});
is( $node->safe_psql('postgres', qq{SET ROLE calibrator;
	SELECT bool_and(repeats = 2 AND median > 0) FROM noisy_calibration_results WHERE calibration_id = $id}),
	't', 'a role that was granted it calibrates, and reads the result');
is($node->safe_psql('postgres', "SELECT role_name FROM noisy_calibrations WHERE calibration_id = $id"),
	'calibrator', 'its name is kept');
($status, $stdout, $stderr) = $node->psql('postgres', 'SET ROLE calibrator; DELETE FROM noisy_calibrations');
like($stderr, qr/permission denied/, 'but it cannot touch the tables');
$node->safe_psql('postgres', "DELETE FROM noisy_calibrations WHERE calibration_id = $id");
is($node->safe_psql('postgres', "SELECT count(*) FROM noisy_calibration_samples WHERE calibration_id = $id"),
	'0', 'the owner removes a calibration with all that belongs to it');

$node->stop;
done_testing();
