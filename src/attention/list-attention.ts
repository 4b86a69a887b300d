import { DAY_MS, MINUTE_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import { findUnknownCodes } from "../merchants/find-unknown-codes.ts";
import type { Tx } from "../postgres/database.ts";
import {
  findLastFailedAnswer,
  findLastPush,
  findOpenMatters,
  readContradictions,
  readEndingCases,
  readGivenUpEvents,
  readLargeCases,
  readPushHours,
  readUnansweredCardChanges,
  readWaitingEvents,
} from "../tables/attention.ts";
import { connectionsOf, countConnectorProblems } from "../tables/connections.ts";
import { listLargeAmounts } from "../tables/large-amounts.ts";
import { findMerchant } from "../tables/merchants.ts";
import { ATTENTION_KINDS, type AttentionItem, SEVERITY_BY_KIND } from "./attention-item.ts";
import { isTooLong, OBSERVED_HOURS, SILENCE_MAX_MS, SILENCE_MIN_MS, usualGapMs } from "./usual-gap.ts";
import {
  type AttentionWords,
  describeCardChanges,
  describeConnector,
  describeContradictions,
  describeEnding,
  describeEndpoint,
  describeGivenUp,
  describeLargeInvoices,
  describeStoppedIngest,
  describeUnknownCodes,
} from "./wording.ts";

const ENDING_DAYS = 3;
const UNANSWERED_DAYS = 5;
/** A connector reports every few seconds, in real time. */
const CONNECTOR_SILENCE_MAX_MS = 10 * MINUTE_MS;

/** Limits for the lists behind the links. */
export const endingBefore = (now: Date) => new Date(now.getTime() + ENDING_DAYS * DAY_MS);
export const requestedBefore = (now: Date) => new Date(now.getTime() - UNANSWERED_DAYS * DAY_MS);

type ItemFacts = Omit<AttentionItem, "severity" | keyof AttentionWords> & AttentionWords;
const createItem = (item: ItemFacts): AttentionItem => ({ ...item, severity: SEVERITY_BY_KIND[item.kind] });

/**
 * Lists everything that needs a person, the most urgent first.
 *
 * @param now  service time
 * @param clockRate  service time per real time
 */
export async function listAttention(tx: Tx, merchantId: string, now: Date, clockRate: number) {
  const found = await Promise.all([
    endpointItem(tx, merchantId, now),
    givenUpItem(tx, merchantId, now),
    ingestItem(tx, merchantId, now),
    connectorItems(tx, merchantId, now, clockRate),
    endingItem(tx, merchantId, now),
    cardChangeItem(tx, merchantId, now),
    contradictionItem(tx, merchantId),
    unknownCodeItem(tx, merchantId, now),
    largeItem(tx, merchantId),
  ]);
  return found
    .flat()
    .filter((item) => item !== null)
    .sort((a, b) => ATTENTION_KINDS.indexOf(a.kind) - ATTENTION_KINDS.indexOf(b.kind));
}

/**
 * Counts the items that are broken or due soon. Leaves out notes, because finding them takes longer than a menu may wait.
 *
 * @param now  service time
 */
export async function countAttention(tx: Tx, merchantId: string, now: Date, clockRate: number): Promise<number> {
  const [merchant, ingest, connectors, { isGivenUp, isEnding, isUnanswered, isContradicted }] = await Promise.all([
    findMerchant(tx, merchantId),
    findStoppedIngest(tx, merchantId, now),
    findFailingConnectors(tx, merchantId, now, clockRate),
    findOpenMatters(tx, merchantId, endingBefore(now), requestedBefore(now)),
  ]);
  const isFailing = merchant !== null && isEndpointFailing(merchant);
  const matters = [isFailing, ingest !== null, isGivenUp, isEnding, isUnanswered, isContradicted];
  return matters.filter(Boolean).length + connectors.length;
}

/** A person's own pause is no fault. */
const isEndpointFailing = ({ webhookUrl, webhookPaused, webhookPausedBy, webhookFailingSince }: Merchant) =>
  webhookUrl !== null && (webhookPaused ? webhookPausedBy === "dunlin" : webhookFailingSince !== null);

export async function endpointItem(tx: Tx, merchantId: string, now: Date): Promise<AttentionItem | null> {
  const merchant = await findMerchant(tx, merchantId);
  if (!merchant || !isEndpointFailing(merchant)) return null;
  const [waiting, answer] = await Promise.all([
    readWaitingEvents(tx, merchantId),
    findLastFailedAnswer(tx, merchantId),
  ]);
  const state = { failingSince: merchant.webhookFailingSince, isPaused: merchant.webhookPaused };
  return createItem({
    kind: "endpoint_failing",
    count: waiting.count,
    money: waiting.money,
    since: merchant.webhookFailingSince ?? merchant.webhookPausedAt,
    href: "/deliveries?state=waiting",
    ...describeEndpoint(state, waiting.count, answer, now),
  });
}

export async function givenUpItem(tx: Tx, merchantId: string, now: Date): Promise<AttentionItem | null> {
  const { count, money, since } = await readGivenUpEvents(tx, merchantId);
  if (count === 0 || since === null) return null;
  const words = describeGivenUp(count, since, now);
  return createItem({
    ...{ kind: "instructions_given_up", count, money, since, href: "/deliveries?state=exhausted" },
    ...words,
  });
}

/** Null: records arrive as usual, or nothing is usual yet. */
async function findStoppedIngest(tx: Tx, merchantId: string, now: Date) {
  const lastAt = await findLastPush(tx, merchantId);
  const silenceMs = lastAt === null ? 0 : now.getTime() - lastAt.getTime();
  if (lastAt === null || silenceMs <= SILENCE_MIN_MS || silenceMs > SILENCE_MAX_MS) return null;
  // The last observed hour ends with the last push.
  const until = new Date(lastAt.getTime() + 1);
  const gapMs = usualGapMs(await readPushHours(tx, merchantId, until, OBSERVED_HOURS));
  return gapMs !== null && isTooLong(silenceMs, gapMs) ? { lastAt, gapMs } : null;
}

export async function ingestItem(tx: Tx, merchantId: string, now: Date): Promise<AttentionItem | null> {
  const stopped = await findStoppedIngest(tx, merchantId, now);
  if (!stopped) return null;
  const { lastAt, gapMs } = stopped;
  const words = describeStoppedIngest(lastAt, gapMs, now);
  return createItem({
    ...{ kind: "ingest_stopped", count: null, money: [], since: lastAt, href: "/requests" },
    ...words,
  });
}

async function findFailingConnectors(tx: Tx, merchantId: string, now: Date, clockRate: number) {
  const connections = await connectionsOf(tx, merchantId);
  const silentBefore = new Date(now.getTime() - CONNECTOR_SILENCE_MAX_MS * clockRate);
  const found = await Promise.all(
    connections.map(async ({ name, seenAt, createdAt }) => {
      const problems = await countConnectorProblems(tx, merchantId, name);
      return { name, seenAt, problems, isSilent: (seenAt ?? createdAt) < silentBefore };
    }),
  );
  return found.filter(({ problems, isSilent }) => isSilent || problems > 0);
}

export async function connectorItems(
  tx: Tx,
  merchantId: string,
  now: Date,
  clockRate: number,
): Promise<AttentionItem[]> {
  const failing = await findFailingConnectors(tx, merchantId, now, clockRate);
  return failing.map(({ name, problems, ...state }) =>
    createItem({
      kind: "connector_failing",
      count: problems,
      money: [],
      since: state.isSilent ? state.seenAt : null,
      href: "/connection",
      ...describeConnector(name, state, problems, now),
    }),
  );
}

async function endingItem(tx: Tx, merchantId: string, now: Date): Promise<AttentionItem | null> {
  const { count, money, firstEndsAt, onLastRetry } = await readEndingCases(tx, merchantId, endingBefore(now));
  if (firstEndsAt === null) return null;
  return createItem({
    ...{ kind: "window_ending", count, money, since: null, href: "/invoices?attention=ending" },
    ...describeEnding(count, onLastRetry, firstEndsAt, ENDING_DAYS, now),
  });
}

async function cardChangeItem(tx: Tx, merchantId: string, now: Date): Promise<AttentionItem | null> {
  const { count, money, since } = await readUnansweredCardChanges(tx, merchantId, requestedBefore(now));
  if (since === null) return null;
  return createItem({
    ...{ kind: "card_change_unanswered", count, money, since, href: "/invoices?attention=card_change" },
    ...describeCardChanges(count, since, now),
  });
}

async function contradictionItem(tx: Tx, merchantId: string): Promise<AttentionItem | null> {
  const { count, money, since } = await readContradictions(tx, merchantId);
  if (count === 0) return null;
  return createItem({
    ...{ kind: "data_contradictory", count, money, since, href: "/invoices?attention=contradictory" },
    ...describeContradictions(count),
  });
}

async function unknownCodeItem(tx: Tx, merchantId: string, now: Date): Promise<AttentionItem | null> {
  const codes = await findUnknownCodes(tx, merchantId, now);
  if (codes.length === 0) return null;
  const declines = codes.reduce((total, code) => total + code.declines, 0);
  return createItem({
    ...{ kind: "decline_code_unknown", count: codes.length, money: [], since: null, href: "/decline_codes" },
    ...describeUnknownCodes(codes.length, declines),
  });
}

async function largeItem(tx: Tx, merchantId: string): Promise<AttentionItem | null> {
  const amounts = await listLargeAmounts(tx, merchantId);
  if (amounts.length === 0) return null;
  const { count, money, since } = await readLargeCases(tx, merchantId);
  if (count === 0) return null;
  return createItem({
    ...{ kind: "invoice_large", count, money, since, href: "/invoices?attention=large" },
    ...describeLargeInvoices(count, amounts),
  });
}
