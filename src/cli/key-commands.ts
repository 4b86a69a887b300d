import { createApiKey, type NewApiKey, rotateApiKey } from "../auth/api-keys.ts";
import { DAY_MS } from "../domain/durations.ts";
import { INTEGRATION_TYPES, type IntegrationType } from "../domain/integration.ts";
import { PERMISSIONS, type Permission } from "../domain/permission.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { type ApiKey, apiKeysOfMerchant, lockApiKey, revokeApiKey } from "../tables/api-keys.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  type Command,
  CommandFailure,
  durationOption,
  EXIT_CODES,
  formatTable,
  isUuid,
  type OptionValues,
  textOption,
  timeOption,
  UsageError,
  withDatabase,
} from "./command.ts";

export const keyCreate: Command = {
  name: "key create",
  usage: `--merchant M --permissions P,… [--integration I] [--expires D] [--note N] [--json]
  permissions: ${PERMISSIONS.join(" ")}
  --integration I          the billing system whose connector uses the key: ${INTEGRATION_TYPES.join(" | ").toLowerCase()}
  --expires D              when the key expires, a date up to 2199 (never)`,
  summary: "Create an API key; it is shown once",
  options: {
    merchant: { type: "string" },
    permissions: { type: "string" },
    integration: { type: "string" },
    expires: { type: "string" },
    note: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  examples: ["npx dunlin key create --merchant 0198… --permissions read:recovery_actions --expires 2027-12-31"],
  async run(context, values) {
    const merchantId = merchantOption(values);
    const expiresAt = timeOption(values, "expires");
    const note = textOption(values, "note");
    const permissions = parsePermissions(textOption(values, "permissions"));
    const integrationType = parseIntegration(textOption(values, "integration"));
    return withDatabase(context, async ({ db, ports }) => {
      await assertMerchantExists(db, merchantId);
      if (expiresAt && expiresAt <= ports.now()) throw new UsageError("--expires must be in the future.");
      const key = await db.transaction((tx) =>
        createKey(tx, { merchantId, permissions, expiresAt, note, integrationType }, ports),
      );
      if (values.json) context.print(JSON.stringify({ keyId: key.keyId, apiKey: key.apiKey }));
      else {
        context.print(`key      ${key.keyId}`);
        context.print(`API key  ${key.apiKey}   (shown once)`);
      }
      return EXIT_CODES.ok;
    });
  },
};

export const keyList: Command = {
  name: "key list",
  usage: "--merchant M [--json]",
  summary: "List the API keys of a merchant, newest first",
  options: { merchant: { type: "string" }, json: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin key list --merchant 0198…"],
  async run(context, values) {
    const merchantId = merchantOption(values);
    return withDatabase(context, async ({ db, ports }) => {
      await assertMerchantExists(db, merchantId);
      const keys = (await apiKeysOfMerchant(db, merchantId)).reverse();
      if (values.json) context.print(JSON.stringify(keys));
      else for (const line of formatTable(HEADINGS, keys.map(keyRow(ports.now())))) context.print(line);
      return EXIT_CODES.ok;
    });
  },
};

export const keyRevoke: Command = {
  name: "key revoke",
  usage: "KEY --merchant M",
  summary: "Revoke an API key for good; every replica refuses it within a second",
  options: { merchant: { type: "string" } },
  positionals: ["KEY"],
  examples: ["npx dunlin key revoke 0198… --merchant 0198…"],
  async run(context, values, [keyId]) {
    const merchantId = merchantOption(values);
    return withDatabase(context, async ({ db, ports }) => {
      await assertMerchantExists(db, merchantId);
      await db.transaction(async (tx) => {
        if (!isUuid(keyId!) || !(await revokeApiKey(tx, merchantId, keyId!, ports.now())))
          throw new CommandFailure(`The merchant has no active key ${keyId}. "npx dunlin key list" shows its keys.`);
        await writeAuditEntry(tx, merchantId, COMMAND_LINE_ACTOR, { operation: "key.revoked", object: keyId! }, ports);
      });
      context.print(`Revoked key ${keyId}.`);
      return EXIT_CODES.ok;
    });
  },
};

export const keyRotate: Command = {
  name: "key rotate",
  usage: `KEY --merchant M [--overlap 24h] [--json]
  --overlap D              how long the old key keeps working: 30m, 24h, 7d or 0 (24h)`,
  summary: "Replace an API key with a new one; it is shown once",
  options: { merchant: { type: "string" }, overlap: { type: "string" }, json: { type: "boolean" } },
  positionals: ["KEY"],
  examples: [
    "npx dunlin key rotate 0198… --merchant 0198…",
    "npx dunlin key rotate 0198… --merchant 0198… --overlap 0",
  ],
  async run(context, values, [formerId]) {
    const merchantId = merchantOption(values);
    const overlapMs = durationOption(values, "overlap") ?? DAY_MS;
    return withDatabase(context, async ({ db, ports }) => {
      await assertMerchantExists(db, merchantId);
      const rotated = await db.transaction(async (tx) => {
        const former = isUuid(formerId!) ? await lockApiKey(tx, merchantId, formerId!) : null;
        if (!former)
          throw new CommandFailure(`The merchant has no key ${formerId}. "npx dunlin key list" shows its keys.`);
        const created = await rotateApiKey(tx, former, overlapMs, {}, ports);
        if (typeof created === "string") throw new CommandFailure(created);
        const details = { former: `…${former.lastFour}`, "former works until": created.formerEndsAt };
        const object = `…${created.apiKey.slice(-4)}`;
        await writeAuditEntry(tx, merchantId, COMMAND_LINE_ACTOR, { operation: "key.rotated", object, details }, ports);
        return created;
      });
      if (values.json) context.print(JSON.stringify(rotated));
      else {
        context.print(`key      ${rotated.keyId}`);
        context.print(`API key  ${rotated.apiKey}   (shown once)`);
        context.print(`The old key works until ${rotated.formerEndsAt.toISOString()}.`);
      }
      return EXIT_CODES.ok;
    });
  },
};

export async function createKey(tx: Tx, key: NewApiKey, ports: Ports) {
  const created = await createApiKey(tx, key, ports);
  const { permissions, expiresAt, note, integrationType } = key;
  const details = { permissions, expires: expiresAt?.toISOString() ?? "never", note, integration: integrationType };
  const object = `…${created.apiKey.slice(-4)}`;
  await writeAuditEntry(tx, key.merchantId, COMMAND_LINE_ACTOR, { operation: "key.created", object, details }, ports);
  return created;
}

const HEADINGS = ["KEY", "TEXT", "PERMISSIONS", "CREATED", "LAST USED", "STATE", "NOTE"] as const;

const keyRow = (now: Date) => (key: ApiKey) => [
  key.id,
  `${key.prefix}…${key.lastFour}`,
  key.permissions.join(","),
  key.createdAt.toISOString(),
  key.lastUsedAt?.toISOString() ?? "never",
  describeKeyState(key, now),
  key.note ?? "",
];

function describeKeyState({ revokedAt, expiresAt }: ApiKey, now: Date): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`;
  if (!expiresAt) return "active";
  return `${expiresAt <= now ? "expired" : "active until"} ${expiresAt.toISOString()}`;
}

function merchantOption(values: OptionValues): string {
  const merchantId = textOption(values, "merchant");
  if (merchantId === undefined) throw new UsageError("--merchant is missing.");
  return merchantId;
}

async function assertMerchantExists(tx: Tx, merchantId: string) {
  if (!isUuid(merchantId) || !(await findMerchant(tx, merchantId)))
    throw new CommandFailure(`There is no merchant ${merchantId}. "npx dunlin merchant list" shows them.`);
}

function parsePermissions(list: string | undefined): Permission[] {
  if (list === undefined) throw new UsageError(`--permissions is missing. Available: ${PERMISSIONS.join(",")}`);
  return list.split(",").map((name) => {
    const permission = PERMISSIONS.find((each) => each === name.trim());
    if (!permission) throw new UsageError(`Unknown permission "${name}". Available: ${PERMISSIONS.join(",")}`);
    return permission;
  });
}

function parseIntegration(name: string | undefined): IntegrationType | undefined {
  if (name === undefined) return undefined;
  const integrationType = INTEGRATION_TYPES.find((each) => each.toLowerCase() === name);
  if (integrationType) return integrationType;
  const available = INTEGRATION_TYPES.join(", ").toLowerCase();
  throw new UsageError(`Unknown integration "${name}". Available: ${available}`);
}
