import { prepared, type Tx } from "../postgres/database.ts";
import { allowErasure } from "./audit-log.ts";

export interface MerchantTable {
  name: string;
  key: string[];
}

const TABLES = prepared(
  "tables_of_merchants",
  `select c.relname as name,
     (select json_agg(quote_ident(a.attname) order by a.attnum)
      from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
      where i.indrelid = c.oid and i.indisprimary) as key,
     (select coalesce(json_agg(r.relname), '[]')
      from pg_constraint k join pg_class r on r.oid = k.confrelid
      where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as "references"
   from pg_class c join pg_attribute m on m.attrelid = c.oid and m.attname = 'merchant_id' and not m.attisdropped
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and c.relname <> 'sessions'
   order by 1`,
);

/** Ends all decisions. */
const QUEUE_TABLES = ["due_cases", "case_pokes"];

/** With a merchant_id, except sessions; each before the tables that it references. */
export async function listMerchantTables(tx: Tx): Promise<MerchantTable[]> {
  const { rows } = await tx.run<MerchantTable & { references: string[] }>(TABLES);
  const ordered = rows.filter(({ name }) => QUEUE_TABLES.includes(name));
  let remaining = rows.filter((table) => !ordered.includes(table));
  while (remaining.length > 0) {
    const ready = remaining.filter(({ name }) => !remaining.some(({ references }) => references.includes(name)));
    if (ready.length === 0) throw new Error("the tables reference each other in a cycle");
    ordered.push(...ready);
    remaining = remaining.filter((table) => !ready.includes(table));
  }
  return ordered;
}

/**
 * Needs the table owner's transaction.
 *
 * @param limit  null: all rows
 */
export async function deleteMerchantRows(
  tx: Tx,
  { name, key }: MerchantTable,
  merchantId: string,
  limit: number | null,
) {
  const columns = key.join(", ");
  const limited = `and (${columns}) in (select ${columns} from ${name} where merchant_id = $1 limit $2)`;
  if (name === "audit_log") await allowErasure(tx);
  const text = `delete from ${name} where merchant_id = $1 ${limit === null ? "" : limited}`;
  return (await tx.run(prepared("", text), limit === null ? [merchantId] : [merchantId, limit])).rowCount;
}

const DELIVERIES = prepared(
  "delete_deliveries_of_merchant",
  `delete from deliveries
   where merchant_id = $1 and event_id in (select event_id from deliveries where merchant_id = $1 limit $2)
   returning event_id as id`,
);

/** Returns the deleted deliveries' events. */
export async function deleteDeliveries(tx: Tx, merchantId: string, limit: number) {
  return (await tx.run<{ id: string }>(DELIVERIES, [merchantId, limit])).rows.map(({ id }) => id);
}

const REMOVE_ENDPOINT = prepared(
  "silence_merchant",
  `update merchants set webhook_url = null, webhook_auth = null, webhook_credential = null, webhook_secret = null, webhook_old_secret = null,
     webhook_old_secret_until = null, webhook_paused = true, webhook_paused_at = null, webhook_paused_by = null
   where id = $1`,
);
const KEYS = prepared("delete_keys_of_merchant", "delete from api_keys where merchant_id = $1");
const INVITES = prepared("delete_invites_of_merchant", "delete from invites where merchant_id = $1");
const SESSIONS = prepared("leave_merchant", "update sessions set merchant_id = null where merchant_id = $1");
const PEOPLE_ONLY_HERE = prepared(
  "people_of_merchant_alone",
  `select person_id as id from members m where merchant_id = $1
     and not exists (select from members o where o.person_id = m.person_id and o.merchant_id <> $1)`,
);
const MEMBERS = prepared("delete_members_of_merchant", "delete from members where merchant_id = $1");
const DELETE_PEOPLE = [
  prepared("delete_sessions_of_people", "delete from sessions where person_id = any($1::uuid[])"),
  prepared("delete_identities_of_people", "delete from identities where person_id = any($1::uuid[])"),
  prepared("delete_people", "delete from people where id = any($1::uuid[])"),
];

/** Also removes the endpoint, and people without another merchant. */
export async function revokeMerchantAccess(tx: Tx, merchantId: string) {
  for (const statement of [REMOVE_ENDPOINT, KEYS, INVITES, SESSIONS]) await tx.run(statement, [merchantId]);
  const people = (await tx.run<{ id: string }>(PEOPLE_ONLY_HERE, [merchantId])).rows.map(({ id }) => id);
  await tx.run(MEMBERS, [merchantId]);
  for (const statement of DELETE_PEOPLE) await tx.run(statement, [people]);
}

const DELETE = prepared("delete_merchant", "delete from merchants where id = $1");

/** Call it last. */
export async function deleteMerchantRow(tx: Tx, merchantId: string) {
  await tx.run(DELETE, [merchantId]);
}
