import type { Permission } from "../domain/permission.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { type ApiKey, expireApiKey, findSuccessor, insertApiKey, revokeApiKey } from "../tables/api-keys.ts";
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

/** The next key, and when the former one ends: at once, or at this moment of service time. */
export interface RotatedKey {
  keyId: string;
  apiKey: string;
  formerEndsAt: Date;
}

/**
 * Make a key in place of another: with its permissions and its note, and to live as long as that one was meant to. What was
 * rotated already is not rotated once more: the key in its place is.
 *
 * @param former  held by this transaction
 * @param overlapMs  service time for which the former one still works, if it does not end before; 0: not at all
 * @returns in words why there is no next key, or the next key
 */
export async function rotateApiKey(
  tx: Tx,
  former: ApiKey,
  overlapMs: number,
  made: Pick<NewApiKey, "id" | "madeBy">,
  ports: Ports,
): Promise<RotatedKey | string> {
  const { merchantId, id, permissions, note, createdAt, expiresAt } = former;
  const now = ports.now();
  if (!isValidAt(former, now)) return "This key does not work any more.";
  const successor = await findSuccessor(tx, merchantId, id);
  if (successor) return `This key was rotated already. Rotate the one in its place, …${successor.lastFour}.`;
  const until = new Date(now.getTime() + overlapMs);
  if (overlapMs === 0) await revokeApiKey(tx, merchantId, id, now);
  const formerEndsAt = (await expireApiKey(tx, merchantId, id, until)) ?? until;
  const lifeMs = expiresAt === null ? null : expiresAt.getTime() - createdAt.getTime();
  const key = {
    merchantId,
    permissions,
    note: note ?? undefined,
    expiresAt: lifeMs === null ? undefined : new Date(now.getTime() + lifeMs),
    replaces: id,
  };
  return { ...(await createApiKey(tx, { ...key, ...made }, ports)), formerEndsAt };
}

/** Whether a key is taken at this moment of service time. */
export const isValidAt = ({ revokedAt, expiresAt }: ApiKey, now: Date) =>
  revokedAt === null && (expiresAt === null || expiresAt > now);
