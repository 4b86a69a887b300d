import type { Logger as Log } from "pino";
import type { Merchant } from "../domain/merchant.ts";
import { type Database, errorFields } from "../store/database.ts";
import { listMerchants } from "../store/merchants.ts";
import { targetOf } from "./attempt.ts";
import { type Lane, newLane } from "./lane.ts";

export interface Lanes {
  get(merchantId: string): Lane | undefined;
  all(): Iterable<Lane>;
  /** Read all merchants' settings; new merchants get a lane. */
  refresh(): Promise<void>;
  /** Whether attempts of this bucket are on the wire or not recorded yet. */
  busy(bucket: number): boolean;
}

/** A lane for every merchant, with the merchant's present settings. */
export function createLanes(db: Database, log: Log, secretKey: Buffer): Lanes {
  const lanes = new Map<string, Lane>();

  function aim(lane: Lane) {
    try {
      lane.target = targetOf(lane.merchant, secretKey);
    } catch (error) {
      lane.target = null;
      log.error({ ...errorFields(error), merchantId: lane.merchant.id }, "credential.unreadable");
    }
  }

  return {
    get: (merchantId) => lanes.get(merchantId),
    all: () => lanes.values(),
    async refresh() {
      for (const merchant of await listMerchants(db)) {
        const lane = lanes.get(merchant.id) ?? newLane(merchant);
        const known = lanes.has(merchant.id) && !aimedElsewhere(lane.merchant, merchant);
        lane.merchant = merchant;
        if (!known) aim(lane);
        lanes.set(merchant.id, lane);
      }
    },
    busy(bucket) {
      for (const lane of lanes.values()) if (lane.merchant.bucket === bucket && lane.busy.size > 0) return true;
      return false;
    },
  };
}

const NOTHING = Buffer.alloc(0);
const same = (a: Buffer | null, b: Buffer | null) => (a ?? NOTHING).equals(b ?? NOTHING);

/** Whether the endpoint changed, so that its URL, credential and secrets must be read anew. */
const aimedElsewhere = (before: Merchant, after: Merchant) =>
  before.webhookUrl !== after.webhookUrl ||
  before.webhookSubPaths !== after.webhookSubPaths ||
  before.webhookAuth !== after.webhookAuth ||
  !same(before.webhookCredential, after.webhookCredential) ||
  !same(before.webhookSecret, after.webhookSecret) ||
  !same(before.webhookOldSecret, after.webhookOldSecret) ||
  before.webhookOldSecretUntil?.getTime() !== after.webhookOldSecretUntil?.getTime();
