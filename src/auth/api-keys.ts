import type { Permission } from "../domain/permission.ts";
import type { Ports } from "../domain/ports.ts";
import { insertApiKey } from "../store/api-keys.ts";
import type { Tx } from "../store/database.ts";
import { hashOfApiKey, KEY_PREFIX, newApiKeyText } from "./api-key-text.ts";

export interface NewApiKey {
  merchantId: string;
  permissions: readonly Permission[];
  note?: string | undefined;
  /** From this moment of service time on the key is refused. */
  expiresAt?: Date | undefined;
}

/** Make a key and store its hash. `apiKey` is seen here and never again. */
export async function createApiKey(tx: Tx, key: NewApiKey, ports: Ports): Promise<{ keyId: string; apiKey: string }> {
  const apiKey = newApiKeyText(ports.randomBytes);
  const keyId = ports.newId();
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
  });
  return { keyId, apiKey };
}
