# Two hundred starts and stops: no process grows, and nothing is left in slots, descriptors, shared memory, locks.

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

my $warm_up = 24;				# until caches are filled
my $cycles = 200;
my $allowed_kb = 1024;			# of growth; a leak of 6 kB a cycle is found

my $node = new_server('cycles', 'autovacuum = off', 'fsync = off', 'max_worker_processes = 8', 'max_connections = 20',
	'dynamic_shared_memory_type = mmap');
make_tables($node);
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

sub segments
{
	return scalar(grep { /^mmap\./ } slurp_dir($node->data_dir . '/pg_dynshmem'));
}

# {memory in kB, shared memory not counted; open files; mappings} of a process
sub state_of
{
	my ($pid) = @_;
	my $status = slurp_file("/proc/$pid/status");
	my ($kb) = $status =~ /^RssAnon:\s+(\d+) kB/m;
	my @maps = split /\n/, slurp_file("/proc/$pid/maps");

	return { kb => $kb, files => scalar(slurp_dir("/proc/$pid/fd")), maps => scalar(@maps) };
}

# Processes that live through all the cycles: the session that calls, the postmaster, and all that it has at first.
sub watched
{
	return map { split /\|/ } split /\n/, sql(q{
		SELECT pid, CASE WHEN application_name = 'the caller' THEN 'the calling session' ELSE backend_type END
		  FROM pg_stat_activity WHERE backend_type <> 'client backend' OR application_name = 'the caller'});
}

# One session calls; it is told what to do, and asked how far it is, through psql's input and output.
my ($in, $out, $err) = ('', '', '');
my $session = IPC::Run::start([ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres') ],
	'<', \$in, '>', \$out, '2>', \$err);

sub call
{
	my ($statements, $times) = @_;
	my $until = time + 10 * $NoisyTest::patience_s;

	$out = '';
	$in .= $statements x $times . "\\echo done\n";
	$session->pump while $session->pumpable && $out !~ /^done$/m && time < $until;
	BAIL_OUT("the session does not answer: $err") if $out !~ /^done$/m;
	return;
}

# Every way to start and to end a run that leaves the session alive, most of them the quickest. Eight cycles, and one that fails.
my $load = q{'{cpu,cache,memory}', 10, %s, '{"cpu": {"workers": 1}, "cache": {"workers": 1, "bytes": "1MB"}, "memory": {"workers": 1, "bytes": "1MB"}}'};
my $run = q{'select-only', '{2}', '{0,10}', '{cpu}', '{"cpu": {"workers": 1}}', '60 s', '0 s', 1};
my $start_and_stop = q{
	SELECT %s AS id
	\gset
	SELECT noisy_stop(:id);
	CALL noisy_wait(:id);
};
my $statements = join('',
	'SELECT noisy_load(' . sprintf($load, q{'100 ms'}) . ");\n",
	sprintf($start_and_stop, 'noisy_load(' . sprintf($load, q{'60 s'}) . ', wait => false)') x 3,
	sprintf($start_and_stop, "noisy_start($run)") x 2,
	"SELECT noisy_run('select-only', '{2}', '{0}', duration => '100 ms', warmup => '0 s', repeats => 1);\n" x 2,
	"SELECT noisy_run('select-only', '{2}', '{0}', conninfo => 'host=/nowhere');\n");
my $per_call = 8;

call("SET application_name = 'the caller'; SET client_min_messages = warning;\n", 1);
call($statements, $warm_up / $per_call);
nobody_left_behind($node, 'after the warm-up');
my %processes = (watched(), $postmaster => 'postmaster');
my %before = map { $_ => state_of($_) } keys %processes;
my $segments = segments();

my $begin = time;
call($statements, $cycles / $per_call);
note(sprintf('%d cycles, %.3f s each', $cycles, (time - $begin) / $cycles));
nobody_left_behind($node, 'after the cycles');
my %after = map { $_ => state_of($_) } keys %processes;

foreach my $pid (sort { $processes{$a} cmp $processes{$b} } keys %processes)
{
	my %grown = map { $_ => $after{$pid}{$_} - $before{$pid}{$_} } keys %{ $after{$pid} };

	note("$processes{$pid}: " . join(', ', map { "$_ $before{$pid}{$_} -> $after{$pid}{$_}" } sort keys %grown));
	cmp_ok($grown{kb}, '<', $allowed_kb, "$processes{$pid}: its memory is flat");
	next unless $processes{$pid} =~ /session|postmaster/;
	cmp_ok($grown{files}, '<=', 2, "$processes{$pid}: no more files are open");
	cmp_ok($grown{maps}, '<=', 4, "$processes{$pid}: nothing more is mapped");
}

is(sql('SELECT count(*) FROM noisy_runs'), $cycles + $warm_up, 'every cycle was a run');
is(scalar(() = $err =~ /ERROR:  could not connect/g), ($cycles + $warm_up) / $per_call, 'those that were to fail did so');
unlike($err =~ s/ERROR:  could not connect.*//gr, qr/ERROR/, 'and no other');
is(sql(q{SELECT string_agg(DISTINCT state, ' ' ORDER BY state) FROM noisy_runs}), 'completed stopped', 'every run ended as it should');
is(sql(q{SELECT count(*) FROM pg_locks WHERE locktype IN ('userlock', 'advisory')}), '0', 'no lock of a run is left');
is(sql(q{SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()}), '0', 'and no other');
cmp_ok(segments(), '<=', $segments, 'no shared memory is left');
$in .= "\\q\n";
$session->finish;

# All worker slots are there, to the last one, which is left for parallel queries.
$node->safe_psql('postgres', q{SELECT noisy_run('select-only', '{2}', '{0,10}', '{cpu}', '{"cpu": {"workers": 6}}', '100 ms', '0 s', 1)});
is(sql(q{SELECT parameters ->> 'noise_processes' FROM noisy_runs ORDER BY run_id DESC LIMIT 1}),
	sql(q{SELECT 8 - 3 - 1 - count(*) FROM pg_stat_activity WHERE backend_type = 'logical replication launcher'}), 'all worker slots are free');
next_run_completes($node, 'in the end');

$node->stop;
done_testing();
