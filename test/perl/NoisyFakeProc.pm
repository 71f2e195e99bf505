# A /proc of which a test decides how busy the host is: everything in it is the real one's, but for the CPU times of
# /proc/stat.  So what others do to the machine that the tests run on is not in the figures.
#
# A child keeps it up to date until the test ends.

package NoisyFakeProc;

use strict;
use warnings;

use POSIX ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);

my $tick_s = 1 / POSIX::sysconf(POSIX::_SC_CLK_TCK());

# Make it in a folder that exists.  The host is idle at first.
sub new
{
	my ($class, $folder) = @_;
	my $self = bless { folder => $folder, cpus => scalar(grep { /^cpu\d/ } read_lines('/proc/stat')) }, $class;

	mkdir "$folder/proc" or die "cannot create $folder/proc: $!";
	$self->be_busy(0);
	$self->refresh(0, 0);
	my $parent = $$;
	$self->{pid} = fork() // die "cannot fork: $!";
	return $self if $self->{pid} != 0;

	my ($busy_s, $idle_s, $before) = (0, 0, clock_gettime(CLOCK_MONOTONIC));
	while (getppid() == $parent)
	{
		sleep(0.02);
		my $now = clock_gettime(CLOCK_MONOTONIC);
		my $busy = ((read_lines("$folder/busy"))[0] // 0) / 100;

		$busy_s += $busy * ($now - $before) * $self->{cpus};
		$idle_s += (1 - $busy) * ($now - $before) * $self->{cpus};
		$before = $now;
		$self->refresh($busy_s, $idle_s);
	}
	POSIX::_exit(0);
}

# For pg_noisyneighbor.proc_path
sub path
{
	return $_[0]->{folder} . '/proc';
}

# From now on so many percent of the host's CPU time are used.
sub be_busy
{
	my ($self, $percent) = @_;

	replace("$self->{folder}/busy", "$percent\n");
	return;
}

sub end
{
	my ($self) = @_;

	kill 'KILL', $self->{pid};
	waitpid($self->{pid}, 0);
	return;
}

sub read_lines
{
	my ($path) = @_;

	open(my $file, '<', $path) or return;
	return <$file>;
}

sub replace
{
	my ($path, $text) = @_;

	open(my $file, '>', "$path.new") or die "cannot write $path: $!";
	print $file $text;
	close($file);
	rename("$path.new", $path) or die "cannot rename $path: $!";
	return;
}

sub refresh
{
	my ($self, $busy_s, $idle_s) = @_;
	my $path = $self->path;

	replace("$path/stat", sprintf("cpu  %d 0 0 %d 0 0 0 0 0 0\n", $busy_s / $tick_s, $idle_s / $tick_s)
		  . join('', map { sprintf("cpu%d %d 0 0 %d 0 0 0 0 0 0\n", $_, $busy_s / $tick_s / $self->{cpus}, $idle_s / $tick_s / $self->{cpus}) }
			  0 .. $self->{cpus} - 1));
	opendir(my $real, '/proc') or die "cannot read /proc: $!";
	foreach my $name (readdir($real))
	{
		symlink("/proc/$name", "$path/$name") if $name !~ /^\.|^stat$/ && !-l "$path/$name";
	}
	return;
}

1;
