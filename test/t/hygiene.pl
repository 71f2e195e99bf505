# What every object of the extension owes its users: a comment, safe privileges, a place in the
# documentation; and no assumption about the schema.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $docs = 'docs';

my $node = PostgreSQL::Test::Cluster->new('hygiene');
$node->init;
$node->start;

# A schema that is neither "public" nor in anybody's search_path, with a name that needs quotes.
$node->safe_psql('postgres', 'CREATE SCHEMA "Noisy 1"');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_noisyneighbor SCHEMA "Noisy 1"');
$node->safe_psql('postgres', 'CREATE ROLE nobody_special; CREATE ROLE watcher IN ROLE pg_monitor');

# Lines of a query's result.
sub rows
{
	return split(/\n/, $node->safe_psql('postgres', $_[0]));
}

# Passes when there are no faults; shows them otherwise.
sub none
{
	my ($name, @faults) = @_;

	ok(!@faults, $name) or diag(join("\n", @faults));
	return;
}

sub slurp
{
	my ($file) = @_;

	return -e "$docs/$file" ? slurp_file("$docs/$file") : '';
}

# Members of the extension.
my $members = q{
	(SELECT d.classid, d.objid
	   FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	  WHERE d.deptype = 'e' AND e.extname = 'pg_noisyneighbor')};

none(
	'every object has a comment',
	rows(qq{
	SELECT pg_describe_object(m.classid, m.objid, 0) FROM $members m
	 WHERE obj_description(m.objid, (SELECT relname FROM pg_class WHERE oid = m.classid)) IS NULL
	   AND NOT EXISTS (SELECT FROM pg_class c WHERE m.classid = 'pg_class'::regclass AND c.oid = m.objid
			AND c.relkind IN ('i', 't'))
	   -- array types and row types come with another object
	   AND NOT EXISTS (SELECT FROM pg_type t WHERE m.classid = 'pg_type'::regclass AND t.oid = m.objid
			AND (t.typcategory = 'A' OR (t.typrelid <> 0 AND
				(SELECT relkind FROM pg_class WHERE oid = t.typrelid) <> 'c')))
	 ORDER BY 1}));

none(
	'every column of a table or view has a comment',
	rows(qq{
	SELECT c.relname || '.' || a.attname FROM $members m
	  JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid AND c.relkind IN ('r', 'v', 'm')
	  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	 WHERE col_description(c.oid, a.attnum) IS NULL ORDER BY 1}));

none(
	'every name begins with noisy_',
	rows(qq{
	SELECT pg_describe_object(m.classid, m.objid, 0) FROM $members m
	 WHERE COALESCE((SELECT proname FROM pg_proc WHERE m.classid = 'pg_proc'::regclass AND oid = m.objid),
					(SELECT relname FROM pg_class WHERE m.classid = 'pg_class'::regclass AND oid = m.objid))
		   NOT LIKE 'noisy\\_%' ORDER BY 1}));

# Whatever loads, writes or connects is volatile.
none(
	'PUBLIC may execute no volatile function',
	rows(qq{
	SELECT p.oid::regprocedure FROM $members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
	 WHERE p.provolatile = 'v' AND p.prorettype <> 'trigger'::regtype
	   AND has_function_privilege('nobody_special', p.oid, 'EXECUTE') ORDER BY 1}));

none(
	'only the owner may change tables, or put triggers on them',
	rows(qq{
	SELECT c.relname || ' ' || privilege FROM $members m
	  JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid AND c.relkind IN ('r', 'v', 'm'),
	  unnest(ARRAY['nobody_special', 'watcher']) role,
	  unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) privilege
	 WHERE has_table_privilege(role, c.oid, privilege) ORDER BY 1}));

none(
	'pg_monitor may read every view and table, PUBLIC none',
	rows(qq{
	SELECT c.relname FROM $members m
	  JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid AND c.relkind IN ('r', 'v', 'm')
	 WHERE NOT has_table_privilege('watcher', c.oid, 'SELECT')
		OR has_table_privilege('nobody_special', c.oid, 'SELECT') ORDER BY 1}));

# Reading means executing, too: functions below a view run with the reader's rights.
my @unreadable;
foreach my $view (
	rows(qq{SELECT c.oid::regclass FROM $members m
	  JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid AND c.relkind IN ('r', 'v', 'm')}))
{
	my ($ret, $stdout, $stderr) =
	  $node->psql('postgres',
		qq{GRANT USAGE ON SCHEMA "Noisy 1" TO watcher; SET ROLE watcher; SELECT * FROM $view});
	push @unreadable, "$view: $stderr" if $ret != 0;
}
none('a member of pg_monitor can really select from every view and table', @unreadable);

none(
	'every SECURITY DEFINER function pins its search_path',
	rows(qq{
	SELECT p.oid::regprocedure FROM $members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
	 WHERE p.prosecdef AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c
			WHERE c ~ '^search_path=pg_catalog,.*pg_temp\$') ORDER BY 1}));

none(
	'every table is kept by pg_dump',
	rows(qq{
	SELECT c.relname FROM $members m
	  JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid AND c.relkind IN ('r', 'S')
	 WHERE NOT c.oid = ANY (SELECT unnest(extconfig) FROM pg_extension WHERE extname = 'pg_noisyneighbor')
	 ORDER BY 1}));

# Documentation.
my $functions = slurp('functions.md');
my $views = slurp('views.md');
my $settings = slurp('settings.md');

none(
	'docs/functions.md names every function',
	grep { $functions !~ /\b\Q$_\E\b/ } rows(qq{
	SELECT DISTINCT p.proname FROM $members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
	 -- support functions of types and aggregates take or return what SQL cannot write
	 WHERE NOT ('{internal,cstring}'::regtype[] && (p.proargtypes::oid[] || p.prorettype)::regtype[])
	   AND p.prorettype <> 'trigger'::regtype
	   AND NOT EXISTS (SELECT FROM pg_type WHERE typsend = p.oid)
	   -- parts of noisy_report
	   AND p.proname !~ '^noisy_report_(?!html)' ORDER BY 1}));

ok( $node->safe_psql('postgres', slurp_file("$docs/views.sql")) . "\n" eq $views,
	'docs/views.md says what the comments in the catalog say ("make docs" writes it)');

# The library defines the settings when a function of it is first called.
none(
	'docs/settings.md names every setting with its default',
	grep {
		my ($name, $default) = split /\|/;
		$settings !~ /^\| `\Q$name\E` \| `?\Q$default\E`? \|/m
	} rows(q{LOAD 'pg_noisyneighbor';
		SELECT name, COALESCE(NULLIF(current_setting(name), ''), '''''') FROM pg_settings
		 WHERE name LIKE 'pg\_noisyneighbor.%' ORDER BY 1}));

# The end.
$node->safe_psql('postgres', 'DROP EXTENSION pg_noisyneighbor');
is( $node->safe_psql('postgres', q{
	SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'noisy%')
		 + (SELECT count(*) FROM pg_proc WHERE proname LIKE 'noisy%')
		 + (SELECT count(*) FROM pg_type WHERE typname LIKE '%noisy%')}),
	'0', 'DROP EXTENSION leaves nothing behind');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_noisyneighbor');
is($node->safe_psql('postgres', 'SELECT count(*) FROM noisy_runs'),
	'0', 'the extension can be created again, without preloading and without a restart');

$node->stop;
done_testing();
