# The real prometheus and both exporters, as Debian packages them, against a server during a run: what Prometheus answers over HTTP is
# what the tables say.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use HTTP::Tiny;
use IO::Socket::INET;
use IPC::Run ();
use JSON::PP;
use NoisyPrograms;
use POSIX ();
use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $folder = PostgreSQL::Test::Utils::tempdir();
my %program = find_programs("$folder/programs",
	'prometheus' => 'prometheus',
	'promtool' => 'prometheus',
	'prometheus-sql-exporter' => 'prometheus-sql-exporter',
	'prometheus-postgres-exporter' => 'prometheus-postgres-exporter');
plan skip_all => $NoisyPrograms::reason unless %program;

my $node = new_server('prometheus');
make_tables($node);
$node->safe_psql('postgres', 'CREATE ROLE scraper LOGIN IN ROLE pg_monitor');

my $options = q{noise => '{cpu,memory}', noise_options => '{"cpu": {"workers": 1}, "memory": {"workers": 1, "bytes": "8MB"}}',
	warmup => '0 s', repeats => 1, options => '{"guard": false}'};
my $run = $node->safe_psql('postgres', qq{SELECT noisy_run('tpcb-like', '{1,2}', '{0,30}', $options, duration => '1 s', label => E'a "b"\\n\\\\c')});

#
# The text
#

sub lint
{
	my ($text, $name) = @_;
	my $output = '';

	IPC::Run::run([ $program{promtool}, 'check', 'metrics' ], '<', \$text, '>', \$output, '2>&1');
	is($output, '', "promtool finds nothing wrong with $name");
	return;
}

sub scrape_text
{
	return $node->safe_psql('postgres', 'SET ROLE scraper; SELECT noisy_prometheus()') . "\n";
}

my $text = scrape_text();
lint($text, 'the text of a completed run');
like($text, qr/^noisy_run_info\{label="a \\"b\\"\\n\\\\c",role="latest",run_id="$run",workload="tpcb-like"\} 1$/m, 'labels are escaped');
SKIP:
{
	skip 'there is no locale with a decimal comma', 1 unless $ENV{NN_COMMA_LOCALE};
	my $comma = $node->safe_psql('postgres', "SET lc_numeric = '$ENV{NN_COMMA_LOCALE}'; SET extra_float_digits = -3; SELECT noisy_prometheus()") . "\n";
	is($comma, $text, 'the decimal point is a point, and digits are whole, under every setting');
}

#
# Everybody at work
#

sub free_port
{
	return IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')->sockport;
}

# A web server that answers with the text of the function.
sub serve_text
{
	my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1', ReuseAddr => 1) or die $!;
	my $pid = fork // die $!;

	return ($pid, $listener->sockport) if $pid;
	$SIG{TERM} = sub { POSIX::_exit(0) };
	while (my $client = $listener->accept)
	{
		while (defined(my $line = <$client>)) { last if $line =~ /^\r?$/ }
		my $body = scrape_text();

		print $client "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		  . "Connection: close\r\nContent-Length: " . length($body) . "\r\n\r\n$body";
		close $client;
	}
	POSIX::_exit(0);
}

my @children;
my %port = map { $_ => free_port() } qw(sql postgres prometheus);
my $host = $node->host;

sub start_program
{
	my ($name, @arguments) = @_;
	my $log = "$folder/$name.log";

	push @children, IPC::Run::start([ $program{$name}, @arguments ], '<', \undef, '>', $log, '2>&1');
	return;
}

my ($text_pid, $text_port) = serve_text();

