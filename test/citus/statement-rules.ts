import { parseSync } from "libpg-query";

/** A node of PostgreSQL's parse tree: its kind, and its fields. */
type Fields = Record<string, unknown>;

/** Every node below, with its kind; `into` decides whether to look inside one. */
function* nodesOf(
  tree: unknown,
  into: (kind: string) => boolean = () => true,
): Generator<{ kind: string; node: Fields }> {
  if (Array.isArray(tree)) {
    for (const each of tree) yield* nodesOf(each, into);
    return;
  }
  if (typeof tree !== "object" || tree === null) return;
  for (const [kind, value] of Object.entries(tree)) {
    const isNode = /^[A-Z]/.test(kind) && typeof value === "object" && value !== null;
    if (isNode) yield { kind, node: value as Fields };
    if (!isNode || into(kind)) yield* nodesOf(value, into);
  }
}

const nodes = (tree: unknown, wanted: string) =>
  [...nodesOf(tree)].flatMap(({ kind, node }) => (kind === wanted ? [node] : []));
const isQuery = (kind: string) => /^(Select|Insert|Update|Delete)Stmt$/.test(kind);
const ownNodes = (tree: unknown, wanted: string) =>
  [...nodesOf(tree, (kind) => !isQuery(kind))].flatMap(({ kind, node }) => (kind === wanted ? [node] : []));
const wordOf = (string: unknown) => (string as { String?: { sval?: string } }).String?.sval ?? "";
const columnOf = (node: Fields) => wordOf((node.fields as unknown[]).at(-1));
const functionOf = (node: Fields) => wordOf((node.funcname as unknown[]).at(-1));

export interface DistributionRules {
  /** Spread by merchant. */
  spread: ReadonlySet<string>;
  /** Statements that may concern the rows of all merchants. */
  ofAllMerchants: ReadonlySet<string>;
}

/** What would fail, or give other results, in a database that Citus spreads by merchant. */
export function complainOf(statement: { name: string; text: string }, rules: DistributionRules): string[] {
  const tree = parseSync(statement.text).stmts!.map(({ stmt }) => stmt);
  const ctes = nodes(tree, "CommonTableExpr");
  const cteNames = new Set(ctes.map(({ ctename }) => ctename as string));
  const isSpread = (table: unknown) => rules.spread.has(table as string) && !cteNames.has(table as string);
  const tables = nodes(tree, "RangeVar").map(({ relname }) => relname);
  const targets = ["InsertStmt", "UpdateStmt", "DeleteStmt"]
    .flatMap((kind) => nodes(tree, kind))
    .map(({ relation }) => relation as { relname: string });
  if (![...tables, ...targets.map(({ relname }) => relname)].some(isSpread)) return [];
  return [
    ...(rules.ofAllMerchants.has(statement.name) ? [] : findScopesWithoutMerchant(tree, isSpread)),
    ...([...nodesOf(tree)].some(({ node }) => (node.withClause as Fields | undefined)?.recursive)
      ? ["it searches recursively"]
      : []),
    ...(nodes(tree, "FuncCall").some((call) => /^(set_config|current_setting)$/.test(functionOf(call)))
      ? ["a setting carries data"]
      : []),
    ...(rules.ofAllMerchants.has(statement.name) && nodes(tree, "LockingClause").length > 0
      ? ["it locks rows of several merchants"]
      : []),
    ...nodes(tree, "InsertStmt").flatMap((insert) => complainOfInsert(insert, isSpread)),
    ...findReadsAfterChange(ctes, targets, isSpread),
  ];
}

/** Each query must compare the merchant of every table that it reads, with a value or with that of another table. */
function findScopesWithoutMerchant(tree: unknown, isSpread: (table: unknown) => boolean): string[] {
  const queries = ["SelectStmt", "UpdateStmt", "DeleteStmt"].flatMap((kind) => nodes(tree, kind));
  return queries.flatMap((query) => {
    const target = query.relation as { relname: string } | undefined;
    const sources = [query.fromClause, query.usingClause].flatMap((from) => ownNodes(from, "RangeVar"));
    const read = [...(target ? [target.relname] : []), ...sources.map(({ relname }) => relname as string)].filter(
      isSpread,
    );
    const ownerColumns = read.includes("merchants") ? ["merchant_id", "id"] : ["merchant_id"];
    const comparisons = ownNodes([query.whereClause, query.fromClause], "A_Expr").filter(
      ({ kind, name, lexpr, rexpr }) =>
        /^AEXPR_OP(_ANY)?$/.test(kind as string) &&
        wordOf((name as unknown[])[0]) === "=" &&
        [lexpr, rexpr].some((side) =>
          ownNodes(side, "ColumnRef").some((column) => ownerColumns.includes(columnOf(column))),
        ),
    );
    return comparisons.length >= read.length ? [] : [`it reads ${read.join(", ")} without their merchant`];
  });
}

function complainOfInsert(insert: Fields, isSpread: (table: unknown) => boolean): string[] {
  const { relname } = insert.relation as { relname: string };
  if (!isSpread(relname)) return [];
  const select = (insert.selectStmt as { SelectStmt?: Fields } | undefined)?.SelectStmt;
  const isCopied = select?.fromClause !== undefined && !insert.onConflictClause && !insert.returningClause;
  const changes = (insert.onConflictClause as Fields | undefined)?.targetList;
  const isZoned = nodes(changes, "TypeCast").some(
    ({ typeName }) => wordOf(((typeName as Fields).names as unknown[]).at(-1)) === "interval",
  );
  const isGuarded = nodes(changes, "FuncCall").some((call) => functionOf(call) === "timezone");
  return [
    ...(isCopied ? [`rows selected for ${relname} need "on conflict" or "returning" (see STORED)`] : []),
    ...(isZoned && !isGuarded ? [`${relname} adds an interval in the session's zone`] : []),
  ];
}

/** Citus may run the parts of a statement one after another, so that a later one sees what an earlier one changed. */
function findReadsAfterChange(
  ctes: readonly Fields[],
  targets: readonly { relname: string }[],
  isSpread: (table: unknown) => boolean,
): string[] {
  const changed = new Set(targets.map(({ relname }) => relname).filter(isSpread));
  let hasChanged = false;
  return ctes.flatMap(({ ctename, ctequery, ctematerialized }) => {
    const isChange = ["InsertStmt", "UpdateStmt", "DeleteStmt"].some((kind) => kind in (ctequery as Fields));
    if (isChange) {
      hasChanged = true;
      return [];
    }
    const read = nodes(ctequery, "RangeVar").map(({ relname }) => relname as string);
    if (!read.some((table) => changed.has(table)) || (!hasChanged && ctematerialized === "CTEMaterializeAlways"))
      return [];
    return [
      `"${ctename}" must be materialized before the statement changes ${read.find((table) => changed.has(table))}`,
    ];
  });
}
