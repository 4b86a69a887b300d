import { BUCKET_COUNT, MERCHANT_DEFAULTS, type Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { insertMerchant, lockMerchant, updateMerchant } from "../tables/merchants.ts";
import { enqueueOpenCases } from "../tables/reevaluation-queue.ts";
import { type SecretKeys, seal } from "../tables/secret-box.ts";

type SecretField = "webhookSecret" | "webhookOldSecret" | "webhookOldSecretUntil";
type StateField = "webhookPausedAt" | "webhookPausedBy" | "webhookFailingSince";

/** Settings that can change. The credential is not encrypted. */
export type MerchantSettings = Partial<
  Omit<Merchant, "id" | "bucket" | "createdAt" | "webhookAuth" | "webhookCredential" | SecretField | StateField>
> & {
  /** A bearer token or `user:password`. */
  credential?: { auth: "bearer" | "basic"; secret: string };
};

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
  const changes = sealCredential(settings, secretKeys, ports);
  const merchant = {
    ...MERCHANT_DEFAULTS,
    id,
    name,
    bucket,
    createdAt,
    ...changes,
    ...resetPauseState(MERCHANT_DEFAULTS, changes, createdAt),
  };
  await insertMerchant(tx, merchant);
  return merchant;
}

/** A write in the same transaction, for example to the audit log. If it throws, nothing changes. */
export type ExtraWrite = (tx: Tx, before: Merchant, after: Merchant) => Promise<void>;

/**
 * Changes settings and queues the open cases for reevaluation. Returns null if there is no such merchant.
 *
 * @param settings  a function sees the locked merchant
 */
export async function changeMerchant(
  db: Database,
  id: string,
  settings: MerchantSettings | ((before: Merchant) => MerchantSettings),
  secretKeys: SecretKeys,
  ports: Ports,
  extraWrite?: ExtraWrite,
): Promise<Merchant | null> {
  return db.transaction(async (tx) => {
    const before = await lockMerchant(tx, id);
    if (!before) return null;
    const now = ports.now();
    const given = typeof settings === "function" ? settings(before) : settings;
    const changes = sealCredential(given, secretKeys, ports);
    const merchant = { ...before, ...changes, ...resetPauseState(before, changes, now) };
    await updateMerchant(tx, merchant, now);
    await enqueueOpenCases(tx, id, ports.newId());
    await extraWrite?.(tx, before, merchant);
    return merchant;
  });
}

/**
 * Sets a new secret. The previous one still signs during the overlap.
 *
 * @param secret  not encrypted
 * @param overlapMs  in service time
 * @returns false if there is no such merchant
 */
export async function rotateWebhookSecret(
  db: Database,
  id: string,
  secret: string,
  overlapMs: number,
  secretKeys: SecretKeys,
  ports: Ports,
  extraWrite?: ExtraWrite,
): Promise<boolean> {
  const rotated = (before: Merchant) => {
    const hasOverlap = overlapMs > 0 && before.webhookSecret !== null;
    return {
      webhookSecret: seal(secretKeys, ports.randomBytes(12), secret),
      webhookOldSecret: hasOverlap ? before.webhookSecret : null,
      webhookOldSecretUntil: hasOverlap ? new Date(ports.now().getTime() + overlapMs) : null,
    };
  };
  return changeSecrets(db, id, ports, rotated, extraWrite);
}

/** Stops signing. Returns false if there is no such merchant. */
export async function removeWebhookSecret(
  db: Database,
  id: string,
  ports: Ports,
  extraWrite?: ExtraWrite,
): Promise<boolean> {
  const none = { webhookSecret: null, webhookOldSecret: null, webhookOldSecretUntil: null };
  return changeSecrets(db, id, ports, () => none, extraWrite);
}

async function changeSecrets(
  db: Database,
  id: string,
  ports: Ports,
  change: (before: Merchant) => Pick<Merchant, SecretField>,
  extraWrite?: ExtraWrite,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const before = await lockMerchant(tx, id);
    if (!before) return false;
    const changed = change(before);
    const merchant = { ...before, ...changed, ...resetPauseState(before, changed, ports.now()) };
    await updateMerchant(tx, merchant, ports.now());
    await extraWrite?.(tx, before, merchant);
    return true;
  });
}

const NOT_PAUSED = { webhookPaused: false, webhookPausedAt: null, webhookPausedBy: null, webhookFailingSince: null };

type EndpointSettings = Pick<Merchant, "webhookUrl" | "webhookSubPaths" | "webhookFlat" | "webhookPaused" | StateField>;

function resetPauseState(before: EndpointSettings, changes: Partial<Merchant>, now: Date): Partial<Merchant> {
  if (changes.webhookPaused === false) return NOT_PAUSED;
  if (changes.webhookPaused === true)
    return before.webhookPausedBy === "person" ? {} : { webhookPausedAt: now, webhookPausedBy: "person" };
  const { webhookUrl = before.webhookUrl, webhookSubPaths = before.webhookSubPaths } = changes;
  const { webhookFlat = before.webhookFlat } = changes;
  const isEndpointChanged =
    webhookUrl !== before.webhookUrl ||
    webhookSubPaths !== before.webhookSubPaths ||
    webhookFlat !== before.webhookFlat ||
    changes.webhookCredential !== undefined ||
    changes.webhookSecret !== undefined;
  if (!isEndpointChanged) return {};
  // The failures concern the previous endpoint. A manual pause ends only manually.
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
