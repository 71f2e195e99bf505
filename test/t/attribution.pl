# Why it was slower, in real runs: budgets that sum to the latency, the client that is followed, the lock probe, probes of
# fixed work, and what is not there where it cannot be had.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('attribution', 'max_worker_processes = 24');
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

# A run of two levels; returns its id.
sub run_with
{
	my ($workload, $options, $more) = @_;

	return sql(qq{SELECT noisy_run('$workload', '{4}', '{0,40}', '{cpu}', duration => '1.5 s', warmup => '300 ms', repeats => 1,
		options => '{"guard": false}'::jsonb || '$options'${\($more // '')})});
}

my $id = run_with('tpcb-like', '{"sample_interval": 5, "lock_probe": {"workers": 3, "hold_us": 40}}');
my $of_run = "run_id = $id AND level > 0";

#
# Budgets
#

holds("SELECT count(*) = 3 AND bool_and(n = 10) FROM (SELECT block, count(*) AS n FROM noisy_block_budget
	WHERE run_id = $id AND scope = 'mean' GROUP BY block) AS b", 'every block has a budget of the mean');
holds("SELECT bool_and(abs(s.ms - noisy_mean(b.latency)) <= 1e-6 * s.ms) FROM noisy_blocks b JOIN
	(SELECT block, sum(ms) AS ms FROM noisy_block_budget WHERE run_id = $id AND scope = 'mean' GROUP BY block) AS s USING (block)
	WHERE b.run_id = $id", 'its components sum to the mean latency of the block');
holds("SELECT abs(a.delta - r.change) <= 0.02 * abs(r.change) FROM
	(SELECT sum(delta_ms) AS delta FROM noisy_attribution WHERE $of_run AND scope = 'mean') AS a,
	(SELECT max(avg_ms) FILTER (WHERE level > 0) - max(avg_ms) FILTER (WHERE level = 0) AS change FROM noisy_results WHERE run_id = $id) AS r",
	'their changes sum to the change of the mean within 2 %');
holds("SELECT bool_and(abs(share - 100) < 1e-6) FROM (SELECT sum(share_pct) AS share FROM noisy_attribution
	WHERE $of_run GROUP BY scope) AS s", 'shares sum to 100');
holds("SELECT bool_and(ms > 0) FROM noisy_block_budget WHERE run_id = $id AND scope = 'mean' AND component IN ('cpu', 'run_queue')",
	'CPU and run queue are in every budget');
holds("SELECT bool_and(abs(ms) <= 0.25 * total) FROM (SELECT component, ms, sum(ms) OVER (PARTITION BY block) AS total
	FROM noisy_block_budget WHERE run_id = $id AND scope = 'mean') AS b WHERE component = 'unexplained'",
	'little is unexplained');

# The client that is followed
holds("SELECT count(DISTINCT block) = 3 AND min(operations) > 0 FROM noisy_block_budget WHERE run_id = $id AND scope = 'followed'",
	'one client is followed in every block');
holds("SELECT bool_and(f.operations < b.transactions) FROM noisy_block_budget f JOIN noisy_blocks b USING (run_id, block)
	WHERE run_id = $id AND scope = 'followed'", 'and it is one of several');
holds("SELECT bool_and(t.ms >= f.ms) FROM
	(SELECT block, sum(ms) AS ms FROM noisy_block_budget WHERE run_id = $id AND scope = 'tail' GROUP BY block) AS t JOIN
	(SELECT block, sum(ms) AS ms FROM noisy_block_budget WHERE run_id = $id AND scope = 'followed' GROUP BY block) AS f USING (block)",
	'its tail is slower than its mean');
like(sql("SELECT noisy_report($id)"), qr/^Why: /m, 'the report says why') unless sql("SELECT abs(sum(delta_ms)) <= 0.05 * sum(baseline_ms)
	FROM noisy_attribution WHERE $of_run AND scope = 'mean'") eq 't';

# Processes
is(sql("SELECT string_agg(DISTINCT kind, ',' ORDER BY kind) FROM noisy_processes WHERE run_id = $id
	AND kind IN ('workload', 'checkpointer', 'background writer', 'walwriter', 'other clients')"),
	'background writer,checkpointer,other clients,walwriter,workload', 'each kind of process has its account');
holds("SELECT bool_and(processes BETWEEN 3.9 AND 4.1 AND cpu_s > 0 AND slices > 0 AND voluntary_switches > 0) FROM noisy_processes
	WHERE run_id = $id AND kind = 'workload'", 'the workload has four backends, which were at work');
holds("SELECT bool_and(samples_missed = samples_expected - samples_taken AND samples_taken > 0) FROM noisy_lwlocks WHERE run_id = $id",
	'missed samples are counted') if sql("SELECT count(*) > 0 FROM noisy_lwlocks WHERE run_id = $id") eq 't';

# Probes
is(sql("SELECT string_agg(probe, ',' ORDER BY probe) FROM noisy_probes WHERE $of_run"), 'cache_l2,compute,memory',
	'three pieces of work are measured');
holds("SELECT bool_and(median_ns > 0 AND median_ns <= p90_ns OR note <> '') FROM noisy_probes WHERE run_id = $id",
	'each has a median or a reason');

#
# Lock probe
#

holds("SELECT count(*) = 2 AND bool_and(workers = 3 AND hold_us = 40 AND acquisitions > 0) FROM noisy_lock_probe WHERE run_id = $id",
	'the lock probe ran at both levels');
holds("SELECT bool_and(hold_p50_ms >= 0.04 AND hold_p50_ms <= hold_p99_ms AND wait_p50_ms <= wait_p99_ms AND wait_p99_ms <= wait_max_ms)
	FROM noisy_lock_probe WHERE run_id = $id", 'a hold takes the time that was asked for');
holds("SELECT bool_and(abs(holder_on_cpu_pct + holder_off_cpu_pct + waiter_run_queue_pct + rest_pct - 100) <= 5)
	FROM noisy_lock_probe WHERE run_id = $id", 'the parts of the waits sum to them within 5 %');
holds("SELECT bool_and(noisy_count(hold) = acquisitions AND noisy_count(wait) = acquisitions) FROM noisy_block_lock_probe WHERE run_id = $id",
	'every acquisition is in the histograms');

holds("SELECT acquisitions > 0 FROM noisy_lock_probe('500 ms', 2, 20)", 'the lock probe runs by itself');
my ($status, undef, $stderr) = $node->psql('postgres', "SELECT noisy_lock_probe('1 s', 32)");
like($stderr, qr/not enough background worker slots.*Needed 34/s, 'it says how many worker slots it needs');

#
# What is not there
#

my $without = run_with('select-only', '{"tail": false, "probes": false}');
is(sql("SELECT string_agg(DISTINCT scope, ',') FROM noisy_block_budget WHERE run_id = $without"), 'mean', 'nobody is followed when that is switched off');
is(sql("SELECT count(*) FROM noisy_probes WHERE run_id = $without"), '0', 'nor is the probe there');
is(sql("SELECT count(*) FROM noisy_lock_probe WHERE run_id = $without"), '0', 'and the lock probe is only there when it is asked for');

my $open = run_with('select-only', '{}', ', rate => 200');
holds("SELECT bool_and(abs(s.ms - noisy_mean(b.latency)) <= 1e-6 * s.ms) FROM noisy_blocks b JOIN
	(SELECT block, sum(ms) AS ms FROM noisy_block_budget WHERE run_id = $open AND scope = 'mean' GROUP BY block) AS s USING (block)
	WHERE b.run_id = $open", 'in an open loop the components sum to the latency from when transactions were due');
holds("SELECT bool_and(ms >= 0) FROM noisy_block_budget WHERE run_id = $open AND component = 'backlog'", 'with the time that they waited for a client');

my $host = $node->host;
my $port = $node->port;
my $elsewhere = run_with('select-only', '{}', ", conninfo => 'host=$host port=$port dbname=postgres'");
holds("SELECT count(*) = 0 FROM noisy_block_budget WHERE run_id = $elsewhere AND scope <> 'mean'",
	'nobody is followed on a server that may be another one');

# A connection that is lost: the client that is followed goes on with another backend.
my $session = background_sql($node, 'postgres', q{SELECT noisy_run('select-only', '{2}', '{0}', duration => '3 s', warmup => '0 s', repeats => 1,
	options => '{"guard": false}')});
ok(wait_for_query($node, q{SELECT phase = 'measuring' AND elapsed_s > 1 FROM noisy_progress}), 'a run is on');
sql(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'pg_noisyneighbor run=%'});
is(finish_sql($session), 0, 'it survives the end of its backends');
holds(q{SELECT bool_and(connection_errors > 0) FROM noisy_blocks WHERE run_id = (SELECT max(run_id) FROM noisy_runs)}, 'which it counts');
holds(q{SELECT sum(operations) > 0 FROM noisy_block_budget WHERE run_id = (SELECT max(run_id) FROM noisy_runs) AND scope = 'followed'},
	'and the client is still followed');

# A thousand samples a second
my $fast = sql(q{SELECT noisy_run('select-only', '{2}', '{0}', duration => '2 s', warmup => '0 s', repeats => 1, options => '{"sample_interval": 1, "guard": false}')});
holds("SELECT samples_expected = 2000 AND samples_taken BETWEEN 200 AND 2000 FROM noisy_blocks WHERE run_id = $fast",
	'samples are taken every millisecond, as far as the host lets us');

$node->stop;
done_testing();
