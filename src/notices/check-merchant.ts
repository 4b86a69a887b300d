import { connectorItems, endpointItem, givenUpItem, ingestItem } from "../attention/list-attention.ts";
import { DAY_MS, MINUTE_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import { ALERT_KINDS, type AlertKind } from "../domain/notice.ts";
import type { Ports } from "../domain/ports.ts";
import { readMaturityDays } from "../experiments/maturity.ts";
import type { Tx } from "../postgres/database.ts";
import { findChatWebhook } from "../tables/chat-webhooks.ts";
import { listAlertReaders } from "../tables/member-notices.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  forgetIncidentsExcept,
  type Incident,
  listIncidents,
  lockDueNoticeCheck,
  rescheduleNoticeCheck,
  saveIncident,
} from "../tables/notice-incidents.ts";
import { insertNotices, type Notice } from "../tables/notices.ts";
import { countGivenUpSince, listLostLargeInvoices, tallyRecovery } from "../tables/recovery-rates.ts";
import { newIncident, stepGivenUp, stepState } from "./incident-steps.ts";
import type { NoticeService } from "./notice-service.ts";
import { describeLostInvoices, describeRateFall, ENDED_TEXTS, type NoticeText } from "./notice-wording.ts";
import { findRateFall, RATE_ALERT_PAUSE_MS, rateBounds } from "./rate-fall.ts";

/** In real time. */
const CHECK_EVERY_MS = MINUTE_MS;
/** Until the operator may have set a mail server. */
const MAILER_WAIT_MS = 10 * MINUTE_MS;
/** How long a matter lasts before people hear about it, in real time: a deployment takes an endpoint away for a minute. */
const ENDPOINT_DELAY_MS = 5 * MINUTE_MS;
const CONNECTOR_DELAY_MS = 5 * MINUTE_MS;
/** A case that a transaction ended may become visible later than its time. */
const COMMIT_DELAY_MS = MINUTE_MS;

interface Check {
  tx: Tx;
  merchant: Merchant;
  now: Date;
  clockRate: number;
}

interface CheckResult {
  next: Incident;
  text: NoticeText | null;
}

type FindIncident = (check: Check, incident: Incident) => Promise<CheckResult>;

const FINDERS: Readonly<Record<AlertKind, FindIncident>> = {
  endpoint: async ({ tx, merchant, now, clockRate }, incident) =>
    announceState(incident, await endpointItem(tx, merchant.id, now), now, ENDPOINT_DELAY_MS * clockRate),
  ingest: async ({ tx, merchant, now }, incident) =>
    announceState(incident, await ingestItem(tx, merchant.id, now), now, 0),
  connector: async ({ tx, merchant, now, clockRate }, incident) => {
    const [item = null] = await connectorItems(tx, merchant.id, now, clockRate);
    return announceState(incident, item, now, CONNECTOR_DELAY_MS * clockRate);
  },
  given_up: findGivenUp,
  large_lost: findLostInvoices,
  rate_fell: findFallenRate,
};

function announceState(incident: Incident, found: NoticeText | null, now: Date, delayMs: number): CheckResult {
  const { next, announces } = stepState(incident, found !== null, now, delayMs);
  const ended = ENDED_TEXTS[incident.kind as keyof typeof ENDED_TEXTS];
  return { next, text: announces === "begin" ? found : announces === "end" ? ended : null };
}

async function findGivenUp({ tx, merchant, now }: Check, incident: Incident): Promise<CheckResult> {
  const { next, announces } = stepGivenUp(incident, await countGivenUpSince(tx, merchant.id, incident.readTo), now);
  if (announces === "end") return { next, text: ENDED_TEXTS.given_up };
  return { next, text: announces === "begin" ? await givenUpItem(tx, merchant.id, now) : null };
}

