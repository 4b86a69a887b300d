import type { Merchant } from "../domain/merchant.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { audit } from "../store/audit-log.ts";
import type { Also } from "./merchants.ts";

/** What may be shown of a merchant, under the names that people know. */
const SHOWN = {
  name: "name",
  webhookUrl: "url",
  webhookFlat: "flat",
  webhookSubPaths: "sub-paths",
  webhookCap: "cap",
  webhookRate: "webhook rate",
  webhookPaused: "paused",
  leadMs: "lead (ms)",
  windowDays: "window (days)",
  budget: "budget",
  shadow: "shadow mode",
  ratePerSecond: "requests per second",
  rateBurst: "burst",
} as const satisfies Partial<Record<keyof Merchant, string>>;

/** Writes the audit log's line of a change of a merchant: what is another now, and of secrets only that they are. */
export const auditSettings =
  (actor: Actor, deed: string, ports: Ports, extra: Record<string, unknown> = {}): Also =>
  async (tx, before, after) => {
    const details: Record<string, unknown> = { ...extra };
    for (const [field, name] of Object.entries(SHOWN) as [keyof typeof SHOWN, string][])
      if (before[field] !== after[field]) details[name] = `${before[field]} → ${after[field]}`;
    if (!sameBytes(before.webhookCredential, after.webhookCredential))
      details.credential = `changed (${after.webhookAuth})`;
    await audit(tx, after.id, actor, { deed, object: after.webhookUrl ?? after.name, details }, ports);
  };

const sameBytes = (a: Buffer | null, b: Buffer | null) => (a === null || b === null ? a === b : a.equals(b));
