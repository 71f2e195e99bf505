# A run from start to end: what it reports while it is on, what it leaves in the tables, and that it
# does not hold back the removal of dead rows.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('run');
make_tables($node);

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# Passes when the query returns "t".
sub holds
{
	my ($query, $name) = @_;

	is(sql($query), 't', $name);
	return;
}

my $small = q{duration => '1.2 s', warmup => '200 ms', noise_options =>
	'{"cpu": {"workers": 1}, "cache": {"workers": 1, "bytes": "2MB"}, "memory": {"workers": 1, "bytes": "16MB"}}'};
my $tiny = q{duration => '300 ms', warmup => '0 s', noise_options => '{"cpu": {"workers": 1}}'};

#
# A run with everything
#

my ($status, $id, $notices) = $node->psql('postgres', qq{SELECT noisy_run('tpcb-like', '{2,3}', '{20,40}', '{cpu,cache,memory}',
	repeats => 1, label => 'small', options => '{"seed": 7, "settle": 50, "sample_interval": "5 ms", "guard": false}', $small)});
is($status, 0, 'a run completes') or BAIL_OUT($notices);
like($id, qr/^\d+$/, 'noisy_run returns the id of the run');

holds("SELECT environment->'settings'->>'synchronous_commit' = current_setting('synchronous_commit') FROM noisy_runs WHERE run_id = $id",
	'the environment is that of the server, not of the conductor');

my @lines = $notices =~ /^.*NOTICE:  (block .*)$/mg;
is(scalar(@lines), 8, 'there is a progress line for each block');
is( scalar(grep {
		/^block \d of 8: [23] clients, level \d+ % \(achieved -?[\d.]+ %\), [\d.]+ tps, p50 [\d.]+ ms, p99 [\d.]+ ms, \d+ s left$/ }
		  @lines),
	8,
	'it says what was measured') or diag(@lines);
like($lines[-1], qr/^block 8 of 8: .* 0 s left$/, 'nothing is left after the last block');

is(sql("SELECT state, error, label, workload, seed, role_name = current_user, finished_at > started_at FROM noisy_runs WHERE run_id = $id"),
	'completed||small|tpcb-like|7|t|t', 'the run is recorded');
is(sql("SELECT string_agg(clients || ':' || level, ' ' ORDER BY block) FROM noisy_blocks WHERE run_id = $id") =~ s/[24]0 /N /gr,
	'2:0 2:N 2:N 2:0 3:0 3:N 3:N 3:0', 'the levels of each number of clients stand between baselines');
is(sql("SELECT string_agg(DISTINCT level::text, ' ') FROM noisy_blocks WHERE run_id = $id"), '0 20 40', 'every level is measured');

holds("SELECT bool_and(transactions > 0 AND errors = 0 AND accepted AND tps > 0) FROM noisy_blocks WHERE run_id = $id",
	'every block has transactions and no errors');
holds("SELECT bool_and(noisy_count(latency) = transactions) FROM noisy_blocks WHERE run_id = $id",
	'every transaction is in the histogram');
holds("SELECT bool_and(duration_s BETWEEN 1.19 AND 1.3 AND abs(tps - transactions / duration_s) < 1e-6) FROM noisy_blocks WHERE run_id = $id",
	'tps is transactions by the time that was measured');
holds("SELECT bool_and(samples_taken BETWEEN 1 AND samples_expected) AND min(samples_expected) = 240 FROM noisy_blocks WHERE run_id = $id",
	'samples that were expected and taken are counted');
holds("SELECT bool_and(driver_cpu_s BETWEEN 0 AND 1.3) FROM noisy_blocks WHERE run_id = $id",
	'the driver knows its own CPU time');

# Per second
holds(qq{SELECT count(*) = 8 AND bool_and(t.transactions = b.transactions AND t.errors = b.errors) FROM noisy_blocks b JOIN
	(SELECT block, sum(transactions) AS transactions, sum(errors) AS errors FROM noisy_timeline WHERE run_id = $id GROUP BY block) t
	USING (block) WHERE b.run_id = $id}, 'transactions of the seconds sum to those of their block');
