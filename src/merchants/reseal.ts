import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { claimInstallation, keyCheck, setKeyChecks } from "../tables/installation.ts";
import { listMerchants, lockMerchant, lockMerchantsTable, updateEncryptedFields } from "../tables/merchants.ts";
import { type SecretKeys, seal, unseal } from "../tables/secret-box.ts";

/** Every column that holds what the secret key encrypts. */
export const SEALED_COLUMNS = ["webhookCredential", "webhookSecret", "webhookOldSecret"] as const;

/** A rotation of the secret key, in numbers of boxes. */
export interface ResealResult {
  /** Encrypted by the first key now, by another one before. */
  changed: number;
  /** All that there are; each opens with the first key alone. */
  boxes: number;
  /** Merchants with a box that no key opens. The rotation is not complete while there are any. */
  unreadable: Merchant[];
}

/**
 * Encrypts with the first key everything that another key encrypted, merchant by merchant. In the end it checks all of them once more under a lock
 * on the merchants, and makes the first key the key of the installation.
 */
export async function resealAll(
  db: Database,
  keys: SecretKeys,
  ports: Ports,
  onMerchant: () => void,
): Promise<ResealResult> {
  const first = keyCheck(keys[0]!);
  // Until the end no process starts without all of these keys.
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
    await lockMerchantsTable(tx);
    for (const merchant of await listMerchants(tx)) changed += await resealMerchant(tx, merchant, keys, ports);
    const merchants = await listMerchants(tx);
    const unreadable = merchants.filter((each) =>
      sealedValuesOf(each).some((box) => !canUnseal(keys.slice(0, 1), box)),
    );
    if (unreadable.length === 0) await setKeyChecks(tx, [first]);
    return { changed, boxes: merchants.flatMap(sealedValuesOf).length, unreadable };
  });
}

const sealedValuesOf = (merchant: Merchant) => SEALED_COLUMNS.flatMap((name) => merchant[name] ?? []);

/** Writes the boxes of a merchant that is held, as far as the first key does not open them. Returns how many. */
async function resealMerchant(tx: Tx, merchant: Merchant, keys: SecretKeys, ports: Ports): Promise<number> {
  const stale = SEALED_COLUMNS.filter(
    (name) => merchant[name] && !canUnseal(keys.slice(0, 1), merchant[name]) && canUnseal(keys, merchant[name]),
  );
  if (stale.length === 0) return 0;
  const boxes = stale.map((name) => [name, seal(keys, ports.randomBytes(12), unseal(keys, merchant[name]!))]);
  await updateEncryptedFields(tx, { ...merchant, ...Object.fromEntries(boxes) });
  return stale.length;
}

function canUnseal(keys: SecretKeys, box: Buffer): boolean {
  try {
    unseal(keys, box);
    return true;
  } catch {
    return false;
  }
}
