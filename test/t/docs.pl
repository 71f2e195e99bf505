# The examples of README and docs work: every block marked "sql" is run as it stands, but for the length of runs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $short = q{duration => '200 ms', warmup => '0 s', repeats => 1};
my $top = "$FindBin::RealBin/../..";

# [file:line, statements] of each block.  A synopsis, which begins with the name of a function, is none.
sub examples
{
	my ($file) = @_;
	my ($from, $block, @blocks);

	open(my $handle, '<', "$top/$file") or die "$file: $!";
	while (my $line = <$handle>)
	{
		if ($line =~ /^\s*```sql/)
		{
			($from, $block) = ($., '');
		}
		elsif ($line =~ /^\s*```/)
		{
			push @blocks, [ "$file:$from", $block ] if defined $block && $block !~ /^\s*noisy_/;
			undef $block;
		}
		elsif (defined $block)
		{
			$block .= $line;
		}
	}
	close $handle;
	return @blocks;
}

# Make runs short, whatever their lengths are.
sub shorten
{
	my ($sql) = @_;

	$sql =~ s/,?\s*(?:duration|warmup|repeats) => (?:'[^']*'|\d+)//g;
	$sql =~ s/(\bnoisy_(?:run|start)\((?:[^()']|'[^']*')*)\)/$1, $short)/g;
	$sql =~ s/(\bnoisy_calibrate\((?:[^()']|'[^']*')*)\)/$1, duration => '50 ms', repeats => 1)/g;
	$sql =~ s/\((\s*), /($1/g;
	$sql =~ s/'\d+ (?:s|min|h)'/'300 ms'/g;
	$sql =~ s/"\d+ (?:s|min|h)"/"1 s"/g;
	$sql =~ s/noisy_workload_init\(\d+\)/noisy_workload_init(1, true)/g;
	return $sql;
}

my $node = new_server('docs');
$node->safe_psql('postgres', 'CREATE ROLE tester; CREATE SCHEMA that_schema');
$node->safe_psql('postgres', "DROP EXTENSION pg_noisyneighbor");

my @files = map { s{^\Q$top\E/}{}r } "$top/README.md", sort glob "$top/docs/*.md";
my @examples = map { examples($_) } @files;
cmp_ok(scalar @examples, '>', 10, 'there are examples');
foreach my $example (@examples)
{
	my ($place, $sql) = @$example;
	my ($status, $stdout, $stderr) = $node->psql('postgres', "\\set run 1\n" . shorten($sql), on_error_stop => 1);

	is($status, 0, "$place: the example works") or diag(shorten($sql), $stderr);
	next unless $place =~ /README/;

	# what later examples speak of: runs 1 and 2, with a dose
	$node->safe_psql('postgres', "SELECT noisy_run(levels => '{0,30,40}', clients => '{8}', $short)")
	  if $sql =~ /noisy_run/ && $sql !~ /noisy_impact/;
}

$node->stop;
done_testing();
