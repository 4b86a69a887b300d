import { formatSecret } from "../delivery/https/signature.ts";
import { DAY_MS } from "../domain/durations.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { removeWebhookSecret, rotateWebhookSecret } from "../merchants/merchant-settings.ts";
import { auditSettings } from "../merchants/settings-audit.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  type Command,
  CommandFailure,
  durationOption,
  EXIT_CODES,
  isUuid,
  textOption,
  withDatabase,
} from "./command.ts";

/** 256 bits; Standard Webhooks allows 24 to 64 bytes. */
const SECRET_BYTES = 32;

export const webhookSecretRotate: Command = {
  name: "webhook secret rotate",
  usage: `MERCHANT [--overlap 24h] [--json]
  --overlap D              how long the old secret also signs: 30m, 24h, 7d or 0 (24h)`,
  summary: "Sign webhooks with a new secret; it is shown once",
  options: { overlap: { type: "string" }, json: { type: "boolean" } },
  positionals: ["MERCHANT"],
  examples: ["npx dunlin webhook secret rotate 0198…", "npx dunlin webhook secret rotate 0198… --overlap 7d"],
  async run(context, values, [id]) {
    const overlapMs = durationOption(values, "overlap") ?? DAY_MS;
    return withDatabase(context, async ({ db, ports, secretKeys }) => {
      const before = isUuid(id!) ? await findMerchant(db, id!) : null;
      const secret = formatSecret(ports.randomBytes(SECRET_BYTES));
      const details = { "former signs": textOption(values, "overlap") ?? "24h" };
      const audit = auditSettings(COMMAND_LINE_ACTOR, "webhook.secret_rotated", ports, details);
      if (!before || !(await rotateWebhookSecret(db, before.id, secret, overlapMs, secretKeys, ports, audit)))
        throw unknownMerchantFailure(id!);
      const after = await findMerchant(db, before.id);
      const until = after?.webhookOldSecretUntil ?? null;
      if (values.json) context.print(JSON.stringify({ merchantId: id, secret, oldSecretUntil: until }));
      else {
        context.print(`secret  ${secret}   (shown once)`);
        if (until) context.print(`The old secret also signs until ${until.toISOString()}.`);
        if (before.webhookOldSecretUntil && before.webhookOldSecretUntil > ports.now())
          context.print("The secret before it no longer signs, although its overlap had not ended.");
      }
      return EXIT_CODES.ok;
    });
  },
};

export const webhookSecretRemove: Command = {
  name: "webhook secret remove",
  usage: "MERCHANT",
  summary: "Send webhooks without a signature again",
  options: {},
  positionals: ["MERCHANT"],
  examples: ["npx dunlin webhook secret remove 0198…"],
  async run(context, _values, [id]) {
    return withDatabase(context, async ({ db, ports }) => {
      const audit = auditSettings(COMMAND_LINE_ACTOR, "webhook.secret_removed", ports);
      if (!isUuid(id!) || !(await removeWebhookSecret(db, id!, ports, audit))) throw unknownMerchantFailure(id!);
      context.print("Webhooks are now sent without a signature.");
      return EXIT_CODES.ok;
    });
  },
};

const unknownMerchantFailure = (id: string) =>
  new CommandFailure(`There is no merchant ${id}. "npx dunlin merchant list" shows them.`);
