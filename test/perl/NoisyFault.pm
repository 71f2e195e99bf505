# What the tests of faults share: taking something away from a process of the server, and what is true
# after each fault.

package NoisyFault;

use strict;
use warnings;

use Exporter 'import';
use NoisyTest;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(can_limit limit unlimit start_time check_end);

# Limits of resources are set by a program of util-linux.
sub can_limit
{
	return system('prlimit --version >/dev/null 2>&1') == 0;
}

# Lower a limit of processes that run ("fsize" or "as", bytes), so that unlimit() can raise it again.
sub limit
{
	my ($resource, $bytes, @pids) = @_;

	foreach my $pid (@pids)
	{
		system('prlimit', "--pid=$pid", "--$resource=$bytes:") == 0 or die "cannot limit $resource of process $pid";
	}
	return;
}

# Processes that are gone have no limits either.
sub unlimit
{
	my ($resource, @pids) = @_;

	system("prlimit --pid=$_ --$resource=unlimited: 2>/dev/null") foreach @pids;
	return;
}

# Changes when the server restarts itself because a process of it has crashed.
sub start_time
{
	my ($node) = @_;

	return $node->safe_psql('postgres', q{SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
}

# What is true after every fault that ends a run: no CPU is burnt, the state is right, the next run works.
sub check_end
{
	my ($load, $name, $state, $error) = @_;

	is_quiet($load, $name);
	if ($load->{session})
	{
		ok(defined finish_sql($load->{session}), "$name: the caller gets an answer");
		like($load->{session}{err}, $error, "$name: the caller is told") if $error;
	}
	nobody_left_behind($load->{node}, $name);
	like(run_state($load), $state, "$name: the state says so");
	next_run_completes($load->{node}, $name, $load->{database});
	return;
}

1;
