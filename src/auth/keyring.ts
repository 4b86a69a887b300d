import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { type ApiKey, apiKeysByIds, findApiKey, touchApiKeys } from "../tables/api-keys.ts";
import { findMerchant } from "../tables/merchants.ts";
import { hashOfApiKey, isApiKeyText } from "./api-key-text.ts";
import { isValidAt } from "./api-keys.ts";

/** Who calls, and what the key may do. */
export interface Caller {
  key: ApiKey;
  merchant: Merchant;
}

export interface Keyring {
  /** The caller behind a key that holds now, or null. Throws when the database can't be asked. */
  find(apiKey: string): Promise<Caller | null>;
  /** Whether this process has found the key before, be it revoked since. */
  hasFound(apiKey: string): boolean;
  /** Forget keys that nobody uses, and write `last_used_at` of those used since the last call: one statement. */
  flush(): Promise<void>;
}

// A revocation holds everywhere within a second: what was read longer ago than this is not trusted.
const MAX_KEY_AGE_MS = 900;
// Read again ahead of that, so that requests seldom wait for it.
const REFRESH_MS = 450;
const IDLE_MS = 30_000;
// Settings of a merchant may take this long to be seen.
const MAX_MERCHANT_AGE_MS = 5_000;

interface KeyEntry {
  caller: Caller;
  /** Monotonic moments at which the reads began. */
  keyReadAt: number;
  merchantReadAt: number;
  usedAt: number;
}

/**
 * The keys in use, in memory. All of them are read again by one statement as long as requests come; without requests the
 * database is left alone.
 */
export function createKeyring(db: Database, ports: Ports): Keyring {
  /** By the key itself: to hash it anew takes a twenty-fifth of a request. */
  const entries = new Map<string, KeyEntry>();
  const used = new Map<string, Date>();
  /** Hashes: these stay. */
  const found = new Set<string>();
  let refreshing: Promise<void> | undefined;

  async function find(apiKey: string): Promise<Caller | null> {
    const caller = (await known(apiKey)) ?? (await load(apiKey));
    const now = ports.now();
    if (!caller || !isValidAt(caller.key, now)) return null;
    used.set(caller.key.id, now);
    return caller;
  }

  /** From memory, when that is fresh enough. */
  async function known(apiKey: string): Promise<Caller | undefined> {
    const entry = entries.get(apiKey);
    if (!entry) return undefined;
    const now = ports.monotonicMs();
    entry.usedAt = now;
    if (now - entry.keyReadAt >= MAX_KEY_AGE_MS) await refresh();
    else if (now - entry.keyReadAt >= REFRESH_MS) refresh().catch(() => {}); // whoever waits for it gets the error
    const fresh = entries.get(apiKey);
    // A refresh that began before this key was needed again may not have been recent enough.
    return fresh && ports.monotonicMs() - fresh.keyReadAt < MAX_KEY_AGE_MS ? fresh.caller : undefined;
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
    found.add(hash.toString("base64"));
    return caller;
  }

  function refresh(): Promise<void> {
    refreshing ??= readAgain().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  function forgetIdle() {
    const now = ports.monotonicMs();
    for (const [apiKey, { usedAt }] of entries) if (now - usedAt > IDLE_MS) entries.delete(apiKey);
  }

  async function readAgain() {
    const readAt = ports.monotonicMs();
    const keys = new Map(
      (
        await apiKeysByIds(
          db,
          [...entries.values()].map(({ caller }) => caller.key.id),
        )
      ).map((key) => [key.id, key]),
    );
    const merchants = await merchantsAgain(readAt);
    for (const [apiKey, entry] of entries) {
      const key = keys.get(entry.caller.key.id);
      if (!key) {
        // Its row is gone, unless it was found after this read began. Who goes on calling with it must not have all keys read each time.
        if (entry.keyReadAt < readAt) entries.delete(apiKey);
        continue;
      }
      const merchant = merchants.get(key.merchantId);
      entry.caller = { key, merchant: merchant ?? entry.caller.merchant };
      entry.keyReadAt = readAt;
      if (merchant) entry.merchantReadAt = readAt;
    }
  }

  async function merchantsAgain(readAt: number) {
    const stale = [...entries.values()].filter(({ merchantReadAt }) => readAt - merchantReadAt >= MAX_MERCHANT_AGE_MS);
    const ids = [...new Set(stale.map(({ caller }) => caller.merchant.id))];
    const merchants = new Map<string, Merchant | null>();
    for (const id of ids) merchants.set(id, await findMerchant(db, id));
    return merchants;
  }

  async function flush() {
    forgetIdle();
    if (used.size === 0) return;
    const batch = [...used].sort(([a], [b]) => (a < b ? -1 : 1));
    used.clear();
    await touchApiKeys(db, batch);
  }

  const hasFound = (apiKey: string) => found.has(hashOfApiKey(apiKey).toString("base64"));

  return { find, hasFound, flush };
}
