import { BUCKETS, type Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { pokeOpenCases } from "../store/cases.ts";
import type { Database, Tx } from "../store/database.ts";
import { holdMerchant, insertMerchant, updateMerchant } from "../store/merchants.ts";
import { seal } from "../store/secret-box.ts";

/** What may be changed of a merchant; the credential in the clear. */
export type MerchantSettings = Partial<
  Omit<Merchant, "id" | "bucket" | "createdAt" | "webhookAuth" | "webhookCredential">
> & {
  /** The bearer token, or `user:password`. */
  credential?: { auth: "bearer" | "basic"; secret: string };
};

const DEFAULTS = {
  webhookUrl: null,
  webhookAuth: null,
  webhookCredential: null,
  webhookSubPaths: false,
  webhookFlat: false,
  webhookCap: 5,
  webhookPaused: false,
  leadMs: 49 * 60_000,
  windowDays: 28,
  budget: 8,
  ratePerSecond: 100,
  rateBurst: 100,
} as const;

/** Store a new merchant with these settings, the rest as the contract says. */
export async function createMerchant(
  tx: Tx,
  name: string,
  settings: MerchantSettings,
  secretKey: Buffer,
  ports: Ports,
): Promise<Merchant> {
  const id = ports.newId();
  const bucket = ports.randomBytes(1)[0]! % BUCKETS;
  const merchant = { ...DEFAULTS, id, name, bucket, createdAt: ports.now(), ...sealed(settings, secretKey, ports) };
  await insertMerchant(tx, merchant);
  return merchant;
}

/** Change settings of a merchant; its open cases look at them at once. Null when there is no such merchant. */
export async function setMerchant(
  db: Database,
  id: string,
  settings: MerchantSettings,
  secretKey: Buffer,
  ports: Ports,
): Promise<Merchant | null> {
  return db.transaction(async (tx) => {
    const found = await holdMerchant(tx, id);
    if (!found) return null;
    const merchant = { ...found, ...sealed(settings, secretKey, ports) };
    await updateMerchant(tx, merchant, ports.now());
    await pokeOpenCases(tx, id, ports.newId());
    return merchant;
  });
}

function sealed({ credential, ...settings }: MerchantSettings, secretKey: Buffer, ports: Ports): Partial<Merchant> {
  if (!credential) return settings;
  const webhookCredential = seal(secretKey, ports.randomBytes(12), credential.secret);
  return { ...settings, webhookAuth: credential.auth, webhookCredential };
}
