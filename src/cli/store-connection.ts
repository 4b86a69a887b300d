import type { Connection, ConnectionSecrets, ConnectionSettings, ConnectorName } from "../domain/connection.ts";
import { INTEGRATION_TYPES } from "../domain/integration.ts";
import type { Merchant } from "../domain/merchant.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { changeMerchant, type ExtraWrite, type MerchantSettings } from "../merchants/merchant-settings.ts";
import { auditSettings } from "../merchants/settings-audit.ts";
import type { Tx } from "../postgres/database.ts";
import { apiKeysOfMerchant, revokeApiKey } from "../tables/api-keys.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { deleteConnection, findConnection, saveConnection } from "../tables/connections.ts";
import { runningExperiment } from "../tables/experiments.ts";
import { findMerchant } from "../tables/merchants.ts";
import { seal, UnreadableSecret, unseal } from "../tables/secret-box.ts";
import { CommandFailure, EXIT_CODES, type OpenedDatabase } from "./command.ts";
import { endpointOf } from "./connection-options.ts";
import { createKey } from "./key-commands.ts";

/** Permissions of the key with which a connector calls Dunlin. */
const KEY_PERMISSIONS = [
  "ingest:subscriptions",
  "ingest:invoices",
  "ingest:transactions",
  "read:explanations",
] as const;
const TOKEN_BYTES = 32;

export interface NewConnection {
  merchantId: string;
  name: ConnectorName;
  isLive: boolean;
  /** Undefined: as stored. */
  providerKey: string | undefined;
  webhookSecrets: string[] | undefined;
  settings: ConnectionSettings;
  /** Whether another endpoint of the merchant may be replaced. */
  replacesEndpoint: boolean;
}

export interface StoredConnection {
  secrets: ConnectionSecrets;
  isNew: boolean;
  /** Whether the merchant was put into shadow mode. */
  startsInShadow: boolean;
}

/** Reads the secrets of a stored connection; null: no key decrypts them. */
export function readConnectionSecrets(
  { secretKeys }: Pick<OpenedDatabase, "secretKeys">,
  { secrets }: Connection,
): ConnectionSecrets | null {
  try {
    return JSON.parse(unseal(secretKeys, secrets)) as ConnectionSecrets;
  } catch (error) {
    if (error instanceof UnreadableSecret) return null;
    throw error;
  }
}

/**
 * Stores a connection, and sets up Dunlin's side of it in the same transaction: an API key, the endpoint with its token, and the event
 * `recovery_ended`. An endpoint that Dunlin paused is resumed. A merchant that is connected for the first time is put into shadow mode,
 * so that nothing is charged yet.
 */
export async function storeConnection(opened: OpenedDatabase, given: NewConnection): Promise<StoredConnection> {
  const { db, ports, secretKeys } = opened;
  const { merchantId, name, isLive } = given;
  const { before, stored, providerKey } = await requireConnectable(opened, given);
  const token = stored?.token ?? ports.randomBytes(TOKEN_BYTES).toString("base64url");
  const url = endpointOf(given.settings);
  const ownUrl = before && endpointOf(before.settings);
  const isShadow = before === null && (await runningExperiment(db, merchantId)) === null;
  const changes = ({ webhookPausedBy }: Merchant): MerchantSettings => ({
    ...{ webhookUrl: url, webhookFlat: false, webhookSubPaths: false, sendsRecoveryEnded: true },
    ...(stored === null && { credential: { auth: "bearer", secret: token } }),
    ...(isShadow && { shadow: true }),
    // Dunlin paused it because no connector answered.
    ...(webhookPausedBy === "dunlin" && { webhookPaused: false }),
  });
  const audited = auditSettings(COMMAND_LINE_ACTOR, before ? "connection.changed" : "connection.made", ports);
  let secrets: ConnectionSecrets | undefined;
  const save: ExtraWrite = async (tx, merchantBefore, after) => {
    const { webhookUrl } = merchantBefore;
    if (webhookUrl !== null && webhookUrl !== url && webhookUrl !== ownUrl && !given.replacesEndpoint)
      throw new CommandFailure(otherEndpoint(webhookUrl));
    const apiKey = stored?.apiKey ?? (await createConnectorKey(tx, opened, merchantId, name));
    secrets = { providerKey, token, apiKey, webhookSecrets: given.webhookSecrets ?? stored?.webhookSecrets ?? [] };
    await saveConnection(tx, {
      ...{ merchantId, name, isLive, settings: given.settings, createdAt: ports.now() },
      secrets: seal(secretKeys, ports.randomBytes(12), JSON.stringify(secrets)),
      localPort: given.settings.endpointUrl === null ? given.settings.port : null,
    });
    await audited(tx, merchantBefore, after);
  };
  await changeMerchant(db, merchantId, changes, secretKeys, ports, save);
  return { secrets: secrets!, isNew: before === null, startsInShadow: isShadow };
}