holds("SELECT count(*) = 16 AND min(second) = 1 AND max(second) = 2 FROM noisy_timeline WHERE run_id = $id", 'every second has its row, the last part of one too');
holds(qq{SELECT bool_and(abs(t.sum_ms / (b.transactions * noisy_mean(b.latency)) - 1) < 0.01) FROM noisy_blocks b JOIN
	(SELECT block, sum(transactions * avg_ms) AS sum_ms FROM noisy_timeline WHERE run_id = $id GROUP BY block) t USING (block) WHERE b.run_id = $id},
	'the mean latencies of the seconds are those of their block');
holds("SELECT bool_and(p50_ms <= p95_ms AND p95_ms <= p99_ms AND p99_ms <= max_ms) FROM noisy_timeline WHERE run_id = $id AND transactions > 0",
	'percentiles of a second are in order');
holds(qq{SELECT bool_and(t.at >= b.started_at AND t.at < b.started_at + b.duration_s * interval '1 s' AND t.clients = b.clients AND t.level = b.level)
	FROM noisy_timeline t JOIN noisy_blocks b USING (run_id, block) WHERE run_id = $id}, 'a second lies in its block');
holds(qq{SELECT bool_and(b.started_at >= a.started_at + a.duration_s * interval '1 s') FROM noisy_blocks a JOIN noisy_blocks b USING (run_id)
	WHERE run_id = $id AND b.block = a.block + 1}, 'blocks follow each other');

# Noise
holds("SELECT count(*) = 24 FROM noisy_dose WHERE run_id = $id", 'every load thread has a dose in every block');
holds(qq{SELECT bool_and(d.requested_pct = b.level) FROM noisy_dose d JOIN noisy_blocks b USING (run_id, block) WHERE run_id = $id},
	'it is asked for the level of the block');
holds("SELECT bool_and(achieved_pct < 1 AND NOT unreachable) FROM noisy_dose WHERE run_id = $id AND requested_pct = 0 AND stressor IN ('cpu', 'cache')",
	'there is no noise in a baseline');
holds("SELECT bool_and(achieved_pct BETWEEN 1 AND requested_pct + 3 AND rate > 0) FROM noisy_dose WHERE run_id = $id AND requested_pct > 0 AND stressor IN ('cpu', 'cache')",
	'there is some in the others, and not more than was asked for');
holds("SELECT bool_and(unreachable) IS NOT FALSE FROM noisy_dose WHERE run_id = $id AND achieved_pct < requested_pct - 1",
	'what could not be delivered is marked');
holds("SELECT bool_and(array_length(achieved_by_second_pct, 1) = 2) FROM noisy_dose WHERE run_id = $id", 'the dose is known per second');

# Server and host
foreach my $table (qw(noisy_bgwriter noisy_host_usage))
{
	holds("SELECT count(*) = 8 FROM $table WHERE run_id = $id", "$table has a row for each block");
}
holds("SELECT bool_and(wal_bytes > 0) FROM noisy_bgwriter WHERE run_id = $id", 'the WAL of the workload is counted');
holds("SELECT bool_and(busy_pct BETWEEN 0 AND 100 AND noise_pct >= 0 AND server_pct >= 0 AND driver_pct >= 0) FROM noisy_host_usage WHERE run_id = $id",
	'CPU of the host is known');
holds("SELECT sum(samples) > 0 FROM noisy_wait_events WHERE run_id = $id AND backend_type = 'client backend'", 'wait events of the clients were sampled');

# Views
holds("SELECT count(*) = 6 AND bool_and(transactions > 0 AND min_ms <= p50_ms AND p50_ms <= p99_ms AND p99_ms <= max_ms) FROM noisy_results WHERE run_id = $id",
	'noisy_results has each number of clients and level');
holds("SELECT (SELECT sum(transactions) FROM noisy_results WHERE run_id = $id) = (SELECT sum(transactions) FROM noisy_blocks WHERE run_id = $id)",
	'noisy_results leaves no transaction out');
