# Storage that runs out: a disk that is full when results are written, and no room for shared memory. The run
# ends with an error that says so, or does not begin; finished blocks are kept; with room again, the next run works.
#
# A small disk is a tmpfs in a namespace of this test's own, which no privilege is needed for; where a machine does not
# allow that, a limit on the size of files has to do.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisySmallDisk;
use NoisyFault;
use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs /proc' unless -r '/proc/self/stat';
plan skip_all => 'needs prlimit' unless can_limit();

my $disk = $NoisySmallDisk::disk;
my $node = new_server('disk_full', 'autovacuum = off', 'dynamic_shared_memory_type = posix');
make_tables($node);
my ($load, $name);

sub sql
{
	return $node->safe_psql($_[1] // 'postgres', $_[0]);
}

# Write a file until there is no room left.
sub fill
{
	my ($file) = @_;

	open(my $handle, '>', $file) or die $!;
	foreach my $size (1024 * 1024, 4096)
	{
		1 while (syswrite($handle, 'x' x $size) // 0) == $size;
	}
	close $handle;
	return;
}

# Noise that writes for some seconds.
sub begin_disk_load
{
	my ($duration, $bytes) = @_;
	my $noise = { node => $node, database => 'postgres' };

	$noise->{session} = background_sql($node, 'postgres',
		qq{SELECT noisy_load('{disk}', 50, '$duration', '{"disk": {"bytes": "$bytes"}}');});
	return wait_until_on($noise, q{phase = 'measuring'});
}

# The run has ended by itself, and kept what it could.
sub check_failed
{
	my ($error) = @_;

	is(finish_sql($load->{session}), 1, "$name: the run fails");
	take_cpu($load);
	check_end($load, $name, qr/^failed\|could not extend file .*: $error/, qr/could not extend file .*: $error/);
	is(sql("SELECT count(*) > 0 AND count(*) = max(block) FROM noisy_blocks WHERE run_id = $load->{run_id}", $load->{database}),
		't', "$name: blocks that had ended are kept");
	return;
}

# Rows that nearly fill the last page of noisy_blocks, and many before them.
my $filler = q{INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, started_at, duration_s, accepted, last_error)
	SELECT run_id, block, 1, 1, 0, now(), 1, true, repeat('x', 1800) FROM noisy_runs, };

# A file that may not grow, for the conductor alone. The limit is above the size of a WAL segment.
$name = 'file size limit reached while results are written';
my $idle = sql(q{SELECT noisy_load('{cpu}', 10, '100 ms', '{"cpu": {"workers": 1}}')});
sql("$filler generate_series(2, 10000) block WHERE run_id = $idle");
cmp_ok(sql(q{SELECT pg_relation_size('noisy_blocks')}), '>', 18_000_000, 'there is a large table');
$load = begin_run($node);
limit('fsize', 17_000_000, all_pids($load, 'conductor'));
check_failed('File too large');
sql("DELETE FROM noisy_runs WHERE run_id = $idle");

# The same for shared memory: the caller's own session is limited.
$name = 'no room for shared memory';
my $call = q{SELECT noisy_load('{cpu}', 10, '100 ms', '{"cpu": {"workers": 1}}')};
my ($status, $stdout, $stderr) = $node->psql('postgres', qq{
	SELECT pg_backend_pid() AS pid
	\\gset
	\\setenv SERVER_PID :pid
	\\! prlimit --pid=\$SERVER_PID --fsize=4096:
	$call;
	\\! prlimit --pid=\$SERVER_PID --fsize=unlimited:
	$call;}, on_error_stop => 0);
like($stderr, qr/ERROR:  could not resize shared memory segment .*: File too large/, "$name: the caller is told");
like($stdout, qr/^\d+\n?\z/m, "$name: the session's next run completes");
nobody_left_behind($node, $name);
is(sql(q{SELECT count(*) FROM noisy_runs WHERE state NOT IN ('completed', 'failed')}), '0', "$name: no run is recorded");
next_run_completes($node, $name);

# The same for the noise: its file is there, and each write fails.
$name = 'writes of the noise that fail';
$load = begin_disk_load('8 s', '4MB');
limit('fsize', 4096, all_pids($load, 'noise'));
is(finish_sql($load->{session}), 0, "$name: the run goes on to its end");
nobody_left_behind($node, $name);
is(run_state($load), 'completed|', "$name: the state says so");
is(sql("SELECT bool_and(unreachable AND achieved_pct < requested_pct / 2) FROM noisy_dose WHERE run_id = $load->{run_id}"),
	't', "$name: they are no dose");
next_run_completes($node, $name);

SKIP:
{
	skip 'this machine allows no namespaces', 23 unless $disk;

	# The folder of the noise is on the small disk, of 48 MB.
	mkdir "$disk/noise" or die $!;
	my $folder = $node->data_dir . '/base/pgsql_tmp';
	rmdir $folder;
	symlink "$disk/noise", $folder or die $!;
	$name = 'no room on the disk for its noise';
	($status, $stdout, $stderr) = $node->psql('postgres', qq{\\set VERBOSITY verbose
		SELECT noisy_load('{disk}', 10, '100 ms', '{"disk": {"bytes": "44MB"}}')});
	like($stderr, qr/53100: noise would take too much of the disk.*Needed 44 MB, 4\d MB are free, and 10 % of the file system's 48 MB stay so/s,
		"$name: the caller is told");
	nobody_left_behind($node, $name);
	next_run_completes($node, $name);

	$name = 'disk full while the noise writes';
	$load = begin_disk_load('4 s', '8MB');
	fill("$disk/filler");
	is(finish_sql($load->{session}), 0, "$name: the run goes on to its end");
	nobody_left_behind($node, $name);
	is(run_state($load), 'completed|', "$name: the state says so");
	is(sql("SELECT bool_and(NOT unreachable AND rate > 0) FROM noisy_dose WHERE run_id = $load->{run_id}"), 't', "$name: it has its space");
	unlink "$disk/filler" or die $!;
	($status, $stdout) = $node->psql('postgres', q{SELECT noisy_load('{disk}', 10, '100 ms', '{"disk": {"bytes": "40MB"}}')});
	is($status, 0, "$name: the space of the noise is free again");

	# A database of its own on the small disk
	mkdir "$disk/space" or die $!;
	sql("CREATE TABLESPACE small LOCATION '$disk/space'");
	sql('CREATE DATABASE small TABLESPACE small');
	sql('CREATE EXTENSION pg_noisyneighbor', 'small');
	make_tables($node, 'small');
	next_run_completes($node, 'a small disk with room', 'small');

	$name = 'disk full while results are written';
	$load = begin_run($node, q{, label => 'a name of the length that names have in real life, which is 80 characters or so'}, 'small');
	fill("$disk/filler");
	is(finish_sql($load->{session}), 1, "$name: the run fails");
	take_cpu($load);
	is_quiet($load, $name);
	like($load->{session}{err}, qr/53100: could not extend file .*: No space left on device/, "$name: the caller is told");
	like(run_state($load), qr/^failed\|could not extend file .*: No space left on device$/, "$name: the state says so");
	is(sql("SELECT count(*) > 0 AND count(*) = max(block) FROM noisy_blocks WHERE run_id = $load->{run_id}", 'small'),
		't', "$name: blocks that had ended are kept");
	nobody_left_behind($node, $name);

	$name = 'disk full before a run';
	# Whatever room there is in pages is used up at last.
	foreach (1 .. 30)
	{
		($status, $stdout, $stderr) = $node->psql('small', $call);
		last if $status != 0;
	}
	like($stderr, qr/could not extend file .*: No space left on device.*HINT:  Check free disk space/s, "$name: the caller is told");
	nobody_left_behind($node, $name);
	is(sql(q{SELECT count(*) FROM noisy_runs WHERE state NOT IN ('completed', 'failed')}, 'small'), '0', "$name: the state of every run could be recorded");
	unlink "$disk/filler" or die $!;
	next_run_completes($node, "$name, and room again", 'small');

	$name = '/dev/shm too small';
	fill('/dev/shm/filler');
	($status, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\n$call");
	like($stderr, qr/53100: could not resize shared memory segment .* to \d+ bytes: No space left on device/, "$name: the caller is told");
	nobody_left_behind($node, $name);
	unlink '/dev/shm/filler' or die $!;
	next_run_completes($node, "$name, and room again");
}

$node->stop;
done_testing();
