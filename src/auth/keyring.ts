import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { type ApiKey, apiKeysByIds, findApiKey, touchApiKeys } from "../tables/api-keys.ts";
import { findMerchant } from "../tables/merchants.ts";
import { hashOfApiKey, isApiKeyText } from "./api-key-text.ts";
import { isValidAt } from "./api-keys.ts";

export interface Caller {
  key: ApiKey;
  merchant: Merchant;
}

export interface Keyring {
  /** Returns the caller of a key that is valid now, or null. Throws if the database is unavailable. */
  find(apiKey: string): Promise<Caller | null>;
  /** Whether this process ever found the key, even if it was revoked since. */
  hasFound(apiKey: string): boolean;
  /** Drops idle keys, and writes `last_used_at` of recently used ones in one statement. */
  flush(): Promise<void>;
}

// A revocation takes effect in every process within a second, so older reads are not trusted.
const MAX_KEY_AGE_MS = 900;
// Keys are refreshed before they expire, so that requests rarely wait.
const REFRESH_MS = 450;
const IDLE_MS = 30_000;
const MAX_MERCHANT_AGE_MS = 5_000;

interface KeyEntry {
  caller: Caller;
  /** When the reads began, in monotonic time. */
  keyReadAt: number;
  merchantReadAt: number;
  usedAt: number;
}

/** Caches keys in use. While requests arrive, one statement refreshes all keys. Without requests, the database is not queried. */
export function createKeyring(db: Database, ports: Ports): Keyring {
  /** By the key itself, because hashing it for each request would cost too much. */
  const entries = new Map<string, KeyEntry>();
  const lastUses = new Map<string, Date>();
  const foundHashes = new Set<string>();
  let refreshing: Promise<void> | undefined;

  async function find(apiKey: string): Promise<Caller | null> {
    const caller = (await findCached(apiKey)) ?? (await load(apiKey));
    const now = ports.now();
    if (!caller || !isValidAt(caller.key, now)) return null;
    lastUses.set(caller.key.id, now);
    return caller;
  }

  /** Returns the cached caller, if it is recent enough. */
  async function findCached(apiKey: string): Promise<Caller | undefined> {
    const entry = entries.get(apiKey);
    if (!entry) return undefined;
    const now = ports.monotonicMs();
    entry.usedAt = now;
    if (now - entry.keyReadAt >= MAX_KEY_AGE_MS) await refresh();
    else if (now - entry.keyReadAt >= REFRESH_MS) refresh().catch(() => {}); // a request that waits for the refresh gets the error
    const current = entries.get(apiKey);
    // A refresh that began earlier may be too old.
    return current && ports.monotonicMs() - current.keyReadAt < MAX_KEY_AGE_MS ? current.caller : undefined;
  }

  async function load(apiKey: string): Promise<Caller | null> {
    if (!isApiKeyText(apiKey)) return null;
    const hash = hashOfApiKey(apiKey);
    const readAt = ports.monotonicMs();
    const key = await findApiKey(db, hash);
    const merchant = key && (await findMerchant(db, key.merchantId));
    if (!merchant) return null;
    const caller = { key, merchant };
    entries.set(apiKey, { caller, keyReadAt: readAt, merchantReadAt: readAt, usedAt: readAt });
    foundHashes.add(hash.toString("base64"));
    return caller;
  }

  function refresh(): Promise<void> {
    refreshing ??= reloadKeys().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  function dropIdle() {
    const now = ports.monotonicMs();
    for (const [apiKey, { usedAt }] of entries) if (now - usedAt > IDLE_MS) entries.delete(apiKey);
  }

  async function reloadKeys() {
    const readAt = ports.monotonicMs();
    const keys = new Map(
      (
        await apiKeysByIds(
          db,
          [...entries.values()].map(({ caller }) => caller.key.id),
        )
      ).map((key) => [key.id, key]),
    );
    const merchants = await reloadMerchants(readAt);
    for (const [apiKey, entry] of entries) {
      const key = keys.get(entry.caller.key.id);
      if (!key) {
        // The key was deleted, unless `load` added it during this read. Later calls with it must not refresh all keys.
        if (entry.keyReadAt < readAt) entries.delete(apiKey);
        continue;
      }
      const merchant = merchants.get(key.merchantId);
      entry.caller = { key, merchant: merchant ?? entry.caller.merchant };
      entry.keyReadAt = readAt;
      if (merchant) entry.merchantReadAt = readAt;
    }
  }

  async function reloadMerchants(readAt: number) {
    const stale = [...entries.values()].filter(({ merchantReadAt }) => readAt - merchantReadAt >= MAX_MERCHANT_AGE_MS);
    const ids = [...new Set(stale.map(({ caller }) => caller.merchant.id))];
    const merchants = new Map<string, Merchant | null>();
    for (const id of ids) merchants.set(id, await findMerchant(db, id));
    return merchants;
  }

  async function flush() {
    dropIdle();
    if (lastUses.size === 0) return;
    const batch = [...lastUses].sort(([a], [b]) => (a < b ? -1 : 1));
    lastUses.clear();
    await touchApiKeys(db, batch);
  }

  const hasFound = (apiKey: string) => foundHashes.has(hashOfApiKey(apiKey).toString("base64"));

  return { find, hasFound, flush };
}
