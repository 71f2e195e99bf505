# A Chromium without a window, by its debugging protocol over two pipes: JSON with a NUL behind each message.

package NoisyBrowser;

use strict;
use warnings;

use Fcntl qw(F_DUPFD);
use IO::Handle;
use IO::Select;
use JSON::PP;
use NoisyPrograms;
use POSIX ();
use Time::HiRes qw(time);

our $reason;

# A program that runs here: one in the path, else that of the Debian package, unpacked below $folder.  Undefined: $reason says why.
sub find
{
	my ($folder) = @_;

	foreach my $name (qw(chromium chromium-browser google-chrome))
	{
		my ($found) = grep { -x $_ } map { "$_/$name" } split /:/, $ENV{PATH};
		return $found if $found;
	}
	if (!find_programs($folder, 'chromium' => 'chromium'))
	{
		$reason = $NoisyPrograms::reason;
		return;
	}
	my $program = "$folder/usr/lib/chromium/chromium";
	my @missing = `ldd $program 2>&1` =~ /(\S+) => not found/g;
	if (!-x $program || @missing)
	{
		$reason = "the package chromium does not run here: " . (@missing ? "there is no @missing" : 'it has another form');
		return;
	}
	return $program;
}

# Start it, with a page of its own. Its files are in $folder.
sub start
{
	my ($class, $program, $folder) = @_;

	pipe(my $their_in, my $in) or die $!;
	pipe(my $out, my $their_out) or die $!;
	my $pid = fork // die $!;
	if (!$pid)
	{
		$ENV{HOME} = $folder;
		open STDOUT, '>', "$folder/browser.log" or POSIX::_exit(1);
		open STDERR, '>&', \*STDOUT or POSIX::_exit(1);
		# 3 and 4 may be the ends themselves: move them out of the way first
		my ($from, $to) = map { fcntl($_, F_DUPFD, 10) } $their_in, $their_out;
		POSIX::dup2($from, 3);
		POSIX::dup2($to, 4);
		exec $program, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions',
		  '--disable-background-networking', "--user-data-dir=$folder/profile", '--remote-debugging-pipe', 'about:blank'
		  or POSIX::_exit(1);
	}
	close $their_in;
	close $their_out;
	$in->autoflush(1);
	my $self = bless { pid => $pid, in => $in, out => $out, buffer => '', next => 1, events => [] }, $class;

	my $target = $self->call('Target.createTarget', { url => 'about:blank' })->{targetId};
	$self->{session} = $self->call('Target.attachToTarget', { targetId => $target, flatten => JSON::PP::true })->{sessionId};
	$self->call($_, {}) foreach qw(Page.enable Runtime.enable Log.enable Network.enable);
	return $self;
}

# The next message, or nothing after so many seconds
sub receive
{
	my ($self, $seconds) = @_;
	my $until = time + $seconds;

	while ($self->{buffer} !~ /\0/)
	{
		my $left = $until - time;
		return if $left <= 0 || !IO::Select->new($self->{out})->can_read($left);
		sysread($self->{out}, $self->{buffer}, 65536, length $self->{buffer}) or die "the browser has gone";
	}
	$self->{buffer} =~ s/^([^\0]*)\0//;
	return decode_json($1);
}

# Call a method and return its result; events that come meanwhile are kept.
sub call
{
	my ($self, $method, $params) = @_;
	my $id = $self->{next}++;
	my %message = (id => $id, method => $method, params => $params);

	$message{sessionId} = $self->{session} if $self->{session};
	print { $self->{in} } encode_json(\%message), "\0";
	while (my $answer = $self->receive(60))
	{
		if (($answer->{id} // 0) != $id)
		{
			push @{ $self->{events} }, $answer;
			next;
		}
		die "$method: $answer->{error}{message}" if $answer->{error};
		return $answer->{result};
	}
	die "no answer to $method";
}

# Value of an expression in the page
sub value
{
	my ($self, $expression) = @_;
	my $result = $self->call('Runtime.evaluate', { expression => $expression, returnByValue => JSON::PP::true });

	die "$expression: $result->{exceptionDetails}{exception}{description}" if $result->{exceptionDetails};
	return $result->{result}{value};
}

sub open_page
{
	my ($self, $url) = @_;

	$self->call('Page.navigate', { url => $url });
	foreach (1 .. 600)
	{
		return if $self->value('document.readyState + location.href') eq "complete$url";
		Time::HiRes::sleep(0.1);
	}
	die "$url does not load";
}

# Errors that the page has made so far, and what it has asked the network for
sub complaints
{
	my ($self) = @_;

	return map { $_->{params}{exceptionDetails}{text} // $_->{params}{entry}{text} // 'console: ' . $_->{params}{args}[0]{value} }
	  grep { $_->{method} =~ /^(Runtime\.exceptionThrown|Log\.entryAdded|Runtime\.consoleAPICalled)$/ } @{ $self->{events} };
}

sub requests
{
	my ($self) = @_;

	return map { $_->{params}{request}{url} } grep { $_->{method} eq 'Network.requestWillBeSent' } @{ $self->{events} };
}

sub stop
{
	my ($self) = @_;

	kill 'TERM', $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

1;