holds("SELECT count(*) = 6 AND bool_and(tps_change_pct IS NOT NULL AND verdict IS NOT NULL) FILTER (WHERE level > 0) FROM noisy_impact WHERE run_id = $id",
	'noisy_impact compares with the baseline');
like(sql("SELECT noisy_report($id)"), qr/small.*tpcb-like/s, 'noisy_report tells of the run');
is(sql('SELECT count(*) FROM noisy_progress'), '0', 'there is no progress when no run is on');

# What pgbench would have done to the tables
holds('SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)
	AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)',
	'the workload has kept the tables consistent');
holds("SELECT (SELECT count(*) FROM pgbench_history) >= (SELECT sum(transactions) FROM noisy_blocks WHERE run_id = $id)",
	'and has done every transaction that it counted');

#
# Order
#

my @orders;
foreach my $seed (11, 11, 12)
{
	my $run = sql(qq{SELECT noisy_run('select-only', '{1}', '{10,20,30,40,50,60}', '{cpu}', repeats => 1,
		options => '{"seed": $seed, "settle": 0}', duration => '100 ms', warmup => '0 s', noise_options => '{"cpu": {"workers": 1}}')});
	push @orders, sql("SELECT string_agg(level::text, ' ' ORDER BY block) FROM noisy_blocks WHERE run_id = $run");
}
is($orders[0], $orders[1], 'the same seed gives the same order');
isnt($orders[0], $orders[2], 'another seed gives another');
like($orders[0], qr/^0 .* 0$/, 'it begins and ends with a baseline');
my $random = sql("SELECT seed FROM noisy_runs WHERE run_id = " . sql(qq{SELECT noisy_run('select-only', '{1}', '{0}', repeats => 1, $tiny)}));
like($random, qr/^\d+$/, 'a seed is chosen and recorded when none is given');

#
# Every workload and query mode
#

foreach my $workload (qw(tpcb-like simple-update select-only))
{
	foreach my $mode (qw(simple extended prepared))
	{
		my $run = sql("SELECT noisy_run('$workload', '{4}', '{0}', query_mode => '$mode', threads => 2, repeats => 1, $tiny)");
		holds("SELECT bool_and(transactions > 0 AND errors = 0) FROM noisy_blocks WHERE run_id = $run", "$workload works in mode $mode");
	}
}

#
# noisy_load, noisy_start, noisy_wait, noisy_progress
#

