import { BUCKET_COUNT, MERCHANT_DEFAULTS, type Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { insertMerchant, lockMerchant, updateMerchant } from "../tables/merchants.ts";
import { enqueueOpenCases } from "../tables/reevaluation-queue.ts";
import { type SecretKeys, seal } from "../tables/secret-box.ts";

type SecretField = "webhookSecret" | "webhookOldSecret" | "webhookOldSecretUntil";
type StateField = "webhookPausedAt" | "webhookPausedBy" | "webhookFailingSince";

/** The settings of a merchant that can be changed; the credential is in the clear. */
export type MerchantSettings = Partial<
  Omit<Merchant, "id" | "bucket" | "createdAt" | "webhookAuth" | "webhookCredential" | SecretField | StateField>
> & {
  /** The bearer token, or `user:password`. */
  credential?: { auth: "bearer" | "basic"; secret: string };
};

/** Store a new merchant with these settings, the rest as the contract says. */
export async function createMerchant(
  tx: Tx,
  name: string,
  settings: MerchantSettings,
  secretKeys: SecretKeys,
  ports: Ports,
): Promise<Merchant> {
  const id = ports.newId();
  const bucket = ports.randomBytes(1)[0]! % BUCKET_COUNT;
  const createdAt = ports.now();
  const given = sealCredential(settings, secretKeys, ports);
  const merchant = {
    ...MERCHANT_DEFAULTS,
    id,
    name,
    bucket,
    createdAt,
    ...given,
    ...resetPauseState(MERCHANT_DEFAULTS, given, createdAt),
  };
  await insertMerchant(tx, merchant);
  return merchant;
}

/** A write in the transaction of a change, such as its author. If it throws, nothing was changed. */
export type ExtraWrite = (tx: Tx, before: Merchant, after: Merchant) => Promise<void>;

/** Change settings of a merchant; its open cases look at them at once. Null when there is no such merchant. */
export async function changeMerchant(
  db: Database,
  id: string,
  settings: MerchantSettings,
  secretKeys: SecretKeys,
  ports: Ports,
  also?: ExtraWrite,
): Promise<Merchant | null> {
  return db.transaction(async (tx) => {
    const found = await lockMerchant(tx, id);
    if (!found) return null;
    const now = ports.now();
    const given = sealCredential(settings, secretKeys, ports);
    const merchant = { ...found, ...given, ...resetPauseState(found, given, now) };
    await updateMerchant(tx, merchant, now);
    await enqueueOpenCases(tx, id, ports.newId());
    await also?.(tx, found, merchant);
    return merchant;
  });
}

/**
 * Give a merchant a secret, or a new one in place of the one it has, which goes on signing beside it.
 *
 * @param secret  the new one, in the clear
 * @param overlapMs  service time for which the former one still signs; 0: not at all
 * @returns false when there is no such merchant
 */
export async function rotateWebhookSecret(
  db: Database,
  id: string,
  secret: string,
  overlapMs: number,
  secretKeys: SecretKeys,
  ports: Ports,
  also?: ExtraWrite,
): Promise<boolean> {
  const rotated = (found: Merchant) => {
    const keeps = overlapMs > 0 && found.webhookSecret !== null;
    return {
      webhookSecret: seal(secretKeys, ports.randomBytes(12), secret),
      webhookOldSecret: keeps ? found.webhookSecret : null,
      webhookOldSecretUntil: keeps ? new Date(ports.now().getTime() + overlapMs) : null,
    };
  };
  return changeSecrets(db, id, ports, rotated, also);
}

/** Sign nothing any more. False when there is no such merchant. */
export async function removeWebhookSecret(db: Database, id: string, ports: Ports, also?: ExtraWrite): Promise<boolean> {
  const none = { webhookSecret: null, webhookOldSecret: null, webhookOldSecretUntil: null };
  return changeSecrets(db, id, ports, () => none, also);
}

async function changeSecrets(
  db: Database,
  id: string,
  ports: Ports,
  change: (found: Merchant) => Pick<Merchant, SecretField>,
  also?: ExtraWrite,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const found = await lockMerchant(tx, id);
    if (!found) return false;
    const changed = change(found);
    const merchant = { ...found, ...changed, ...resetPauseState(found, changed, ports.now()) };
    await updateMerchant(tx, merchant, ports.now());
    await also?.(tx, found, merchant);
    return true;
  });
}

const NOT_PAUSED = { webhookPaused: false, webhookPausedAt: null, webhookPausedBy: null, webhookFailingSince: null };

type EndpointSettings = Pick<Merchant, "webhookUrl" | "webhookSubPaths" | "webhookFlat" | "webhookPaused" | StateField>;

/** Returns the pause, and the mark of a failing endpoint, after a change of settings. */
function resetPauseState(before: EndpointSettings, given: Partial<Merchant>, now: Date): Partial<Merchant> {
  if (given.webhookPaused === false) return NOT_PAUSED;
  if (given.webhookPaused === true)
    return before.webhookPausedBy === "person" ? {} : { webhookPausedAt: now, webhookPausedBy: "person" };
  const { webhookUrl = before.webhookUrl, webhookSubPaths = before.webhookSubPaths } = given;
  const { webhookFlat = before.webhookFlat } = given;
  const isElsewhere =
    webhookUrl !== before.webhookUrl ||
    webhookSubPaths !== before.webhookSubPaths ||
    webhookFlat !== before.webhookFlat ||
    given.webhookCredential !== undefined ||
    given.webhookSecret !== undefined;
  if (!isElsewhere) return {};
  // What failed is not what is there now. A person who paused wants more than that.
  return before.webhookPausedBy === "dunlin" ? NOT_PAUSED : { webhookFailingSince: null };
}

function sealCredential(
  { credential, ...settings }: MerchantSettings,
  secretKeys: SecretKeys,
  ports: Ports,
): Partial<Merchant> {
  if (!credential) return settings;
  const webhookCredential = seal(secretKeys, ports.randomBytes(12), credential.secret);
  return { ...settings, webhookAuth: credential.auth, webhookCredential };
}
