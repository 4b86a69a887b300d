import { arrayParameters, type Column, columnValues } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface Notice {
  id: string;
  /** Gets a mail; null: the chat. */
  personId: string | null;
  subject: string;
  body: string;
  /** Service time. */
  createdAt: Date;
  /** Real time. */
  dueAt: Date;
}

const COLUMNS: readonly Column<Notice>[] = [
  ["id", "uuid", "id"],
  ["person_id", "uuid", "personId"],
  ["subject", "text", "subject"],
  ["body", "text", "body"],
  ["created_at", "timestamptz", "createdAt"],
  ["due_at", "timestamptz", "dueAt"],
];

const INSERT = prepared(
  "insert_notices",
  `insert into notices (merchant_id, ${COLUMNS.map(([name]) => name).join(", ")})
   select $1::uuid, * from unnest(${arrayParameters(COLUMNS, 2)})`,
);

export async function insertNotices(tx: Tx, merchantId: string, notices: readonly Notice[]) {
  await tx.run(INSERT, [merchantId, ...columnValues(notices, COLUMNS)]);
}

export interface LeasedNotice extends Pick<Notice, "id" | "personId" | "subject" | "body"> {
  merchantId: string;
  /** Attempts that are recorded as failed, and this one. */
  attempts: number;
  /** Of the person; null for the chat. */
  email: string | null;
}

const LEASE = prepared(
  "lease_notice",
  `with due as (
     select merchant_id, id from notices where due_at <= $1 order by due_at limit 1 for update skip locked
   )
   update notices n set due_at = $2, attempts = n.attempts + 1
   from due where n.merchant_id = due.merchant_id and n.id = due.id
   returning n.merchant_id as "merchantId", n.id, n.person_id as "personId", n.subject, n.body, n.attempts,
     (select p.email from people p where p.id = n.person_id) as email`,
);

/**
 * Leases the notice that is due first, of any merchant. If its sender dies, it is due again at `until`.
 *
 * @param now  real time
 */
export const leaseNotice = async (tx: Tx, now: Date, until: Date): Promise<LeasedNotice | null> =>
  (await tx.run<LeasedNotice>(LEASE, [now, until])).rows[0] ?? null;

const DELETE = prepared("delete_notice", "delete from notices where merchant_id = $1 and id = $2");

export async function deleteNotice(tx: Tx, { merchantId, id }: Pick<LeasedNotice, "merchantId" | "id">) {
  await tx.run(DELETE, [merchantId, id]);
}

const DEFER = prepared("defer_notice", "update notices set due_at = $3 where merchant_id = $1 and id = $2");

export async function deferNotice(tx: Tx, { merchantId, id }: Pick<LeasedNotice, "merchantId" | "id">, dueAt: Date) {
  await tx.run(DEFER, [merchantId, id, dueAt]);
}
