import type { Permission } from "../domain/permission.ts";
import type { Ports } from "../domain/ports.ts";
import { type ApiKey, expireApiKey, insertApiKey, revokeApiKey } from "../store/api-keys.ts";
import type { Tx } from "../store/database.ts";
import { hashOfApiKey, KEY_PREFIX, newApiKeyText } from "./api-key-text.ts";

export interface NewApiKey {
  merchantId: string;
  permissions: readonly Permission[];
  note?: string | undefined;
  /** From this moment of service time on the key is refused. */
  expiresAt?: Date | undefined;
  /** Chosen before, so that a form that is sent twice makes one key: the second is refused by the table's key. */
  id?: string | undefined;
  /** As the audit log names people. */
  madeBy?: string | undefined;
  /** The key that it takes the place of. */
  replaces?: string | undefined;
}

/** Make a key and store its hash. `apiKey` is seen here and never again. */
export async function createApiKey(tx: Tx, key: NewApiKey, ports: Ports): Promise<{ keyId: string; apiKey: string }> {
  const apiKey = newApiKeyText(ports.randomBytes);
  const keyId = key.id ?? ports.newId();
  await insertApiKey(tx, {
    id: keyId,
    merchantId: key.merchantId,
    hash: hashOfApiKey(apiKey),
    prefix: KEY_PREFIX,
    lastFour: apiKey.slice(-4),
    permissions: [...new Set(key.permissions)],
    note: key.note ?? null,
    createdAt: ports.now(),
    expiresAt: key.expiresAt ?? null,
    madeBy: key.madeBy ?? null,
    replaces: key.replaces ?? null,
  });
  return { keyId, apiKey };
}

/**
 * Make a key in place of another: same permissions, note and end.
 *
 * @param former  held by this transaction, and in force
 * @param overlapMs  service time for which the former one still works; 0: not at all
 */
export async function rotateApiKey(
  tx: Tx,
  former: ApiKey,
  overlapMs: number,
  made: Pick<NewApiKey, "id" | "madeBy">,
  ports: Ports,
): Promise<{ keyId: string; apiKey: string }> {
  const { merchantId, id, permissions, note, expiresAt } = former;
  const now = ports.now();
  if (overlapMs === 0) await revokeApiKey(tx, merchantId, id, now);
  else await expireApiKey(tx, merchantId, id, new Date(now.getTime() + overlapMs));
  const key = { merchantId, permissions, note: note ?? undefined, expiresAt: expiresAt ?? undefined, replaces: id };
  return createApiKey(tx, { ...key, ...made }, ports);
}

/** Whether a key is taken at this moment of service time. */
export const isInForce = ({ revokedAt, expiresAt }: ApiKey, now: Date) =>
  revokedAt === null && (expiresAt === null || expiresAt > now);
