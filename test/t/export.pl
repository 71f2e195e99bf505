# A run leaves the database and comes back unchanged; the examples of docs/export.md work.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('export');
make_tables($node);
$node->safe_psql('postgres', 'CREATE DATABASE other; ');
$node->safe_psql('other', 'CREATE SCHEMA "Noisy 1"; CREATE EXTENSION pg_noisyneighbor SCHEMA "Noisy 1"');
$node->safe_psql('postgres', q{SET lc_numeric = 'C'; ALTER DATABASE other SET extra_float_digits = 0});
$node->safe_psql('postgres', q{ALTER DATABASE other SET timezone = 'Asia/Kathmandu'});

my $run = $node->safe_psql('postgres', q{SELECT noisy_run('select-only', '{1,2}', '{0,20}', '{cpu}', '{"cpu": {"workers": 1}}',
	'1 s', '100 ms', 1, label => E'naïve "label"\t\\\\', options => '{"guard": false}')});
my $document = $node->safe_psql('postgres', "SELECT noisy_export($run)");
my $dir = PostgreSQL::Test::Utils::tempdir();
my $file = "$dir/run.json";

open(my $out, '>', $file) or die $!;
print $out $document;
close($out);

my $literal = $document =~ s/'/''/gr;
my $there = $node->safe_psql('other', qq{SELECT "Noisy 1".noisy_import('$literal')});
is( $node->safe_psql('other', qq{SELECT "Noisy 1".noisy_export($there) - 'run_id' = '$literal'::jsonb - 'run_id'}),
	't', 'exported, imported in another database and exported again, it is the same to the last bit');
isnt($node->safe_psql('other', qq{SELECT count(*) FROM "Noisy 1".noisy_timeline WHERE run_id = $there}), '0', 'with its timeline');
is( $node->safe_psql('other', qq{SELECT p99_ms FROM "Noisy 1".noisy_results WHERE run_id = $there ORDER BY clients, level LIMIT 1}),
	$node->safe_psql('postgres', qq{SET extra_float_digits = 0; SELECT p99_ms FROM noisy_results WHERE run_id = $run
		ORDER BY clients, level LIMIT 1}), 'and its results');
my $again = $node->safe_psql('postgres', "SELECT noisy_import(noisy_export($run))");
isnt($again, $run, 'beside the original it has an id of its own');

# Refused, with the reason, and nothing is left behind.
my %bad = (
	'{}' => qr/no "format"/,
	'[1]' => qr/no "format"/,
	'null' => qr/no "format"/,
	qq{(noisy_export($run) || '{"version": 2}')} => qr/version 2 of the format/,
	qq{(noisy_export($run) || '{"tables": 1}')} => qr/"tables" is no object/,
	qq{jsonb_set(noisy_export($run), '{tables,pg_class}', '[]')} => qr/no table "pg_class"/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_dose}', '{}')} => qr/"noisy_dose" is no array/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_run_records}', '[]')} => qr/must have one row/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_blocks,0}', '5')} => qr/row of its table "noisy_blocks" is no object/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_blocks,0,new}', '5')} => qr/no column "new"/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_blocks,0,run_id}', '5')} => qr/no column "run_id"/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_blocks,0,latency}', '"x"')} => qr/"noisy_blocks": invalid input syntax/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_blocks,0,started_at}', 'null')} => qr/"noisy_blocks": null value/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_blocks,0,clients}', '1e20')} => qr/"noisy_blocks": .*out of range/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_run_records,0,state}', '"odd"')} => qr/"noisy_run_records": .*check constraint/,
	qq{jsonb_set(noisy_export($run), '{tables,noisy_dose,0,block}', '77')} => qr/"noisy_dose": .*foreign key/,
);
my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM noisy_run_records');
foreach my $argument (sort keys %bad)
{
	my $sql = $argument =~ /noisy/ ? $argument : "'$argument'";
	my ($status, undef, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT noisy_import($sql)");

	ok($stderr =~ /ERROR:  22023: the document is not an exported run/ && $stderr =~ $bad{$argument} && $stderr =~ /HINT:/,
		"refused: $argument") or diag($stderr);
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM noisy_run_records'), $rows, 'what was refused has left nothing behind');

# A run that is on is not exported.
my $load = begin_load($node);
my (undef, undef, $stderr) = $node->psql('postgres', "SELECT noisy_export($load->{run_id})");
like($stderr, qr/run $load->{run_id} is on/, 'a run that is on is refused');
$node->safe_psql('postgres', 'SELECT noisy_stop()');
finish_sql($load->{session});
(undef, undef, $stderr) = $node->psql('postgres', 'SELECT noisy_export(-1)');
like($stderr, qr/run -1 does not exist/, 'a run that is not there is refused');

# Heat
is( $node->safe_psql('postgres', "SELECT count(*), min(heat), max(heat) FROM noisy_heat('p99_ms', ARRAY[$run, $again]::bigint[])"),
	'8|0|1', 'heat goes from the best to the worst');
is( $node->safe_psql('postgres', "SELECT count(DISTINCT run_id) FROM noisy_heat('tps', ARRAY[$run, $again]::bigint[], false) WHERE heat = 1"),
	'2', 'each run has a scale of its own if so asked');
(undef, undef, $stderr) = $node->psql('postgres', "SELECT * FROM noisy_heat('speed', '{$run}')");
like($stderr, qr/no metric "speed".*HINT/s, 'an unknown metric is refused');

# Examples of the documentation
my $documentation = slurp_file('docs/export.md');
my $examples = 0;
while ($documentation =~ /^```sql\n(.*?)^```/msg)
{
	my $example = $1 =~ s/:run\b/$run/gr;
	my ($status, $stdout, $error) = $node->psql('postgres', $example =~ s/;\s*$//r);

	ok($status == 0 && $stdout ne '', 'an example of docs/export.md: ' . ($example =~ /(noisy_\w+)/)[0]) or diag($error);
	$examples++;
}
cmp_ok($examples, '>=', 6, 'examples were found');
my @shell = $documentation =~ /^```sh\n(.*?)^```/msg;
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGDATABASE} = 'postgres';
local $ENV{PATH} = $node->config_data('--bindir') . ":$ENV{PATH}";
foreach my $command (@shell)
{
  SKIP:
	{
		skip 'there is no gnuplot', 1 if $command =~ /gnuplot/ && system('command -v gnuplot >/dev/null 2>&1') != 0;
		my $script = $command =~ s/\b7\b/$run/gr;
		is(system('bash', '-c', "cd $dir && set -e -o pipefail; $script"), 0, "a command of docs/export.md works: " . substr($command, 0, 40));
	}
}

$node->stop;
done_testing();
