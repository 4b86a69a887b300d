import { prepared, type Tx } from "../../src/postgres/database.ts";

interface Column {
  name: string;
  type: string;
  collation: string | null;
  notNull: boolean;
  defaultValue: string | null;
  generated: boolean;
  options: string[] | null;
  comment: string | null;
}

interface Table {
  name: string;
  unlogged: boolean;
  /** `partition by …`; null if the table is not partitioned. */
  partitionKey: string | null;
  /** The parent and `default` or `for values …`; null if the table is no partition. */
  partitionOf: string | null;
  options: string[] | null;
  comment: string | null;
  isForced: boolean;
  columns: Column[];
  constraints: string[];
  indexes: string[];
  policies: string[];
  rules: string[];
}

/** Partitions that the service makes and drops by date are no part of the schema. */
const TABLES = prepared(
  "schema_tables",
  `select c.relname::text as name, c.relpersistence = 'u' as unlogged, pg_get_partkeydef(c.oid) as "partitionKey",
     (select i.inhparent::regclass::text || ' ' || lower(pg_get_expr(c.relpartbound, c.oid)) from pg_inherits i where i.inhrelid = c.oid) as "partitionOf",
     c.reloptions as options, obj_description(c.oid, 'pg_class') as comment, c.relforcerowsecurity as "isForced",
     (select json_agg(json_build_object(
          'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
          'collation', (select l.collname from pg_collation l where l.oid = a.attcollation and l.collname <> 'default' and a.attcollation <> t.typcollation),
          'notNull', a.attnotnull, 'defaultValue', pg_get_expr(d.adbin, d.adrelid), 'generated', a.attgenerated <> '',
          'options', a.attoptions, 'comment', col_description(c.oid, a.attnum)) order by a.attnum)
        from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
     coalesce((select json_agg('constraint ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid) order by k.contype <> 'p', k.conname)
        from pg_constraint k where k.conrelid = c.oid and k.contype <> 'n'), '[]') as constraints,
     coalesce((select json_agg(pg_get_indexdef(i.indexrelid) order by i.indexrelid::regclass::text)
        from pg_index i where i.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))), '[]') as indexes,
     coalesce((select json_agg(format('create policy %I on %I%s using (%s)', p.polname, c.relname,
            case when p.polroles <> '{0}' then ' to current_user' || case when p.polroles @> array['dunlin_worker'::regrole]::oid[] then ', dunlin_worker' else '' end else '' end,
            pg_get_expr(p.polqual, p.polrelid)) order by p.polname)
        from pg_policy p where p.polrelid = c.oid), '[]') as policies,
     coalesce((select json_agg(pg_get_ruledef(r.oid) order by r.rulename) from pg_rewrite r where r.ev_class = c.oid), '[]') as rules
   from pg_class c
   where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace and c.relname <> 'schema_migrations'
     and (not c.relispartition or c.relname like '%\\_default')
   order by c.relispartition, c.relname`,
);

/**
 * Returns the schema of a database as SQL that creates it: tables, constraints, indexes, rules and policies, in the order of names.
 * Functions, triggers, sequences and types are not covered; the schema has none.
 */
export async function readSchemaText(owner: Tx): Promise<string> {
  const tables = (await owner.run<Table>(TABLES)).rows;
  return `${referencedFirst(tables).map(tableText).join("\n\n")}\n`;
}

/** Tables in the given order, except that a table comes after those that its foreign keys name. */
function referencedFirst(tables: readonly Table[]): Table[] {
  const ordered = new Set<Table>();
  const add = (table: Table) => {
    const referenced = table.constraints.flatMap((text) => /REFERENCES (\w+)/.exec(text)?.[1] ?? []);
    for (const other of tables) if (referenced.includes(other.name) && other !== table) add(other);
    ordered.add(table);
  };
  for (const table of tables) add(table);
  return [...ordered];
}

