import type { Logger as Log } from "pino";
import type { Merchant } from "../domain/merchant.ts";
import type { Database } from "../store/database.ts";
import { errorFields } from "../store/database-errors.ts";
import { listMerchants } from "../store/merchants.ts";
import { insertRequestHeads } from "../store/request-heads.ts";
import type { SecretKeys } from "../store/secret-box.ts";
import { type Target, targetOf } from "./attempt.ts";
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
export function createLanes(db: Database, log: Log, secretKeys: SecretKeys): Lanes {
  const lanes = new Map<string, Lane>();

  function aimAt(merchant: Merchant): Target | null {
    try {
      return targetOf(merchant, secretKeys);
    } catch (error) {
      log.error({ ...errorFields(error), merchantId: merchant.id }, "credential.unreadable");
      return null;
    }
  }

  return {
    get: (merchantId) => lanes.get(merchantId),
    all: () => lanes.values(),
    async refresh() {
      const changed: Merchant[] = [];
      for (const merchant of await listMerchants(db)) {
        const lane = lanes.get(merchant.id);
        if (lane === undefined || aimedElsewhere(lane.merchant, merchant)) changed.push(merchant);
        else lane.merchant = merchant;
      }
      const aims = changed.map((merchant) => ({ merchant, target: aimAt(merchant) }));
      // Before anything is sent by them: the log refers to these.
      const heads = aims.flatMap(({ target }) => (target === null ? [] : Object.values(target.heads)));
      if (heads.length > 0) await insertRequestHeads(db, heads);
      for (const { merchant, target } of aims) {
        const lane = lanes.get(merchant.id) ?? newLane(merchant);
        Object.assign(lane, { merchant, target, failing: { since: null, warned: false } });
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