/** Begins with the first check, and announces no history. */
async function findLostInvoices({ tx, merchant, now, clockRate }: Check, incident: Incident): Promise<CheckResult> {
  const readTo = new Date(now.getTime() - COMMIT_DELAY_MS * clockRate);
  if (incident.readTo === null) return { next: { ...incident, readTo }, text: null };
  if (readTo <= incident.readTo) return { next: incident, text: null };
  const lost = await listLostLargeInvoices(tx, merchant.id, incident.readTo, readTo);
  if (lost.length === 0) return { next: { ...incident, readTo }, text: null };
  return { next: { ...incident, readTo, announcedAt: now }, text: describeLostInvoices(lost) };
}

/** Compares once a day, because the compared weeks consist of full days. */
async function findFallenRate({ tx, merchant, now }: Check, incident: Incident): Promise<CheckResult> {
  const { readTo, announcedAt } = incident;
  const isPaused = announcedAt !== null && now.getTime() - announcedAt.getTime() < RATE_ALERT_PAUSE_MS;
  if (isPaused || (readTo !== null && now.getTime() - readTo.getTime() < DAY_MS)) return { next: incident, text: null };
  const [earlier, recent] = await tallyRecovery(
    tx,
    merchant.id,
    rateBounds(now, await readMaturityDays(tx, merchant.id)),
  );
  const fall = findRateFall(earlier!, recent!);
  if (fall === null) return { next: { ...incident, readTo: now }, text: null };
  return { next: { ...incident, readTo: now, announcedAt: now }, text: describeRateFall(fall) };
}

/**
 * Finds incidents that began or ended, and writes a notice for each reader in the same transaction. The row of the check is the
 * lock, so that of several processes one does it.
 */
export async function checkMerchant(service: NoticeService, merchantId: string): Promise<void> {
  const { tenantDb, ports, mailer } = service;
  const now = ports.now();
  const later = (ms: number) => new Date(now.getTime() + ms * ports.clockRate);
  await tenantDb.of(merchantId).transaction(async (tx) => {
    if (!(await lockDueNoticeCheck(tx, merchantId, now))) return;
    const [merchant, members, chat, incidents] = await Promise.all([
      findMerchant(tx, merchantId),
      listAlertReaders(tx, merchantId),
      findChatWebhook(tx, merchantId),
      listIncidents(tx, merchantId),
    ]);
    const reached = mailer === null ? [] : members;
    const readers: Reader[] = [...reached, ...(chat ? [{ personId: null, alerts: chat.alerts }] : [])];
    const kinds = ALERT_KINDS.filter((kind) => readers.some(({ alerts }) => alerts.includes(kind)));
    await forgetIncidentsExcept(tx, merchantId, kinds);
    const isRead = merchant !== null && kinds.length > 0;
    const isEnded = !isRead && members.length === 0;
    await rescheduleNoticeCheck(tx, merchantId, isEnded ? null : later(isRead ? CHECK_EVERY_MS : MAILER_WAIT_MS));
    if (!isRead) return;
    const check = { tx, merchant, now, clockRate: ports.clockRate };
    for (const kind of kinds) {
      const incident = incidents.find((each) => each.kind === kind) ?? newIncident(kind);
      const { next, text } = await FINDERS[kind](check, incident);
      if (JSON.stringify(next) !== JSON.stringify(incident)) await saveIncident(tx, merchantId, next);
      const recipients = text === null ? [] : readers.filter(({ alerts }) => alerts.includes(kind));
      if (text && recipients.length > 0)
        await insertNotices(
          tx,
          merchantId,
          recipients.map((reader) => noticeOf(text, reader, merchant, service)),
        );
    }
  });
}

interface Reader {
  /** Null: the chat. */
  personId: string | null;
  alerts: readonly AlertKind[];
}

const noticeOf = (
  { title, detail, href }: NoticeText,
  { personId }: Reader,
  { name }: Merchant,
  { consoleUrl, ports }: { consoleUrl: string; ports: Ports },
): Notice => ({
  id: ports.newId(),
  personId,
  subject: `${name}: ${title}`,
  body: `${detail}\n${consoleUrl}${href}`,
  createdAt: ports.now(),
  dueAt: ports.realNow(),
});
