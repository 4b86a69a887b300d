import type { AlertKind, MemberNotices } from "../domain/notice.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const COLUMNS = `digest, digest_weekday as "digestWeekday", digest_hour as "digestHour", alerts`;

export interface StoredMemberNotices extends MemberNotices {
  /** When the next digest is written; null: never. */
  digestDueAt: Date | null;
  digestSentAt: Date | null;
}

const FIND = prepared(
  "find_member_notices",
  `select ${COLUMNS}, digest_due_at as "digestDueAt", digest_sent_at as "digestSentAt" from member_notices
   where merchant_id = $1 and person_id = $2`,
);

export const findMemberNotices = async (tx: Tx, merchantId: string, personId: string) =>
  (await tx.run<StoredMemberNotices>(FIND, [merchantId, personId])).rows[0] ?? null;

const SAVE = prepared(
  "save_member_notices",
  `insert into member_notices (merchant_id, person_id, digest, digest_weekday, digest_hour, digest_due_at, alerts)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (merchant_id, person_id) do update set digest = excluded.digest, digest_weekday = excluded.digest_weekday,
     digest_hour = excluded.digest_hour, digest_due_at = excluded.digest_due_at, alerts = excluded.alerts`,
);

/** @param dueAt  when the next digest is written; null if there is none */
export async function saveMemberNotices(
  tx: Tx,
  merchantId: string,
  personId: string,
  { digest, digestWeekday, digestHour, alerts }: MemberNotices,
  dueAt: Date | null,
) {
  await tx.run(SAVE, [merchantId, personId, digest, digestWeekday, digestHour, dueAt, alerts]);
}

export interface AlertReader {
  personId: string;
  alerts: AlertKind[];
}

const READERS = prepared(
  "alert_readers",
  `select person_id as "personId", alerts from member_notices where merchant_id = $1 and cardinality(alerts) > 0`,
);

export const listAlertReaders = async (tx: Tx, merchantId: string): Promise<AlertReader[]> =>
  (await tx.run<AlertReader>(READERS, [merchantId])).rows;

export interface DueDigest {
  merchantId: string;
  personId: string;
  zone: string;
}

const DUE = prepared(
  "due_digests",
  `select n.merchant_id as "merchantId", n.person_id as "personId", p.zone
   from member_notices n join people p on p.id = n.person_id where n.digest_due_at <= $1 order by n.digest_due_at limit $2`,
);

/** Of all merchants, earliest first. */
export const dueDigests = async (tx: Tx, now: Date, limit: number): Promise<DueDigest[]> =>
  (await tx.run<DueDigest>(DUE, [now, limit])).rows;

const LOCK_DUE = prepared(
  "lock_due_digest",
  `select ${COLUMNS} from member_notices
   where merchant_id = $1 and person_id = $2 and digest_due_at <= $3 for update skip locked`,
);

/** Null if another process writes it, or it is no longer due. */
export const lockDueDigest = async (tx: Tx, merchantId: string, personId: string, now: Date) =>
  (await tx.run<MemberNotices>(LOCK_DUE, [merchantId, personId, now])).rows[0] ?? null;

const WRITTEN = prepared(
  "digest_written",
  "update member_notices set digest_sent_at = coalesce($3, digest_sent_at), digest_due_at = $4 where merchant_id = $1 and person_id = $2",
);

/** @param at  when it was written; null: it was skipped */
export async function recordDigest(tx: Tx, merchantId: string, personId: string, at: Date | null, nextAt: Date) {
  await tx.run(WRITTEN, [merchantId, personId, at, nextAt]);
}

const OF_PERSON = prepared(
  "notices_of_person",
  `select merchant_id as "merchantId", ${COLUMNS} from member_notices
   where person_id = $1 and digest_due_at is not null order by merchant_id for update`,
);

/** Locks the digests of a person, at all merchants. */
export const lockDigestsOf = async (tx: Tx, personId: string) =>
  (await tx.run<MemberNotices & { merchantId: string }>(OF_PERSON, [personId])).rows;

const SET_DUE = prepared(
  "set_digest_due",
  "update member_notices set digest_due_at = $3 where merchant_id = $1 and person_id = $2",
);

export async function setDigestDue(tx: Tx, merchantId: string, personId: string, dueAt: Date | null) {
  await tx.run(SET_DUE, [merchantId, personId, dueAt]);
}
