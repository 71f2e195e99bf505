# The probes "jitter" and "hold" of a calibration: rows that add up, a verdict in words, and the option that brings "hold".

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('jitter');

sub calibrate
{
	my ($arguments) = @_;

	my ($code, $out, $err) = $node->psql('postgres', "SELECT noisy_calibrate($arguments)", timeout => 180);
	is($code, 0, "noisy_calibrate($arguments)") or diag($err);
	return $out;
}

# Number of rows of a calibration that fulfil a condition.
sub count_rows
{
	my ($id, $condition) = @_;

	return $node->safe_psql('postgres',
		"SELECT count(*) FROM noisy_calibration_results WHERE calibration_id = $id AND ($condition)");
}

my $id = calibrate(q('{jitter}', '1 s', 2));
my $cpus = $node->safe_psql('postgres', 'SELECT affinity_cpus FROM noisy_host') || 1;

cmp_ok(count_rows($id, q(variant LIKE 'wake-up%' AND repeats = 2 AND unit = 'us' AND median > 0)),
	'==', $cpus > 1 ? 6 : 3, 'wake-ups are measured by one thread and by one on each CPU');
is( $node->safe_psql(
		'postgres', "SELECT bool_and(longest >= p99 AND p99 >= p50) FROM (
		SELECT min(p90) FILTER (WHERE variant = 'wake-up, longest') AS longest,
			min(p90) FILTER (WHERE variant = 'wake-up, p99') AS p99, min(p90) FILTER (WHERE variant = 'wake-up, p50') AS p50
		FROM noisy_calibration_results WHERE calibration_id = $id AND variant LIKE 'wake-up%' GROUP BY threads) AS t"),
	't', 'p50, p99 and the longest are in order');
is( $node->safe_psql(
		'postgres', "SELECT abs(sum(mean) FILTER (WHERE variant <> 'gaps, lost') - sum(mean) FILTER (WHERE variant = 'gaps, lost')) < 0.01
		FROM noisy_calibration_results
		WHERE calibration_id = $id AND variant LIKE 'gaps,%' AND unit LIKE '\\%%'"),
	't', 'the causes of gaps sum to what was lost');
is(count_rows($id, q(variant = 'gaps, lost' AND note ~ '^up to [0-9.]+ % lost; cause: ')), 1, 'the note says why');

# A quiet load: only that it lasts as long as asked for, and that it is judged.
$id = calibrate(q('{cpu}', '50 ms', 2, options => '{"hold": "6 s", "level": 5, "threads": [1]}'));
is(count_rows($id, q(probe = 'hold')), 10, 'the option "hold" has the probe done');
is(count_rows($id, q(probe = 'hold' AND variant = 'dose' AND abs(median - 5) < 2.5)), 1, 'its load is the level that was asked for');
is(count_rows($id, q(probe = 'hold' AND note ~ '^by the clock: .*; by CPU time: ')), 10, 'both series are judged');
is(count_rows($id, q(probe = 'hold' AND variant LIKE '%drift' AND mean IS NOT NULL)), 2, 'drift is known at the end');

my ($code, $out, $err) = $node->psql('postgres', q(SELECT noisy_calibrate('{hold}', options => '{"hold": "2 h"}')));
isnt($code, 0, 'a hold beyond pg_noisyneighbor.max_duration is refused');
like($err, qr/hold/, 'and the option is named');

$node->stop;
done_testing();