my $sql_conf = slurp_file('docs/prometheus/sql_exporter.yml');
is($sql_conf =~ s{postgres:///postgres\?host=/var/run/postgresql&sslmode=disable}
	{"postgres:///postgres?user=scraper&host=$host&port=" . $node->port . '&sslmode=disable'}ge,
	2, 'the connections of sql_exporter.yml are where the documentation says');
$sql_conf =~ s/interval: \d+s/interval: 1s/g;
append_to_file("$folder/sql_exporter.yml", $sql_conf);
start_program('prometheus-sql-exporter', '-config.file', "$folder/sql_exporter.yml", '-web.listen-address', "127.0.0.1:$port{sql}");
{
	local $ENV{DATA_SOURCE_NAME} = "user=scraper host=$host port=" . $node->port . ' dbname=postgres sslmode=disable';
	start_program('prometheus-postgres-exporter', '--extend.query-path', 'docs/prometheus/postgres_exporter.yml',
		'--disable-default-metrics', '--disable-settings-metrics', "--web.listen-address=127.0.0.1:$port{postgres}");
}
my $conf = slurp_file('docs/prometheus/prometheus.yml');
$conf =~ s/localhost:9237/127.0.0.1:$port{sql}/;
$conf =~ s/localhost:9187/127.0.0.1:$port{postgres}/;
$conf =~ s/scrape_interval: 15s/scrape_interval: 3s/g;
append_to_file("$folder/prometheus.yml", "$conf\n  - job_name: text\n    scrape_interval: 3s\n    static_configs:\n      - targets: [\"127.0.0.1:$text_port\"]\n");
like(`$program{promtool} check config $folder/prometheus.yml 2>&1`, qr/SUCCESS/, 'promtool accepts prometheus.yml');
start_program('prometheus', "--config.file=$folder/prometheus.yml", "--storage.tsdb.path=$folder/tsdb", "--web.listen-address=127.0.0.1:$port{prometheus}");

my $live = $node->safe_psql('postgres', qq{SELECT noisy_start('select-only', '{2}', '{0,30}', $options, duration => '300 s')});

my $http = HTTP::Tiny->new(timeout => 20);

# What Prometheus answers: [{metric => labels, value => number}]
sub ask
{
	my ($query) = @_;
	my $reply = $http->post_form("http://127.0.0.1:$port{prometheus}/api/v1/query", { query => $query });

	return unless $reply->{success};
	return map { { metric => $_->{metric}, value => $_->{value}[1] } } @{ decode_json($reply->{content})->{data}{result} };
}

# Poll until a query gives the value.
sub becomes
{
	my ($query, $test, $name) = @_;
	my $until = time + $NoisyTest::patience_s;
	my @answer;

	do
	{
		@answer = ask($query);
		return ok(1, $name) if @answer && $test->($answer[0]{value});
		sleep(0.2);
	} while (time < $until);
	fail($name);
	diag("waited in vain for $query, last answer: " . encode_json(\@answer));
	diag(map { (split /\n/, slurp_file($_))[-1] . "\n" } grep { -s } glob "$folder/*.log");
	return;
}

my %job = (text => '', postgres_exporter => '', sql_exporter => 'sql_');
foreach my $job (sort keys %job)
{
	my $prefix = $job{$job};

	becomes("${prefix}noisy_active_runs{job=\"$job\"}", sub { $_[0] == 1 }, "$job: Prometheus knows that a run is on");
	becomes("${prefix}noisy_live_transactions_per_second{job=\"$job\"}", sub { $_[0] > 0 }, "$job: and its throughput of the second");
	becomes("${prefix}noisy_live_blocks{job=\"$job\"}", sub { $_[0] == 3 }, "$job: and its blocks");
	becomes("${prefix}noisy_run_info{job=\"$job\",role=\"live\",run_id=\"$live\"}", sub { $_[0] == 1 }, "$job: and its id");
	becomes("count(${prefix}noisy_wal_bytes_total{job=\"$job\"})", sub { $_[0] == 4 }, "$job: and the latest run");
}
lint(scrape_text(), 'the text while a run is on');

# Every sample, compared with the view.
my @samples = map { [ split /\t/, $_, 4 ] } split /\n/, $node->safe_psql('postgres', q{
	SELECT concat_ws(E'\t', type, series, labels, value) FROM noisy_metrics
	 WHERE metric NOT LIKE 'noisy\_live%' AND metric NOT LIKE 'noisy\_run%'});
cmp_ok(scalar(@samples), '>', 200, 'there are samples of the completed run');
foreach my $job (sort keys %job)
{
	my $until = time + $NoisyTest::patience_s;
	my @missing;

	# A scrape that did not finish in time leaves a gap.
	do { sleep(0.5) if @missing; @missing = missing_samples($job) } while (@missing && time < $until);
	ok(!@missing, "$job: every sample of noisy_metrics is in Prometheus, with its value") or diag(join("\n", grep { defined } @missing[ 0 .. 9 ]));
}

# Samples that Prometheus does not have from a job, or has with another value.
sub missing_samples
{
	my ($job) = @_;
	my (@missing, %answers);

	foreach my $sample (@samples)
	{
		my ($type, $series, $labels, $value) = @$sample;
		my %labels = %{ decode_json($labels) };

		# Prometheus writes bounds in its own way.
		$labels{le} = $labels{le} eq '+Inf' ? '+Inf' : $labels{le} + 0 if defined $labels{le};
		$answers{$series} //= [ ask("$job{$job}${series}{job=\"$job\"}") ];
		my ($found) = grep {
			my $got = $_->{metric};
			!grep { !defined $got->{$_} || ($_ eq 'le' && $got->{le} ne '+Inf' ? $got->{le} + 0 : $got->{$_}) ne $labels{$_} } keys %labels
		} @{ $answers{$series} };
		push @missing, "$series $labels $value" . ($found ? ", but $found->{value}" : '')
		  unless $found && abs($found->{value} - $value) <= 1e-9 * abs($value);
	}
	return @missing;
}

# What the histogram is for.
foreach my $job (qw(text postgres_exporter))
{
	my ($answer) = ask("histogram_quantile(0.95, noisy_latency_seconds_bucket{job=\"$job\",clients=\"2\",level=\"0\"})");
	my $range = $node->safe_psql('postgres', qq{
		SELECT max(bound) FILTER (WHERE bound <= p95_ms) / 1000, min(bound) FILTER (WHERE bound >= p95_ms * 0.99) / 1000
		  FROM noisy_results, unnest(noisy_latency_bounds_ms()) AS bound WHERE run_id = $run AND clients = 2 AND level = 0 GROUP BY p95_ms});
	my ($low, $high) = split /\|/, $range;

	ok($answer && $answer->{value} >= $low * 0.99 && $answer->{value} <= $high,
		"$job: histogram_quantile() of Prometheus gives the bucket of the 95th percentile")
	  or diag(encode_json([ $answer, $range ]));
}
my $postgres_text = join '', map { "$_\n" } grep { /^(# \w+ )?noisy_/ } split /\n/, $http->get("http://127.0.0.1:$port{postgres}/metrics")->{content};
lint($postgres_text, 'what postgres_exporter makes of it');

$node->safe_psql('postgres', 'SELECT noisy_stop()');
foreach my $job (sort keys %job)
{
	becomes("$job{$job}noisy_active_runs{job=\"$job\"}", sub { $_[0] == 0 }, "$job: Prometheus knows that the run has ended");
}

END
{
	my $status = $?;

	kill 'TERM', $text_pid if $text_pid;
	waitpid $text_pid, 0 if $text_pid;
	$_->kill_kill(grace => 3) foreach @children;
	$? = $status;
}

$node->stop;
done_testing();
