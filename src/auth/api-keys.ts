import type { IntegrationType } from "../domain/integration.ts";
import type { Permission } from "../domain/permission.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { type ApiKey, expireApiKey, findSuccessor, insertApiKey, revokeApiKey } from "../tables/api-keys.ts";
import { hashOfApiKey, KEY_PREFIX, newApiKeyText } from "./api-key-text.ts";

export interface NewApiKey {
  merchantId: string;
  permissions: readonly Permission[];
  note?: string | undefined;
  expiresAt?: Date | undefined;
  /** Chosen by the caller, so that submitting a form twice creates one key: the primary key refuses the second. */
  id?: string | undefined;
  /** The person's name in the audit log. */
  createdBy?: string | undefined;
  replaces?: string | undefined;
  /** The billing system whose connector uses it. */
  integrationType?: IntegrationType | undefined;
}

/** Creates a key and stores its hash. `apiKey` is never available again. */
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
    createdBy: key.createdBy ?? null,
    replaces: key.replaces ?? null,
    integrationType: key.integrationType ?? null,
  });
  return { keyId, apiKey };
}

export interface RotatedKey {
  keyId: string;
  apiKey: string;
  formerEndsAt: Date;
}

/**
 * Creates a successor with the same permissions, note, lifetime and integration. A key has at most one successor.
 *
 * @param former  locked by this transaction
 * @param overlapMs  service time for which the former key stays valid, unless it expires earlier; 0 revokes it at once
 * @returns the new key, or why it was refused
 */
export async function rotateApiKey(
  tx: Tx,
  former: ApiKey,
  overlapMs: number,
  created: Pick<NewApiKey, "id" | "createdBy">,
  ports: Ports,
): Promise<RotatedKey | string> {
  const { merchantId, id, permissions, note, createdAt, expiresAt, integrationType } = former;
  const now = ports.now();
  if (!isValidAt(former, now)) return "This key is no longer valid.";
  const successor = await findSuccessor(tx, merchantId, id);
  if (successor) return `This key was already rotated. Rotate its successor, …${successor.lastFour}.`;
  const until = new Date(now.getTime() + overlapMs);
  if (overlapMs === 0) await revokeApiKey(tx, merchantId, id, now);
  const formerEndsAt = (await expireApiKey(tx, merchantId, id, until)) ?? until;
  const lifetimeMs = expiresAt === null ? null : expiresAt.getTime() - createdAt.getTime();
  const key = {
    merchantId,
    permissions,
    note: note ?? undefined,
    expiresAt: lifetimeMs === null ? undefined : new Date(now.getTime() + lifetimeMs),
    replaces: id,
    integrationType: integrationType ?? undefined,
  };
  return { ...(await createApiKey(tx, { ...key, ...created }, ports)), formerEndsAt };
}

export const isValidAt = ({ revokedAt, expiresAt }: ApiKey, now: Date) =>
  revokedAt === null && (expiresAt === null || expiresAt > now);
