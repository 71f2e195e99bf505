# The HTML report of a real run in a browser: opened from a file with the network off, on a wide and a narrow screen, light, dark and on
# paper. Without a browser the page is still parsed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use MIME::Base64;
use NoisyBrowser;
use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('html');
make_tables($node);
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN IN ROLE pg_monitor');
my $run = $node->safe_psql('postgres', q{SELECT noisy_run('tpcb-like', '{1,2}', '{0,20,40}', noise_options => '{"cpu": {"workers": 1}, "memory": {"bytes": "8MB"}}',
	duration => '2 s', warmup => '0 s', repeats => 2, options => '{"guard": false}', label => '</script><img src=x onerror=alert(1)> & "quoted" ' || chr(8364))});

#
# The text
#

my $page = $node->safe_psql('postgres', "SET ROLE reader; SELECT noisy_report_html($run)");
like($page, qr/^<!DOCTYPE html>/, 'a member of pg_monitor gets the page');
like($page, qr/&lt;\/script&gt;.*&#8364;/, 'what is not ASCII is a reference');
my ($status, $out, $error) = $node->psql('postgres', "SELECT xmlparse(document noisy_report_html($run)) IS NOT NULL");
SKIP:
{
	skip 'the server was built without libxml', 1 if $error =~ /unsupported XML feature/;
	is("$error$out", 't', 'the page is well-formed XML');
}
SKIP:
{
	skip 'there is no locale with a decimal comma', 1 unless $ENV{NN_COMMA_LOCALE};
	is($node->safe_psql('postgres', "SET lc_numeric = '$ENV{NN_COMMA_LOCALE}'; SELECT noisy_report_html($run)"), $page,
		'the decimal point is a point under every lc_numeric');
}

#
# The page
#

my $folder = PostgreSQL::Test::Utils::tempdir();
my $program = NoisyBrowser::find("$folder/programs");
if (!$program)
{
	diag("the page was seen by no browser: $NoisyBrowser::reason");
	done_testing();
	exit 0;
}

my $file = "$folder/report.html";
PostgreSQL::Test::Utils::append_to_file($file, $page);
mkdir "$folder/browser";
my $browser = NoisyBrowser->start($program, "$folder/browser");
$browser->call('Network.emulateNetworkConditions', { offline => JSON::PP::true, latency => 0, downloadThroughput => 0, uploadThroughput => 0 });

sub screen
{
	my ($width, $media, $scheme) = @_;

	$browser->call('Emulation.setDeviceMetricsOverride', { width => $width, height => 900, deviceScaleFactor => 1, mobile => $width < 500 ? JSON::PP::true : JSON::PP::false });
	$browser->call('Emulation.setEmulatedMedia', { media => $media, features => [ { name => 'prefers-color-scheme', value => $scheme } ] });
	return;
}

screen(1280, 'screen', 'light');
$browser->open_page("file://$file");
is($browser->value('document.querySelectorAll("img").length'), 0, 'the label of the run made no element');
like($browser->value('document.querySelector(".sub").textContent'), qr/^<\/script><img src=x onerror=alert\(1\)> & "quoted" \x{20ac}/, 'it is shown as it is');
is($browser->value('document.querySelectorAll("section").length'), 12, 'every section is there');

my $seconds = $node->safe_psql('postgres', "SELECT count(tps) FROM noisy_timeline WHERE run_id = $run");
foreach my $line ('tps', 'latency')
{
	my $svg = "document.getElementById('r$run-" . substr($line, 0, 1) . "-t').parentNode";
	my $path = $line eq 'tps' ? 'path.mean' : 'g.log path.c2';

	is($browser->value("$svg.querySelector('$path').getAttribute('d').match(/[ML]/g).length"), $seconds, "the picture of $line has a point for each second");
}
my $cells = $node->safe_psql('postgres', "SELECT count(*) FROM noisy_results WHERE run_id = $run AND clients > 0");
is($browser->value("document.querySelectorAll('#r$run-latency circle').length"), 7 * $cells, 'the pictures of percentiles have seven points for each level');
is($browser->value("document.querySelectorAll('#r$run-curve circle').length"),
	$node->safe_psql('postgres', "SELECT 2 * count(*) FROM noisy_blocks WHERE run_id = $run AND accepted AND clients > 0"),
	'the curves have a dot for each block that counts');

# hover: the values are those of the second that is nearest
my $box = $browser->value("(function () { var svg = document.getElementById('r$run-t-t').parentNode; svg.scrollIntoView(); var b = svg.getBoundingClientRect();
	return {x: b.left + b.width * 0.6, y: b.top + b.height * 0.5}; }())");
$browser->call('Input.dispatchMouseEvent', { type => 'mouseMoved', x => $box->{x}, y => $box->{y} });
my $readout = $browser->value("document.querySelector('#r$run-time .readout').textContent");
like($readout, qr/^second \d+ . clients [12] . noise \d+.% . tps [\d.]+ . mean of 10 s [\d.]+$/, 'values appear under the pointer');
my ($second, $tps) = $readout =~ /^second (\d+).*tps ([\d.]+)/;
is($node->safe_psql('postgres', "SELECT count(*) FROM noisy_timeline t WHERE run_id = $run AND round(tps::numeric, 1) = $tps AND
		round((extract(epoch FROM at - (SELECT min(started_at) FROM noisy_blocks WHERE run_id = $run)) + 0.5)::numeric) = $second"), 1, 'they are those of the timeline');
$browser->value("document.getElementById('r$run-t-t').parentNode.focus()");
$browser->call('Input.dispatchKeyEvent', { type => 'keyDown', key => 'ArrowRight', code => 'ArrowRight' });
isnt($browser->value("document.querySelector('#r$run-time .readout').textContent"), $readout, 'and by the arrow keys');

# the switch
my $shown = "(function () { return ['lin', 'log'].filter(function (c) { return getComputedStyle(document.querySelector('#r$run-time g.' + c)).display !== 'none' }).join() }())";
is($browser->value($shown), 'log', 'latency is logarithmic at first');
$browser->value("document.querySelector('label[for=r$run-l-lin]').click()");
is($browser->value($shown), 'lin', 'and linear when it is asked for');
$browser->value("document.querySelector('label[for=r$run-l-log]').click()");

# screens and paper
my $overflow = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - document.documentElement.clientWidth';
foreach my $width (1280, 390)
{
	screen($width, 'screen', 'light');
	cmp_ok($browser->value($overflow), '<=', 0, "nothing overflows at $width pixels");
}
my $background = 'getComputedStyle(document.body).backgroundColor';
my $light = $browser->value($background);
screen(1280, 'screen', 'dark');
isnt($browser->value($background), $light, 'it is dark where the system is');
is($browser->value("(function () { function y(c) { return c.match(/[0-9]+/g).slice(0, 3).reduce(function (a, b) { return a + +b }, 0) }
	return y(getComputedStyle(document.body).color) > y($background) }())"), 1, 'with light text');
screen(720, 'print', 'dark');
is($browser->value($background), 'rgb(255, 255, 255)', 'paper is white, whatever the system is');
cmp_ok($browser->value($overflow), '<=', 0, 'nothing overflows on paper');
my $pdf = decode_base64($browser->call('Page.printToPDF', { printBackground => JSON::PP::true, preferCSSPageSize => JSON::PP::true })->{data});
like($pdf, qr/^%PDF-/, 'it can be printed');

is(join("\n", $browser->complaints), '', 'there is no error in the console');
is(join("\n", grep { !/^file:/ } $browser->requests), '', 'nothing was asked of the network');
$browser->stop;

done_testing();
