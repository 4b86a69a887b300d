import { MERCHANT_DEFAULTS, type Merchant } from "../domain/merchant.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import type { ExtraWrite } from "./merchant-settings.ts";
import { SETTINGS_WORDING } from "./settings-wording.ts";

/** Logs changed settings in the audit log, but never the value of a secret. */
export const auditSettings =
  (actor: Actor, operation: string, ports: Ports, extra: Record<string, unknown> = {}): ExtraWrite =>
  async (tx, before, after) => {
    const details: Record<string, unknown> = { ...extra };
    for (const [name, format] of SETTINGS_WORDING)
      if (format(before) !== format(after)) details[name] = `${format(before)} → ${format(after)}`;
    if (!sameBytes(before.webhookCredential, after.webhookCredential))
      details.credential = `changed (${after.webhookAuth})`;
    const object = operation.startsWith("webhook.") ? (after.webhookUrl ?? after.name) : after.name;
    await writeAuditEntry(tx, after.id, actor, { operation, object, details }, ports);
  };

/** Logs a new merchant, with the settings that differ from the defaults. */
export const auditCreation = (tx: Tx, actor: Actor, merchant: Merchant, ports: Ports) =>
  auditSettings(actor, "merchant.created", ports)(tx, { ...merchant, ...MERCHANT_DEFAULTS }, merchant);

const sameBytes = (a: Buffer | null, b: Buffer | null) => (a === null || b === null ? a === b : a.equals(b));
