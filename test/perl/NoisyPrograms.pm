# Programs of other projects that a test needs and that nobody has to install: one that is in the path, else that of a Debian
# package, which is fetched and unpacked below a folder of the test's, as an ordinary user.

package NoisyPrograms;

use strict;
use warnings;

use Cwd ();
use Exporter 'import';

our @EXPORT = qw(find_programs);

# find_programs($folder, program => package, …): program => path of each, or nothing and the reason in $NoisyPrograms::reason.
our $reason;

sub find_programs
{
	my ($folder, %package) = @_;
	my (%path, %missing);

	foreach my $program (sort keys %package)
	{
		my ($found) = grep { -x $_ } map { "$_/$program" } split /:/, $ENV{PATH};

		$path{$program} = $found;
		$missing{ $package{$program} } = 1 if !$found;
	}
	return %path if !%missing;

	my @packages = sort keys %missing;
	my $before = Cwd::getcwd();

	mkdir $folder;
	chdir $folder or die "cannot change to $folder: $!";
	my $output = `timeout 120 apt-get -q download @packages 2>&1 </dev/null`;
	my @archives = glob '*.deb';

	if (@archives == @packages)
	{
		$output .= `dpkg-deb -x $_ . 2>&1` foreach @archives;
		unlink @archives;
	}
	chdir $before;
	foreach my $program (grep { !$path{$_} } keys %path)
	{
		$path{$program} = "$folder/usr/bin/$program";
		if (!-x $path{$program})
		{
			$reason = "no \"$program\": the package $package{$program} cannot be had: " . ((grep { /^E:|not found/ } split /\n/, $output)[0] // 'no reason given');
			return;
		}
	}
	return %path;
}

1;