/** Resumes the endpoint if Dunlin paused it while its connector was out of reach. Returns whether it did. */
export async function resumeEndpoint({ db, ports, secretKeys }: OpenedDatabase, merchantId: string): Promise<boolean> {
  if ((await findMerchant(db, merchantId))?.webhookPausedBy !== "dunlin") return false;
  const changes = ({ webhookPausedBy }: Merchant) => (webhookPausedBy === "dunlin" ? { webhookPaused: false } : {});
  const audited = auditSettings(COMMAND_LINE_ACTOR, "connection.changed", ports);
  await changeMerchant(db, merchantId, changes, secretKeys, ports, audited);
  return true;
}

/** @throws CommandFailure if there is no key, or one for the other mode is stored */
export async function requireConnectable(
  opened: OpenedDatabase,
  given: Pick<NewConnection, "merchantId" | "name" | "isLive" | "providerKey">,
) {
  const before = await findConnection(opened.db, given.merchantId, given.name);
  if (before && before.isLive !== given.isLive) throw new CommandFailure(otherMode(before.isLive));
  const stored = before && readConnectionSecrets(opened, before);
  const providerKey = given.providerKey ?? stored?.providerKey;
  if (providerKey !== undefined) return { before, stored, providerKey };
  throw new CommandFailure(
    before
      ? "The stored keys can no longer be read, because the secret key changed. Give the Stripe key again: --stripe-key-file F"
      : "This account is not connected yet. Give its key: --stripe-key-file F",
    EXIT_CODES.config,
  );
}

async function createConnectorKey(tx: Tx, { ports }: OpenedDatabase, merchantId: string, name: ConnectorName) {
  const integrationType = INTEGRATION_TYPES.find((each) => each.toLowerCase() === name);
  const key = { merchantId, permissions: KEY_PERMISSIONS, note: noteOf(name), integrationType };
  return (await createKey(tx, key, ports)).apiKey;
}

const noteOf = (name: ConnectorName) => `connector ${name}`;

/** Forgets a connection, its key and the merchant's endpoint. */
export async function removeConnection(
  { db, ports, secretKeys }: OpenedDatabase,
  { merchantId, name }: Pick<Connection, "merchantId" | "name">,
) {
  await changeMerchant(db, merchantId, { webhookUrl: null }, secretKeys, ports, async (tx) => {
    for (const key of await apiKeysOfMerchant(tx, merchantId))
      if (key.note === noteOf(name) && key.revokedAt === null) await revokeApiKey(tx, merchantId, key.id, ports.now());
    await deleteConnection(tx, merchantId, name);
    const entry = { operation: "connection.ended", object: name, details: {} };
    await writeAuditEntry(tx, merchantId, COMMAND_LINE_ACTOR, entry, ports);
  });
}

const otherMode = (isLive: boolean) =>
  `This merchant is connected in ${isLive ? "live" : "test"} mode, and the two modes are never mixed. Choose another merchant with --merchant, or ${isLive ? "say" : "leave out"} --live.`;

const otherEndpoint = (url: string) =>
  `The merchant's webhooks already go to ${url}. A connector needs them itself: choose another merchant with --merchant, or say --replace-endpoint.`;
