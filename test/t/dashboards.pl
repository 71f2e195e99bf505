# The dashboards of docs/grafana on a server with real runs: every query is carried out as Grafana would, by a reader of
# pg_monitor, with the extension in a schema of its own.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use IPC::Run ();
use JSON::PP;
use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

$ENV{PYTHONDONTWRITEBYTECODE} = 1;

#
# The files
#

is(`docs/grafana/generate --check 2>&1`, '', 'the JSON files are those that docs/grafana/generate writes');
my %board = map { m{(\w+)\.json$} => decode_json(slurp_file($_)) } glob 'docs/grafana/*.json';
is(join(' ', sort keys %board), 'calibrations host live runs', 'there are four dashboards');
my %uids;
foreach my $name (sort keys %board)
{
	my $board = $board{$name};
	my (@faults, %ids, %taken);
	my %declared = map { $_->{name} => 1 } @{ $board->{templating}{list} };
	my $text = slurp_file("docs/grafana/$name.json");

	push @faults, 'no input for the data source' unless grep { $_->{name} eq 'DS_NOISYNEIGHBOR' && $_->{pluginId} eq 'postgres' } @{ $board->{__inputs} };
	push @faults, "uid $board->{uid} is not its own" if $uids{ $board->{uid} }++;
	push @faults, 'an id of one installation' if defined $board->{id};
	push @faults, "data source $1" while $text =~ /"uid": "(?!\$\{database\}|noisyneighbor-)([^"]*)"/g;
	push @faults, "variable $1 is not declared" while $text =~ /\$\{(?!__|DS_|database)(\w+)/g && !$declared{$1};
	foreach my $panel (@{ $board->{panels} })
	{
		my %at = %{ $panel->{gridPos} };

		push @faults, "$panel->{title}: id $panel->{id} is there twice" if $ids{ $panel->{id} }++;
		push @faults, "$panel->{title}: wider than the page" if $at{x} + $at{w} > 24;
		push @faults, "$panel->{title}: lies over another" if grep { $taken{$_}++ } map { my $x = $_; map { "$x $_" } $at{y} .. $at{y} + $at{h} - 1 } $at{x} .. $at{x} + $at{w} - 1;
		push @faults, "$panel->{title}: does not say why it is empty" if ($panel->{fieldConfig}{defaults}{noValue} // '') !~ /^\w.{20,}[.)]$/;
	}
	ok(!@faults, "$name: imports anywhere, declares its variables, lies side by side, says why a panel is empty") or diag(join("\n", @faults));
}

#
# A server with runs
#

my $node = PostgreSQL::Test::Cluster->new('dashboards');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\nwal_level = replica\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE SCHEMA "Noisy 1";
	CREATE EXTENSION pg_noisyneighbor SCHEMA "Noisy 1";
	CREATE ROLE viewer LOGIN IN ROLE pg_monitor;
	GRANT USAGE ON SCHEMA "Noisy 1" TO viewer;
	ALTER ROLE viewer SET search_path = "Noisy 1";
	ALTER ROLE viewer SET timezone = 'Asia/Kathmandu';
	ALTER DATABASE postgres SET search_path = public, "Noisy 1"});
make_tables($node);

my $options = q{noise => '{cpu}', noise_options => '{"cpu": {"workers": 1}}', warmup => '0 s'};
# A checkpoint that takes its time, in the middle of the run.
my $backup = background_sql($node, 'postgres', 'SELECT pg_sleep(5)', q{SELECT pg_backup_start('band')});
my $run = $node->safe_psql('postgres',
	qq{SELECT noisy_run('tpcb-like', '{1,2}', '{0,30}', $options, repeats => 1, duration => '3 s', label => 'a ''quoted'' label', options => '{"guard": false}')});
$node->safe_psql('postgres', q{SELECT noisy_calibrate('{cpu}', '100 ms', 2)});
my $live = $node->safe_psql('postgres', qq{SELECT noisy_start('select-only', '{1}', '{0,30}', $options, duration => '2 s', repeats => 200, options => '{"guard": false}')});
ok(wait_for_query($node, "SELECT count(*) > 1 FROM noisy_blocks WHERE run_id = $live"), 'a run is on, and has ended two blocks');

sub viewer
{
	my ($query) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $query, extra_params => [ '-U', 'viewer' ]);

	return ($out, $status == 0 ? '' : $err);
}

# What the dashboards ask for, expanded.
sub queries
{
	my ($from, $to, %variables) = @_;
	my $json = '';

	IPC::Run::run([ 'python3', 'test/grafana.py', $from, $to, '1s', encode_json(\%variables) ], '>', \$json, '2>&1') or BAIL_OUT($json);
	return @{ decode_json($json) };
}

# The answer to a query, as a list of rows, and the error.
sub answer
{
	my ($query) = @_;
	my ($out, $error) = viewer("SELECT coalesce(json_agg(to_json(q)), '[]') FROM ($query) AS q");

	return ($error ? [] : decode_json($out), $error);
}

