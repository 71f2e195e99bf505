# A run takes all that it needs, or nothing: the error says what is missing, needed and free.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use NoisyTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('limits', 'max_connections = 20', 'superuser_reserved_connections = 3',
	'max_worker_processes = 4', 'max_wal_senders = 0', 'max_logical_replication_workers = 0');
make_tables($node);
my $small = q{duration => '300 ms', warmup => '0 s', repeats => 1, noise => '{cpu}', noise_options => '{"cpu": {"workers": 6}}'};

# The call fails with the error, and nothing is left.
sub refused
{
	my ($call, $error, $name, @before) = @_;
	my ($status, $stdout, $stderr) = $node->psql('postgres', join('', map { "$_;\n" } @before) . "SELECT $call");

	like($stderr, $error, $name);
	nobody_left_behind($node, $name);
	is($node->safe_psql('postgres', q{SELECT count(*) FROM noisy_runs WHERE state <> 'completed'}), '0', "$name: no run is recorded");
	return;
}

# Worker slots
my $id = $node->safe_psql('postgres', "SELECT noisy_run('select-only', '{1}', '{0,20}', $small)");
is($node->safe_psql('postgres', "SELECT parameters ->> 'noise_processes', count(*) FROM noisy_runs JOIN noisy_dose USING (run_id)
	WHERE run_id = $id AND block = 2 GROUP BY 1"), '1|6', 'six load threads live in the one slot that is left');
$node->append_conf('postgresql.conf', 'max_worker_processes = 3');
$node->restart;
refused("noisy_run('select-only', '{1}', '{0,20}', $small)",
	qr/not enough background worker slots.*Needed 4, free 3; max_worker_processes is 3.*Raise max_worker_processes/s,
	'too few worker slots');
$id = $node->safe_psql('postgres', "SELECT noisy_run('select-only', '{1}', '{0}', $small)");
is($node->safe_psql('postgres', "SELECT state FROM noisy_runs WHERE run_id = $id"), 'completed', 'a run without noise takes one slot less');
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
refused(q{noisy_load('{cpu}', 10, '1 s')}, qr/not enough background worker slots.*Needed 3, free 0; max_worker_processes is 0/s, 'no worker slots at all');
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->restart;

# Connections
refused("noisy_run('select-only', '{20}', '{0,20}', $small)",
	qr/not enough connections for 20 clients.*Needed 20, free \d+; max_connections is 20.*Ask for fewer clients/s,
	'too few connections');
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN; GRANT EXECUTE ON FUNCTION noisy_run, noisy_start TO plain; GRANT ALL ON ALL TABLES IN SCHEMA public TO plain');
refused("noisy_run('select-only', '{17}', '{0}', $small)", qr/not enough connections for 17 clients.*Needed 17, free 1[0-6]/s,
	'connections that are reserved for superusers are not for others', 'SET ROLE plain');
$id = $node->safe_psql('postgres', "SET ROLE plain; SELECT noisy_run('select-only', '{10}', '{0}', $small)");
is($node->safe_psql('postgres', "SELECT state, role_name FROM noisy_runs WHERE run_id = $id"), 'completed|plain', 'as many as there are work');

# Limits that only the connection itself meets
$node->safe_psql('postgres', 'ALTER ROLE plain CONNECTION LIMIT 3');
refused("noisy_run('select-only', '{5}', '{0}', $small)", qr/could not connect [1-5] of 5 clients.*too many connections for role "plain"/s,
	'a connection limit of the role', 'SET ROLE plain');
$node->safe_psql('postgres', 'ALTER ROLE plain CONNECTION LIMIT -1; ALTER DATABASE postgres CONNECTION LIMIT 6');
refused("noisy_run('select-only', '{8}', '{0}', $small)", qr/could not connect [1-8] of 8 clients.*too many connections for database/s,
	'a connection limit of the database', 'SET ROLE plain');
$node->safe_psql('postgres', 'ALTER DATABASE postgres CONNECTION LIMIT -1');

# pg_hba.conf
my $hba = $node->data_dir . '/pg_hba.conf';
my $rules = slurp_file($hba);
open(my $file, '>', $hba) or die $!;
print $file "local all plain scram-sha-256\n$rules";
close $file;
$node->reload;
refused("noisy_run('select-only', '{2}', '{0}', $small)", qr/could not connect 2 of 2 clients.*password/s, 'a role that needs a password', 'SET ROLE plain');
$node->safe_psql('postgres', q{ALTER ROLE plain PASSWORD 'topsecret'});
local $ENV{PGPASSWORD} = 'topsecret';
refused("noisy_run('select-only', '{2}', '{0}', $small)", qr/could not connect 2 of 2 clients.*password/s, 'a password of the environment is not used', 'SET ROLE plain');

# Tables that are not as they should be
$node->safe_psql('postgres', 'REVOKE SELECT ON pgbench_accounts FROM plain; TRUNCATE pgbench_branches');
refused("noisy_run('select-only', '{2}', '{0}', $small)", qr/pgbench_branches.*empty/s, 'empty tables');
$node->safe_psql('postgres', 'DROP TABLE pgbench_branches');
refused("noisy_run('tpcb-like', '{2}', '{0}', $small)", qr/tables of workload "tpcb-like" are missing.*pgbench_branches.*noisy_workload_init/s, 'a table that is missing');

next_run_completes($node, 'after all that');
$node->stop;
done_testing();
