# What a database knows of the extension, as text without OIDs, so that two databases can be
# compared: every object with all that can be said of it.

package NoisyCatalog;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(catalog);

# Members of the extension.
my $members = q{
	(SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
	  WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'pg_noisyneighbor')};
my $relations = qq{
	(SELECT c.* FROM $members m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND m.objid = c.oid)};

# Privileges in an order of their own.
sub acl
{
	my ($acl) = @_;

	return "(SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest($acl) a)";
}

# Name of a class of facts => query.  A fact is one line.
my %facts = (
	'functions and procedures' => qq{
		SELECT p.oid::regprocedure, p.prokind, p.provolatile, p.proisstrict, p.proparallel, p.prosecdef, p.proleakproof,
			   p.procost, p.prorows, p.prosupport, p.proconfig, p.probin, } . acl('p.proacl') . qq{,
			   CASE WHEN p.prokind <> 'a' THEN pg_get_functiondef(p.oid) END
		  FROM $members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid},
	'aggregates' => qq{
		SELECT a.aggfnoid::regprocedure, to_jsonb(a) - 'aggtranstype' - 'aggmtranstype' - 'aggfnoid' - 'aggsortop',
			   a.aggtranstype::regtype, a.aggmtranstype::regtype, a.aggsortop::regoperator,
			   pg_get_function_arguments(a.aggfnoid)
		  FROM $members m JOIN pg_aggregate a ON m.classid = 'pg_proc'::regclass AND m.objid = a.aggfnoid},
	'types' => qq{
		SELECT t.oid::regtype, to_jsonb(t) - 'oid' - 'typnamespace' - 'typowner' - 'typrelid' - 'typelem' - 'typarray'
				   - 'typbasetype' - 'typacl',
			   t.typelem::regtype, t.typarray::regtype, t.typbasetype::regtype, } . acl('t.typacl') . qq{,
			   (SELECT array_agg(enumlabel ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid)
		  FROM $members m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND m.objid = t.oid},
	'tables, views and sequences' => qq{
		SELECT c.oid::regclass, c.relkind, c.relpersistence, c.reloptions, c.relrowsecurity, c.relreplident,
			   c.relnatts, c.relhasrules, c.relhastriggers, } . acl('c.relacl') . qq{, to_jsonb(s) - 'seqrelid' - 'seqtypid'
		  FROM $relations c LEFT JOIN pg_sequence s ON s.seqrelid = c.oid},
	'columns' => qq{
		SELECT c.oid::regclass, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
			   format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attstorage,
			   a.attcompression, a.attcollation::regcollation,
			   -- since the minor releases of November 2026 every column has a stamp among its options
			   (SELECT array_agg(o) FROM unnest(a.attoptions) o WHERE o NOT LIKE 'pg_attver=%'), } . acl('a.attacl') . qq{,
			   pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)
		  FROM $relations c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum},
	'definitions of views' => qq{
		SELECT c.oid::regclass, pg_get_viewdef(c.oid) FROM $relations c WHERE c.relkind IN ('v', 'm')},
	'constraints' => qq{
		SELECT c.oid::regclass, k.conname, k.convalidated, k.condeferrable, pg_get_constraintdef(k.oid),
			   obj_description(k.oid, 'pg_constraint')
		  FROM $relations c JOIN pg_constraint k ON k.conrelid = c.oid},
	'indexes' => qq{
		SELECT pg_get_indexdef(i.indexrelid), i.indisprimary, i.indisvalid, i.indisclustered, i.indisreplident
		  FROM $relations c JOIN pg_index i ON i.indrelid = c.oid},
	'triggers' => qq{
		SELECT pg_get_triggerdef(t.oid), t.tgenabled, obj_description(t.oid, 'pg_trigger')
		  FROM $relations c JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal},
	'rules and policies' => qq{
		SELECT pg_get_ruledef(r.oid), r.ev_enabled, obj_description(r.oid, 'pg_rewrite')
		  FROM $relations c JOIN pg_rewrite r ON r.ev_class = c.oid AND r.rulename <> '_RETURN'
		UNION ALL SELECT format('%s %s', c.oid::regclass, p.polname), p.polcmd, p.polroles::text
		  FROM $relations c JOIN pg_policy p ON p.polrelid = c.oid},
	'members and their comments' => qq{
		SELECT pg_describe_object(m.classid, m.objid, 0),
			   obj_description(m.objid, (SELECT relname FROM pg_class WHERE oid = m.classid))
		  FROM $members m},
	# pg_dump writes only what differs from these.
	'initial privileges' => qq{
		SELECT pg_describe_object(i.classoid, i.objoid, i.objsubid), i.privtype, } . acl('i.initprivs') . qq{
		  FROM $members m JOIN pg_init_privs i ON i.classoid = m.classid AND i.objoid = m.objid},
	'dependencies' => qq{
		SELECT pg_describe_object(d.classid, d.objid, d.objsubid), d.deptype,
			   pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)
		  FROM $members m JOIN pg_depend d ON d.classid = m.classid AND d.objid = m.objid},
	'tables to dump and properties of the extension' => q{
		SELECT e.extversion, e.extrelocatable, e.extnamespace::regnamespace, t.oid::regclass, e.extcondition[t.n],
			   obj_description(e.oid, 'pg_extension')
		  FROM pg_extension e, unnest(e.extconfig) WITH ORDINALITY t (oid, n) WHERE e.extname = 'pg_noisyneighbor'});

# class of facts => reference to a sorted list of facts.
sub catalog
{
	my ($node, $database) = @_;
	my %catalog;

	foreach my $class (sort keys %facts)
	{
		my $lines = $node->safe_psql($database,
			"SET search_path = ''; SELECT replace(f::text, E'\\n', ' ') FROM ("
			  . ($facts{$class} =~ s/'(pg_[a-z_]+)'::regclass/'pg_catalog.$1'::regclass/gr)
			  . ') f ORDER BY 1');

		$catalog{$class} = [ split /\n/, $lines ];
	}
	return \%catalog;
}

1;
