import { MERCHANT_DEFAULTS, type Merchant } from "../domain/merchant.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import type { ExtraWrite } from "./merchant-settings.ts";
import { SETTINGS_WORDING } from "./settings-wording.ts";

/** Writes the audit log's line of a change of a merchant: what is another now, and of secrets only that they are. */
export const auditSettings =
  (actor: Actor, deed: string, ports: Ports, extra: Record<string, unknown> = {}): ExtraWrite =>
  async (tx, before, after) => {
    const details: Record<string, unknown> = { ...extra };
    for (const [name, words] of SETTINGS_WORDING)
      if (words(before) !== words(after)) details[name] = `${words(before)} → ${words(after)}`;
    if (!sameBytes(before.webhookCredential, after.webhookCredential))
      details.credential = `changed (${after.webhookAuth})`;
    const object = deed.startsWith("webhook.") ? (after.webhookUrl ?? after.name) : after.name;
    await writeAuditEntry(tx, after.id, actor, { deed, object, details }, ports);
  };

/** Writes the audit log's line of a new merchant: what is not as it is for all at first. */
export const auditCreation = (tx: Tx, actor: Actor, merchant: Merchant, ports: Ports) =>
  auditSettings(actor, "merchant.created", ports)(tx, { ...merchant, ...MERCHANT_DEFAULTS }, merchant);

const sameBytes = (a: Buffer | null, b: Buffer | null) => (a === null || b === null ? a === b : a.equals(b));
