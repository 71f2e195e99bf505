# Checkpoints are bands in the timeline of a run: when, why, how much, and what they did to latency. The server's own log is
# the witness.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::Local qw(timegm);

# The server notes edges when it logs them; we poll every 100 ms. What a loaded machine adds is not ours.
my $edge_s = 0.6;

my $node = new_server('bands', 'checkpoint_timeout = 30s', 'log_checkpoints = on', 'fsync = off', "log_timezone = 'UTC'",
	'shared_buffers = 64MB', 'max_worker_processes = 12');
make_tables($node);
$node->safe_psql('postgres', 'CREATE TABLE dirt (x int, filler char(900)) WITH (fillfactor = 50)');
$node->safe_psql('postgres', q{INSERT INTO dirt SELECT i, '' FROM generate_series(1, 8000) i});

# [start, end, kind, buffers] of the checkpoints in the log; the last may have no end.
sub logged
{
	my @found;

	foreach my $line (split /\n/, slurp_file($node->logfile))
	{
		my ($year, $month, $day, $h, $m, $s) = $line =~ /^(\d+)-(\d+)-(\d+) (\d+):(\d+):([\d.]+) UTC/ or next;
		my $at = timegm(0, $m, $h, $day, $month - 1, $year) + $s;

		push @found, [ $at, undef, $1 =~ /\btime\b/ ? 'timed' : 'requested', undef ] if $line =~ /checkpoint starting: (.*)/;
		@{ $found[-1] }[ 1, 3 ] = ($at, $1) if @found && $line =~ /checkpoint complete: wrote (\d+) buffers/;
	}
	return @found;
}

sub start_run
{
	my ($arguments) = @_;

	return wait_until_on(
		{ node => $node, database => 'postgres', session => background_sql($node, 'postgres', "SELECT noisy_run($arguments)") },
		q{phase = 'measuring'});
}

sub dirty
{
	$node->safe_psql('postgres', 'UPDATE dirt SET x = x + 1');
	return;
}

# A checkpoint that somebody asks for, in the middle of a run.
my $options = q{'{"settle": 0, "guard": false}'};
my $load = start_run(qq{'simple-update', '{2}', '{0}', '{}', duration => '8 s', warmup => '0 s', repeats => 1, options => $options});
dirty();
my $before = $node->safe_psql('postgres', 'SELECT extract(epoch FROM clock_timestamp())');
$node->safe_psql('postgres', 'CHECKPOINT');
is(finish_sql($load->{session}), 0, 'a run with a checkpoint in it completes') or diag($load->{session}{err});

my ($asked) = grep { $_->[0] > $before - 0.5 && defined $_->[1] } logged();
my @bands = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres',
	"SELECT extract(epoch FROM started_at), extract(epoch FROM ended_at), kind, complete, buffers_written, bytes_written,
		extract(epoch FROM ended_at) > $before
	   FROM noisy_checkpoints WHERE run_id = $load->{run_id} ORDER BY 1");
my ($band) = grep { $_->[6] eq 't' } @bands;
ok($band, 'the checkpoint is a band') or BAIL_OUT('no band');
is("$band->[2] $band->[3]", 'requested t', 'it is known to be requested, and complete');
cmp_ok(abs($band->[0] - $asked->[0]), '<', $edge_s, 'it begins when the log says');
cmp_ok(abs($band->[1] - $asked->[1]), '<', $edge_s, 'it ends when the log says');
cmp_ok($band->[4], '>=', 0.98 * $asked->[3] - 10, 'the pages are counted that the log counts');
cmp_ok($band->[4], '<=', 1.02 * $asked->[3] + 10, 'and no others');
is($band->[5], $band->[4] * 8192, 'bytes are pages by the block size') if $node->safe_psql('postgres', 'SHOW block_size') == 8192;

# A timed one, in which the run ends. It is spread over half of the time to the next one.
$load = start_run(qq{'simple-update', '{2}', '{0,10}', '{cpu}', '{"cpu": {"workers": 1}}', '3 s', '0 s', 20, options => $options});
my $stopped;
foreach (1 .. 900)
{
	dirty() if $_ % 100 == 1;
	my @now = logged();
	if (@now && !defined $now[-1][1] && $now[-1][2] eq 'timed')
	{
		# let a whole second of a block lie in it
		sleep(6);
		$stopped = $node->safe_psql('postgres', q{SELECT extract(epoch FROM clock_timestamp()) FROM noisy_stop()});
		last;
	}
	select(undef, undef, undef, 0.1);
}
finish_sql($load->{session});
ok($stopped, 'a timed checkpoint comes') or BAIL_OUT('no timed checkpoint');
my $timed = (logged())[-1];
ok(wait_for_query($node, "SELECT state = 'stopped' FROM noisy_runs WHERE run_id = $load->{run_id}"), 'the run ends in it');
$band = [ split /\|/, $node->safe_psql('postgres',
	"SELECT extract(epoch FROM started_at), extract(epoch FROM ended_at), kind, complete, buffers_written, note
	   FROM noisy_checkpoints WHERE run_id = $load->{run_id} ORDER BY 1 DESC LIMIT 1") ];
is($band->[2], 'timed', 'it is known to be timed');
is($band->[3], 'f', 'it is not complete');
like($band->[5], qr/in progress/, 'the note says so');
cmp_ok(abs($band->[0] - $timed->[0]), '<', $edge_s, 'it begins when the log says');
cmp_ok(abs($band->[1] - $stopped), '<', 2 * $edge_s, 'it is seen until the run ends');
cmp_ok($band->[4], '>', 0, 'what it has written by then is counted');

is( $node->safe_psql('postgres', qq{
	SELECT bool_and(inside_tps > 0 AND inside_p99_ms >= inside_p50_ms AND inside_s > 0 AND checkpoints > 0)
	  FROM noisy_checkpoint_effects WHERE run_id = $load->{run_id}}),
	't', 'latency in it stands against latency without it');
is( $node->safe_psql('postgres', qq{
	SELECT count(*) FROM noisy_checkpoint_latency l JOIN noisy_blocks b USING (run_id, block)
	 WHERE noisy_count(l.inside) + noisy_count(l.outside) > b.transactions OR l.inside_s + l.outside_s > b.duration_s + 0.01}),
	'0', 'no transaction and no second counts twice');

# Statistics that are reset in the middle are not measured.
$load = start_run(qq{'simple-update', '{2}', '{0}', '{}', duration => '4 s', warmup => '0 s', repeats => 1, options => $options});
$node->safe_psql('postgres', q{SELECT pg_stat_reset_shared('bgwriter')});
$node->psql('postgres', q{SELECT pg_stat_reset_shared('checkpointer')});
finish_sql($load->{session});
is( $node->safe_psql('postgres', qq{
	SELECT bgwriter_bytes IS NULL AND checkpointer_bytes IS NULL AND note LIKE '%reset%'
	  FROM noisy_bgwriter WHERE run_id = $load->{run_id} ORDER BY block LIMIT 1}),
	't', 'counters over a reset are NULL, with the reason');
is( $node->safe_psql('postgres', qq{
	SELECT bgwriter_bytes_per_s IS NULL AND ceiling_bytes_per_s = 4096000 AND equivalent_maxpages = 100 AND notes LIKE '%reset%'
	  FROM noisy_write_rates WHERE run_id = $load->{run_id}}),
	't', 'their rates too, while the ceiling of the background writer is known');

$node->stop;
done_testing();
