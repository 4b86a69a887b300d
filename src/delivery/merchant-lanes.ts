import type { Logger as Log } from "pino";
import type { Merchant } from "../domain/merchant.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import { changedMerchants, listMerchants, readChangeMark } from "../tables/merchants.ts";
import { insertRequestHeads } from "../tables/request-heads.ts";
import type { SecretKeys } from "../tables/secret-box.ts";
import { createLane, type Lane } from "./merchant-lane.ts";
import { createTarget, type DeliveryTarget } from "./send-attempt.ts";

export interface Lanes {
  get(merchantId: string): Lane | undefined;
  all(): Iterable<Lane>;
  /** Reads changed settings, adds new merchants and removes deleted ones. */
  refresh(): Promise<void>;
  isBusy(bucket: number): boolean;
}

const FULL_REFRESH_MS = 60_000;

export function createLanes(db: Database, log: Log, secretKeys: SecretKeys, monotonicMs: () => number): Lanes {
  const lanes = new Map<string, Lane>();
  let mark: string | null = null;
  let allReadAt = 0;

  function targetOf(merchant: Merchant): DeliveryTarget | null {
    try {
      return createTarget(merchant, secretKeys);
    } catch (error) {
      log.error({ ...errorFields(error), merchantId: merchant.id }, "credential.unreadable");
      return null;
    }
  }

  /** Reads all once a minute, because a mark is meaningless after a database restore. */
  async function read(): Promise<{ merchants: Merchant[]; mark: string | null }> {
    if (mark !== null && monotonicMs() - allReadAt < FULL_REFRESH_MS) return changedMerchants(db, mark);
    const newMark = await readChangeMark(db);
    const merchants = await listMerchants(db);
    allReadAt = monotonicMs();
    const ids = new Set(merchants.map(({ id }) => id));
    for (const [id, lane] of lanes) if (!ids.has(id) && lane.busy.size === 0) lanes.delete(id);
    return { merchants, mark: newMark };
  }

  return {
    get: (merchantId) => lanes.get(merchantId),
    all: () => lanes.values(),
    async refresh() {
      const changed: Merchant[] = [];
      const { merchants, mark: newMark } = await read();
      for (const merchant of merchants) {
        const lane = lanes.get(merchant.id);
        if (lane === undefined || hasTargetChanged(lane.merchant, merchant)) changed.push(merchant);
        else lane.merchant = merchant;
      }
      const targets = changed.map((merchant) => ({ merchant, target: targetOf(merchant) }));
      // Log lines refer to them.
      const heads = targets.flatMap(({ target }) => (target === null ? [] : Object.values(target.heads)));
      if (heads.length > 0) await insertRequestHeads(db, heads);
      for (const { merchant, target } of targets) {
        const lane = lanes.get(merchant.id) ?? createLane(merchant);
        Object.assign(lane, { merchant, target, failing: { since: null, warned: false } });
        lanes.set(merchant.id, lane);
      }
      // Set last, so that a failed refresh is repeated.
      mark = newMark;
    },
    isBusy(bucket) {
      for (const lane of lanes.values()) if (lane.merchant.bucket === bucket && lane.busy.size > 0) return true;
      return false;
    },
  };
}

const EMPTY_BUFFER = Buffer.alloc(0);
const isSameBuffer = (a: Buffer | null, b: Buffer | null) => (a ?? EMPTY_BUFFER).equals(b ?? EMPTY_BUFFER);

const hasTargetChanged = (before: Merchant, after: Merchant) =>
  before.webhookUrl !== after.webhookUrl ||
  before.webhookSubPaths !== after.webhookSubPaths ||
  before.webhookAuth !== after.webhookAuth ||
  !isSameBuffer(before.webhookCredential, after.webhookCredential) ||
  !isSameBuffer(before.webhookSecret, after.webhookSecret) ||
  !isSameBuffer(before.webhookOldSecret, after.webhookOldSecret) ||
  before.webhookOldSecretUntil?.getTime() !== after.webhookOldSecretUntil?.getTime();
