import { dueDigests } from "../tables/member-notices.ts";
import { dueNoticeChecks } from "../tables/notice-incidents.ts";
import { checkMerchant } from "./check-merchant.ts";
import type { NoticeService } from "./notice-service.ts";
import { sendNextNotice } from "./send-notices.ts";
import { writeDigest } from "./write-digest.ts";

const MERCHANTS_PER_RUN = 50;
/** In real time. A slow mail server must not hold up the checks. */
const SENDING_MAX_MS = 20_000;

/**
 * Checks merchants, writes digests and sends notices, as far as they are due.
 *
 * @returns whether more may be due now
 * @throws the first error, after everything else was done
 */
export async function notifyDue(service: NoticeService): Promise<boolean> {
  const { db, ports } = service;
  const merchants = await dueNoticeChecks(db, ports.now(), MERCHANTS_PER_RUN);
  const digests = await dueDigests(db, ports.now(), MERCHANTS_PER_RUN);
  const errors = [
    ...(await errorsOfEach(merchants, (merchantId) => checkMerchant(service, merchantId))),
    ...(await errorsOfEach(digests, (digest) => writeDigest(service, digest))),
  ];
  const endMs = ports.monotonicMs() + SENDING_MAX_MS;
  let hasMore = true;
  while (hasMore && ports.monotonicMs() < endMs) hasMore = await sendNextNotice(service);
  if (errors.length > 0) throw errors[0];
  return merchants.length === MERCHANTS_PER_RUN || digests.length === MERCHANTS_PER_RUN || hasMore;
}

/** One merchant's fault must not silence the others. */
async function errorsOfEach<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const item of items) await run(item).catch((error) => errors.push(error));
  return errors;
}
