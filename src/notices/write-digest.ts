import { listAttention } from "../attention/list-attention.ts";
import type { Mailer } from "../auth/mail.ts";
import { formatMoneyText } from "../domain/currency.ts";
import { DAY_MS, WEEK_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { DigestRhythm, MemberNotices } from "../domain/notice.ts";
import type { Person } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { findZone, formatZonedTime } from "../engine/local-time.ts";
import type { InterimAnalysis } from "../experiments/statistics/interim-analysis.ts";
import type { Tx } from "../postgres/database.ts";
import { listInterimAnalyses } from "../tables/experiment-results.ts";
import { listExperiments } from "../tables/experiments.ts";
import { type DueDigest, findMemberNotices, lockDueDigest, recordDigest } from "../tables/member-notices.ts";
import { findMerchant } from "../tables/merchants.ts";
import { insertNotices } from "../tables/notices.ts";
import { type RecoverySum, sumRecovery } from "../tables/recovery-sums.ts";
import { nextDigestAt } from "./digest-time.ts";
import type { NoticeService } from "./notice-service.ts";
import { toMail } from "./send-notices.ts";

/** Writes a digest that is due, and schedules the next one in the same transaction. */
export async function writeDigest(service: NoticeService, { merchantId, personId, zone }: DueDigest): Promise<void> {
  const { tenantDb, ports, mailer, consoleUrl } = service;
  const now = ports.now();
  await tenantDb.of(merchantId).transaction(async (tx) => {
    const settings = await lockDueDigest(tx, merchantId, personId, now);
    const merchant = settings && (await findMerchant(tx, merchantId));
    if (!settings || !merchant) return;
    const nextAt = nextDigestAt(settings, zone, now);
    if (nextAt === null) return;
    await recordDigest(tx, merchantId, personId, mailer && now, nextAt);
    if (mailer === null) return;
    const text = await digestText(tx, merchant, { rhythm: writtenRhythm(settings), now, zone, consoleUrl, ports });
    const dueAt = ports.realNow();
    await insertNotices(tx, merchantId, [{ id: ports.newId(), personId, ...text, createdAt: now, dueAt }]);
  });
}

type WrittenRhythm = Exclude<DigestRhythm, "off">;

/** Without a rhythm a digest covers a week, because a day may have nothing. */
export const writtenRhythm = (settings: Pick<MemberNotices, "digest"> | null): WrittenRhythm =>
  settings?.digest === "daily" ? "daily" : "weekly";

/**
 * Mails the digest of the period until now to a member. The schedule of their digests stays.
 *
 * @returns why it was not sent; null: it was
 */
export async function sendDigestNow(
  tx: Tx,
  merchantId: string,
  { id, email, zone }: Pick<Person, "id" | "email" | "zone">,
  { mailer, ports, consoleUrl }: Pick<NoticeService, "ports" | "consoleUrl"> & { mailer: Mailer },
): Promise<string | null> {
  const [settings, merchant] = await Promise.all([findMemberNotices(tx, merchantId, id), findMerchant(tx, merchantId)]);
  if (!merchant) return "the merchant was deleted";
  const rhythm = writtenRhythm(settings);
  return mailer.send(
    toMail(email, await digestText(tx, merchant, { rhythm, now: ports.now(), zone, consoleUrl, ports })),
  );
}

interface DigestContext {
  rhythm: WrittenRhythm;
  now: Date;
  zone: string;
  consoleUrl: string;
  ports: Pick<Ports, "clockRate">;
}

async function digestText(tx: Tx, { id: merchantId, name }: Merchant, context: DigestContext) {
  const { rhythm, now, zone, consoleUrl, ports } = context;
  const isWeekly = rhythm === "weekly";
  const spanMs = isWeekly ? WEEK_MS : DAY_MS;
  const from = new Date(now.getTime() - spanMs);
  const until = formatZonedTime(findZone(zone) ?? findZone("UTC")!, now.getTime());
  const [recovered, items, verdicts] = await Promise.all([
    recoveredLines(tx, merchantId, from, now, spanMs),
    listAttention(tx, merchantId, now, ports.clockRate),
    verdictLines(tx, merchantId, from),
  ]);
  const attention = items.map(({ title, detail, href }) => `${title}. ${detail}\n${consoleUrl}${href}`);
  const sections = [
    `Recovered in the ${isWeekly ? "week" : "day"} until ${until}:\n${recovered.join("\n")}`,
    attention.length === 0 ? "Nothing needs attention." : `Needs attention:\n\n${attention.join("\n\n")}`,
    ...(verdicts.length === 0 ? [] : [`Experiments with a new verdict:\n${verdicts.join("\n")}`]),
    `To change these mails: ${consoleUrl}/settings/notifications`,
  ];
  return { subject: `${name}: ${rhythm} digest`, body: sections.join("\n\n") };
}

/** By currency, each compared with the span before. */
async function recoveredLines(tx: Tx, merchantId: string, from: Date, now: Date, spanMs: number): Promise<string[]> {
  const bounds = [new Date(from.getTime() - spanMs), from, now];
  const sums = (await sumRecovery(tx, merchantId, "ended", bounds)).filter(({ value }) => value === "recovered");
  const currencies = [...new Set(sums.map(({ currency }) => currency))].sort();
  if (currencies.length === 0) return ["nothing, as in the time before"];
  return currencies.map((currency) => {
    const of = (span: number) => sums.find((sum) => sum.currency === currency && sum.span === span);
    return `${sumText(of(1), currency)}; before: ${sumText(of(0), currency)}`;
  });
}

const sumText = (sum: RecoverySum | undefined, currency: string) =>
  sum ? `${formatMoneyText(sum.amount, currency)} (${sum.n} ${sum.n === 1 ? "invoice" : "invoices"})` : "nothing";

/** A day's analysis each, so more than two weeks. */
const ANALYSES_READ = 20;

/** Experiments whose verdict became clear, or changed, since a time. */
async function verdictLines(tx: Tx, merchantId: string, from: Date): Promise<string[]> {
  const lines: string[] = [];
  for (const { id, name, stoppedAt } of await listExperiments(tx, merchantId)) {
    if (stoppedAt !== null && stoppedAt < from) continue;
    const analyses = await listInterimAnalyses<InterimAnalysis>(tx, merchantId, id, ANALYSES_READ);
    const [latest] = analyses;
    const before = analyses.find(({ at }) => at < from);
    if (!latest || latest.at < from || latest.verdict.outcome === "open") continue;
    if (latest.verdict.outcome !== before?.verdict.outcome) lines.push(`${name}: ${latest.verdict.words}`);
  }
  return lines;
}
