import type { Connection } from "../domain/connection.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { listChatUrls, type SealedChatUrl, updateChatUrl } from "../tables/chat-webhooks.ts";
import { listConnections, updateConnectionSecrets } from "../tables/connections.ts";
import { claimInstallation, keyCheck, setKeyChecks } from "../tables/installation.ts";
import { listMerchants, lockMerchant, lockMerchantsTable, updateEncryptedFields } from "../tables/merchants.ts";
import { type SecretKeys, seal, unseal } from "../tables/secret-box.ts";

export const SEALED_COLUMNS = ["webhookCredential", "webhookSecret", "webhookOldSecret"] as const;

/** Counts encrypted values. */
export interface ResealResult {
  /** Now encrypted with the first key. */
  changed: number;
  /** All encrypted values. */
  boxes: number;
  /** Merchants with a value that no key decrypts. The rotation is incomplete while any are left. */
  unreadable: Merchant[];
  /** Connections likewise. */
  unreadableConnections: Connection[];
  /** Merchants with a chat whose URL no key decrypts. */
  unreadableChats: string[];
}

/**
 * Encrypts everything with the first key, one merchant at a time. Finally checks all merchants under a table lock and makes the
 * first key the key of the installation.
 */
export async function resealAll(
  db: Database,
  keys: SecretKeys,
  ports: Ports,
  onMerchant: () => void,
): Promise<ResealResult> {
  const first = keyCheck(keys[0]!);
  // Until then, a process needs all of these keys to start.
  await db.transaction(async (tx) => {
    const checks = await claimInstallation(tx, first);
    if (!checks.some((each) => each.equals(first))) await setKeyChecks(tx, [...checks, first]);
  });
  let changed = 0;
  for (const { id } of await listMerchants(db)) {
    changed += await db.transaction(async (tx) => {
      const merchant = await lockMerchant(tx, id);
      return merchant ? resealMerchant(tx, merchant, keys, ports) : 0;
    });
    onMerchant();
  }
  return await db.transaction(async (tx) => {
    // No connection or chat is stored meanwhile, because that locks its merchant.
    await lockMerchantsTable(tx);
    for (const merchant of await listMerchants(tx)) changed += await resealMerchant(tx, merchant, keys, ports);
    for (const connection of await listConnections(tx)) changed += await resealConnection(tx, connection, keys, ports);
    for (const chat of await listChatUrls(tx)) changed += await resealChat(tx, chat, keys, ports);
    const merchants = await listMerchants(tx);
    const connections = await listConnections(tx);
    const unreadableConnections = connections.filter(({ secrets }) => !canUnseal(keys.slice(0, 1), secrets));
    const unreadable = merchants.filter((each) =>
      sealedValuesOf(each).some((box) => !canUnseal(keys.slice(0, 1), box)),
    );
    const chats = await listChatUrls(tx);
    const unreadableChats = chats
      .filter(({ url }) => !canUnseal(keys.slice(0, 1), url))
      .map(({ merchantId }) => merchantId);
    if (unreadable.length + unreadableConnections.length + unreadableChats.length === 0)
      await setKeyChecks(tx, [first]);
    const boxes = merchants.flatMap(sealedValuesOf).length + connections.length + chats.length;
    return { changed, boxes, unreadable, unreadableConnections, unreadableChats };
  });
}

const sealedValuesOf = (merchant: Merchant) => SEALED_COLUMNS.flatMap((name) => merchant[name] ?? []);

/** Re-encrypts the values of a locked merchant. Returns their number. */
async function resealMerchant(tx: Tx, merchant: Merchant, keys: SecretKeys, ports: Ports): Promise<number> {
  const stale = SEALED_COLUMNS.filter(
    (name) => merchant[name] && !canUnseal(keys.slice(0, 1), merchant[name]) && canUnseal(keys, merchant[name]),
  );
  if (stale.length === 0) return 0;
  const boxes = stale.map((name) => [name, seal(keys, ports.randomBytes(12), unseal(keys, merchant[name]!))]);
  await updateEncryptedFields(tx, { ...merchant, ...Object.fromEntries(boxes) });
  return stale.length;
}

async function resealConnection(tx: Tx, connection: Connection, keys: SecretKeys, ports: Ports): Promise<number> {
  const { secrets } = connection;
  if (canUnseal(keys.slice(0, 1), secrets) || !canUnseal(keys, secrets)) return 0;
  await updateConnectionSecrets(tx, {
    ...connection,
    secrets: seal(keys, ports.randomBytes(12), unseal(keys, secrets)),
  });
  return 1;
}

async function resealChat(tx: Tx, { merchantId, url }: SealedChatUrl, keys: SecretKeys, ports: Ports): Promise<number> {
  if (canUnseal(keys.slice(0, 1), url) || !canUnseal(keys, url)) return 0;
  await updateChatUrl(tx, { merchantId, url: seal(keys, ports.randomBytes(12), unseal(keys, url)) });
  return 1;
}

function canUnseal(keys: SecretKeys, box: Buffer): boolean {
  try {
    unseal(keys, box);
    return true;
  } catch {
    return false;
  }
}
