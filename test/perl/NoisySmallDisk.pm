# A small disk and a small /dev/shm for a test, without any privilege: "use NoisySmallDisk" runs the program in
# a mount namespace of its own, where $disk is the path of the one and /dev/shm is the other. Both vanish with the namespace.
#
# Has to be used before PostgreSQL's test modules, which redirect the output of a program when it starts. $disk is
# undefined where the machine does not allow such namespaces.

package NoisySmallDisk;

use strict;
use warnings;

use File::Temp ();

our $disk = $ENV{NN_SMALL_DISK};

my $mount = 'mount -t tmpfs -o size=48m,mode=700 small "$NN_SMALL_DISK" && mount -t tmpfs -o size=8m,mode=1777 small /dev/shm';
my @as_root = qw(unshare --user --map-root-user --mount sh -c);
my @as_myself = ('--user', "--map-user=$<", '--map-group=' . (split / /, $()[0]);

sub import
{
	return if $disk;
	local $ENV{NN_SMALL_DISK} = File::Temp::tempdir();
	if (system(@as_root, "($mount && unshare \"\$@\" true) 2>/dev/null", 'sh', @as_myself) == 0)
	{
		my $status = system(@as_root, "$mount && exec unshare \"\$@\"", 'sh', @as_myself, $^X, $0);

		rmdir $ENV{NN_SMALL_DISK};
		exit($status & 127 ? 1 : $status >> 8);
	}
	rmdir $ENV{NN_SMALL_DISK};
	return;
}

1;