my ($from, $to) = split /\|/, $node->safe_psql('postgres', "SELECT extract(epoch FROM min(started_at)) - 5, extract(epoch FROM clock_timestamp()) + 60 FROM noisy_runs");
my %variables = (run => [$run], clients => [ 1, 2 ], level => [ 0, 30 ], calibration => ['1'], probe => ['cpu']);
$_ = [ map { "$_" } @$_ ] foreach values %variables;
my %empty = map { $_ => [] } keys %variables;
my ($half) = $node->safe_psql('postgres', "SELECT extract(epoch FROM started_at) + 1 FROM noisy_blocks WHERE run_id = $run AND block = 2");

my @whole = queries($from, $to, %variables);
my @before = queries($from - 7200, $from - 3600, %variables);
my @part = queries($from, $half, %variables);
my @nothing_chosen = queries($from, $to, %empty);

foreach my $n (0 .. $#whole)
{
	my $query = $whole[$n];
	my $name = "$query->{dashboard}: $query->{title}";

	my @faults;
	my ($described, $error) = viewer("$query->{sql} \\gdesc");
	my @columns = map { [ split /\|/ ] } split /\n/, $described;
	my %type = map { @$_ } @columns;
	my ($rows, $late) = answer($query->{sql});

	push @faults, grep { $_ } $error, $late;
	push @faults, 'a time without a time zone' if grep { /^time(stamp(\(\d\))? without|\z)/ } values %type;
	# Not every host says where the time went.
	my $may_be_empty = $query->{what} eq 'annotation' && $query->{dashboard} eq 'live'
	  || $query->{sql} =~ /noisy_attribution/ && $node->safe_psql('postgres', 'SELECT count(*) FROM noisy_attribution') eq '0';
	push @faults, 'no rows' if !@$rows && !$error && !$late && !$may_be_empty;

	# What Grafana needs.
	if ($query->{what} eq 'time_series')
	{
		my @values = grep { $_ ne 'time' && $_ ne 'metric' } keys %type;

		push @faults, "time is $columns[0][1]" unless @columns && $columns[0][0] eq 'time' && $type{time} eq 'timestamp with time zone';
		push @faults, map { "$_ is $type{$_}" } grep { $type{$_} !~ /^(double precision|numeric|integer|bigint)$/ } @values;
		my @times = map { $_->{time} } @$rows;
		push @faults, 'not in the order of time' unless exists $type{metric} || join(' ', @times) eq join(' ', sort @times);
	}
	elsif ($query->{what} eq 'annotation')
	{
		push @faults, "columns are @{[%type]}"
		  unless $type{time} eq 'timestamp with time zone' && $type{timeend} eq 'timestamp with time zone' && $type{text} eq 'text' && $type{tags} eq 'text';
	}
	elsif ($query->{what} eq 'variable')
	{
		push @faults, 'columns are ' . join(' ', %type) unless keys %type == 1 || ($type{__value} // '') eq 'text' && ($type{__text} // '') eq 'text';
	}
	elsif (($query->{kind} // '') eq 'barchart')
	{
		push @faults, 'the first column is no text' unless $columns[0][1] eq 'text';
	}

	# Time.
	if ($query->{timed})
	{
		my ($earlier, $e1) = answer($before[$n]{sql});
		my ($some, $e2) = answer($part[$n]{sql});

		push @faults, grep { $_ } $e1, $e2;
		push @faults, 'rows from outside of the time range' if @$earlier;
		push @faults, 'a part of the range has not fewer rows' if $query->{what} eq 'time_series' && $query->{dashboard} =~ /^(runs|host)$/
		  && (@$some >= @$rows || !@$some);
	}

	# Before the first run.
	if (@{ $query->{chosen} })
	{
		my ($none, $e3) = answer($nothing_chosen[$n]{sql});

		push @faults, grep { $_ } $e3;
		push @faults, 'rows without a choice' if @$none;
	}
	ok(!@faults, $name) or diag(join("\n", @faults, $query->{sql}));
}

# With no run on, the live dashboard is empty.
$node->safe_psql('postgres', 'SELECT noisy_stop()');
ok(wait_for_query($node, 'SELECT count(*) = 0 FROM noisy_progress'), 'the run ends');
my @left = grep { my ($rows, $error) = answer($_->{sql}); @$rows || $error }
  grep { $_->{dashboard} eq 'live' && $_->{what} ne 'annotation' } queries($from, $to, %variables);
ok(!@left, 'live: everything is empty when no run is on') or diag(map { "$_->{title}\n" } @left);

# What a person reads in the run explorer is what the tables say.
my ($tps) = grep { $_->{dashboard} eq 'runs' && $_->{title} eq 'Throughput' } @whole;
my ($rows) = answer($tps->{sql});
is(scalar(@$rows), $node->safe_psql('postgres', "SELECT count(DISTINCT date_trunc('second', at)) FROM noisy_timeline WHERE run_id = $run"),
	'runs: throughput has a point for each second');
my ($share) = grep { $_->{title} eq 'Distribution of the latency' } @whole;
my ($sums, $error) = viewer("SELECT round(sum(\"without noise\")), round(sum(\"with noise\")) FROM ($share->{sql}) AS q");
is($sums, '100|100', 'runs: the shares of the distribution sum to 100 %') or diag($error);

$node->stop('fast');
finish_sql($backup);
done_testing();