function tableText(table: Table): string {
  const { name, constraints, indexes, policies, rules, isForced, columns } = table;
  const isPartition = table.partitionOf !== null;
  const comments = [
    ...(table.comment === null ? [] : [`comment on table ${name} is ${literal(table.comment)};`]),
    ...columns.flatMap((column) =>
      column.comment === null ? [] : [`comment on column ${name}.${column.name} is ${literal(column.comment)};`],
    ),
  ];
  const columnOptions = columns.flatMap((column) =>
    column.options === null
      ? []
      : [`alter table ${name} alter column ${column.name} set (${column.options.join(", ")});`],
  );
  return [
    isPartition ? partitionText(table) : createText(table, constraints),
    ...columnOptions,
    // A partition gets the indexes of its parent.
    ...(isPartition ? [] : indexes.map((index) => `${readable(index)};`)),
    ...(isForced
      ? [`alter table ${name} enable row level security;`, `alter table ${name} force row level security;`]
      : []),
    ...rules.map((rule) => readable(rule)),
    ...policies.map((policy) => `${readable(policy)};`),
    ...comments,
  ].join("\n");
}

const partitionText = ({ name, partitionOf, options }: Table) =>
  `create table ${name} partition of ${partitionOf!.replace(" for values", "\n  for values")}${withText(options)};`;

function createText({ name, unlogged, partitionKey, options, columns }: Table, constraints: readonly string[]): string {
  const lines = [...columns.map(columnText), ...constraints.map(readable)];
  const partition = partitionKey === null ? "" : ` partition by ${partitionKey.toLowerCase()}`;
  return `create ${unlogged ? "unlogged " : ""}table ${name} (\n  ${lines.join(",\n  ")}\n)${partition}${withText(options)};`;
}

const withText = (options: string[] | null) => (options === null ? "" : ` with (${options.join(", ")})`);

function columnText({ name, type, collation, notNull, defaultValue, generated }: Column): string {
  const value = generated
    ? ` generated always as (${readable(defaultValue!)}) stored`
    : defaultValue === null
      ? ""
      : ` default ${readable(defaultValue)}`;
  return `${name} ${readable(type)}${collation === null ? "" : ` collate "${collation}"`}${notNull ? " not null" : ""}${value}`;
}

const TYPES: readonly (readonly [RegExp, string])[] = [
  [/timestamp with time zone/g, "timestamptz"],
  [/timestamp without time zone/g, "timestamp"],
  [/double precision/g, "float8"],
  [/\bbigint\b/g, "int8"],
  [/\binteger\b/g, "int4"],
  [/\bsmallint\b/g, "int2"],
];
const KEYWORDS =
  /\b(CREATE|RULE|UPDATE|TO|DO|INSTEAD|NOTHING|UNIQUE|INDEX|ON|ONLY|USING|WHERE|INCLUDE|WITH|PRIMARY KEY|FOREIGN KEY|REFERENCES|CHECK|AND|OR|NOT|NULL|IS|IN|ANY|ARRAY|TRUE|FALSE|NULLS|DISTINCT|FROM|DESC|ASC|FIRST|LAST|DEFAULT|DELETE|CASCADE|SET|CASE|WHEN|THEN|ELSE|END|BETWEEN|SELECT|AS|CURRENT_USER|COALESCE|NULLIF|AT TIME ZONE)\b/g;

/** Converts PostgreSQL's spelling of an expression to the style of our SQL: short types, lower case, no needless casts. */
function readable(text: string): string {
  const parts = text.split(/('(?:[^']|'')*'|"[^"]*")/);
  const plain = parts.map((part, index) => (index % 2 === 1 ? part : plainText(part))).join("");
  return plain
    .replace(/('(?:[^']|'')*')::(?:text|name)\b(?!\[)/g, "$1")
    .replace(/ not VALID$/, "")
    .replace(/ using btree /g, " ")
    .replace(/check \(\((.*)\)\)$/, "check ($1)")
    .replace(/where \((.*)\)$/, "where $1");
}

const plainText = (text: string) =>
  TYPES.reduce((out, [long, short]) => out.replace(long, short), text)
    .replace(KEYWORDS, (word) => word.toLowerCase())
    .replace(/\s+/g, " ")
    .replace(/ (on|to) public\./g, " $1 ");

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