my $load = sql(q{SELECT noisy_load('{cpu}', 30, '1 s', '{"cpu": {"workers": 1}}')});
is(sql("SELECT r.workload IS NULL, r.state, b.clients, b.level, b.transactions IS NULL, b.tps IS NULL, b.achieved_pct BETWEEN 5 AND 32
	FROM noisy_runs r JOIN noisy_blocks b USING (run_id) WHERE run_id = $load"), 't|completed|0|30|t|t|t', 'noisy_load makes noise alone');
holds("SELECT count(*) = 1 AND bool_and(tps IS NULL) FROM noisy_results WHERE run_id = $load", 'its results have no throughput');
like(sql("SELECT noisy_report($load)"), qr/\S/, 'its report can be printed');

my $started = sql(q{SELECT noisy_start('select-only', '{2}', '{0}', duration => '2 s', warmup => '0 s', repeats => 1)});
is(sql("SELECT run_id, blocks, state FROM noisy_progress JOIN noisy_runs USING (run_id)"), "$started|1|running",
	'noisy_start returns when the run has begun');
ok(wait_for_query($node, 'SELECT tps > 0 AND p99_ms > 0 AND elapsed_s > 0 AND remaining_s > 0 AND idle_s < 2 FROM noisy_progress'),
	'noisy_progress shows what goes on');
($status, undef, $notices) = $node->psql('postgres', "CALL noisy_wait($started)");
like($notices, qr/NOTICE:  block 1 of 1/, 'CALL noisy_wait tells of blocks as they end');
is(sql("SELECT state FROM noisy_runs WHERE run_id = $started"), 'completed', 'CALL noisy_wait waits until the end');
is($node->psql('postgres', "CALL noisy_wait($started)"), 0, 'CALL noisy_wait returns at once for a run that has ended');
isnt($node->psql('postgres', 'CALL noisy_wait(999999)'), 0, 'CALL noisy_wait refuses a run that is not known');
isnt($node->psql('postgres', "BEGIN; CALL noisy_wait($started)"), 0, 'CALL noisy_wait refuses to wait in a transaction block');

#
# The horizon
#

foreach my $workload (qw(select-only tpcb-like))
{
	foreach my $call (qw(noisy_run noisy_wait))
	{
		my $arguments = "'$workload', '{1}', '{0}', duration => '1500 ms', warmup => '0 s', repeats => 1";
		my $run = $call eq 'noisy_wait' ? sql("SELECT noisy_start($arguments)") : undef;
		my $session = background_sql($node, 'postgres', defined $run ? "CALL noisy_wait($run)" : "SELECT noisy_run($arguments)");
		my $like = defined $run ? 'CALL noisy%' : 'SELECT noisy%';

		ok(wait_for_query($node, q{SELECT phase = 'measuring' FROM noisy_progress}), "$call, $workload: the run is on");
		my (%seen, $last);
		do
		{
			$last = sql(qq{SELECT a.backend_xmin IS NULL, a.backend_xid IS NULL, c.backend_xmin IS NULL
				FROM pg_stat_activity a, pg_stat_activity c, noisy_progress p
				WHERE a.query LIKE '$like' AND c.backend_type = 'pg_noisyneighbor conductor' AND p.phase = 'measuring'});
			$seen{$last}++;
		} while (sql('SELECT count(*) FROM noisy_progress') eq '1');
		delete $seen{''};
		is(join(' ', sort keys %seen), 't|t|t', "$call, $workload: neither the caller nor the conductor holds back the horizon");
		is(finish_sql($session), 0, "$call, $workload: completes");
	}
}

# The session is as usable as before.
my $session = background_sql($node, 'postgres', "SELECT noisy_run('select-only', '{1}', '{0}', repeats => 1, $tiny)",
	'CREATE TEMP TABLE after_run AS SELECT count(*) FROM noisy_runs', 'SELECT count > 0 FROM after_run');
is(finish_sql($session), 0, 'the session works after a run');
like($session->{out}, qr/\nt$/, 'and sees the run');

# A checkpoint before each block
my $checkpoints = sql(qq{SELECT noisy_run('simple-update', '{1}', '{0}', repeats => 1, options => '{"checkpoint": "before_block"}', $tiny)});
is(sql("SELECT count(*) FROM noisy_blocks WHERE run_id = $checkpoints"), '1', 'a run with checkpoints completes');

# Messages are cut to the room that there is for them, and never within a character.
$node->safe_psql('postgres', q{CREATE DATABASE utf8 ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0});
$node->safe_psql('utf8', q{
	CREATE EXTENSION pg_noisyneighbor;
	SELECT noisy_workload_init(1);
	CREATE FUNCTION complain() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN IF random() < 0.5 THEN RAISE EXCEPTION '%', repeat(chr(8364), 400); END IF; RETURN new; END $$;
	CREATE TRIGGER complain BEFORE UPDATE ON pgbench_accounts FOR EACH ROW EXECUTE FUNCTION complain()});
my $complaints = $node->safe_psql('utf8', "SELECT noisy_run('simple-update', '{1}', '{0}', repeats => 1, $tiny)");
is($node->safe_psql('utf8', "SELECT last_error ~ ('^' || chr(8364) || '{100,}\$') FROM noisy_blocks WHERE run_id = $complaints"), 't',
	'a long message of a failed transaction is stored as whole characters');
$node->safe_psql('utf8', q{
	DROP TABLE pgbench_branches;
	CREATE FUNCTION complaint() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', repeat(chr(8364), 400); END $$;
	CREATE VIEW pgbench_branches AS SELECT complaint()});
my $complaint = ($node->psql('utf8', "SELECT noisy_run('simple-update', '{1}', '{0}', repeats => 1, $tiny)"))[2];
like($complaint, qr/could not set up 1 of 1 clients.*DETAIL:  (\xe2\x82\xac){100,}$/s, 'and so is that of a client that failed');

$node->stop;
done_testing();
