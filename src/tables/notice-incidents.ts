import type { AlertKind } from "../domain/notice.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const ENSURE = prepared(
  "ensure_notice_check",
  `insert into notice_checks (merchant_id, due_at) values ($1, $2)
   on conflict (merchant_id) do update set due_at = least(notice_checks.due_at, excluded.due_at)`,
);

/** Has a merchant checked from then on. Waits for a check that is under way, which may end the checks. */
export async function ensureNoticeCheck(tx: Tx, merchantId: string, dueAt: Date) {
  await tx.run(ENSURE, [merchantId, dueAt]);
}

const DUE = prepared(
  "due_notice_checks",
  `select merchant_id as "merchantId" from notice_checks where due_at <= $1 order by due_at limit $2`,
);

/** Merchants to check, earliest first. */
export const dueNoticeChecks = async (tx: Tx, now: Date, limit: number): Promise<string[]> =>
  (await tx.run<{ merchantId: string }>(DUE, [now, limit])).rows.map(({ merchantId }) => merchantId);

const LOCK_DUE = prepared(
  "lock_due_notice_check",
  "select from notice_checks where merchant_id = $1 and due_at <= $2 for update skip locked",
);

/** False if another process checks the merchant, or the check is no longer due. */
export const lockDueNoticeCheck = async (tx: Tx, merchantId: string, now: Date): Promise<boolean> =>
  (await tx.run(LOCK_DUE, [merchantId, now])).rowCount === 1;

const RESCHEDULE = prepared("reschedule_notice_check", "update notice_checks set due_at = $2 where merchant_id = $1");
const END = prepared("end_notice_checks", "delete from notice_checks where merchant_id = $1");

/** @param dueAt  null: no more checks */
export async function rescheduleNoticeCheck(tx: Tx, merchantId: string, dueAt: Date | null) {
  if (dueAt === null) await tx.run(END, [merchantId]);
  else await tx.run(RESCHEDULE, [merchantId, dueAt]);
}

/** The state of one kind of alert. */
export interface Incident {
  kind: AlertKind;
  /** Since when the present incident is seen; null: none is open. */
  since: Date | null;
  /** When it was announced. Of a kind without an end: the last alert. */
  announcedAt: Date | null;
  /** Until when records were searched. */
  readTo: Date | null;
}

const LIST = prepared(
  "list_incidents",
  `select kind, since, announced_at as "announcedAt", read_to as "readTo" from notice_incidents where merchant_id = $1`,
);

export const listIncidents = async (tx: Tx, merchantId: string): Promise<Incident[]> =>
  (await tx.run<Incident>(LIST, [merchantId])).rows;

const SAVE = prepared(
  "save_incident",
  `insert into notice_incidents (merchant_id, kind, since, announced_at, read_to) values ($1, $2, $3, $4, $5)
   on conflict (merchant_id, kind) do update set since = excluded.since, announced_at = excluded.announced_at, read_to = excluded.read_to`,
);

export async function saveIncident(tx: Tx, merchantId: string, { kind, since, announcedAt, readTo }: Incident) {
  await tx.run(SAVE, [merchantId, kind, since, announcedAt, readTo]);
}

const FORGET = prepared(
  "forget_incidents",
  "delete from notice_incidents where merchant_id = $1 and kind <> all($2::text[])",
);

/** Forgets all kinds but these, so that a later reader starts anew. */
export async function forgetIncidentsExcept(tx: Tx, merchantId: string, kinds: readonly AlertKind[]) {
  await tx.run(FORGET, [merchantId, kinds]);
}
