import { createApiKey, rotateApiKey } from "../../auth/api-keys.ts";
import { PERMISSIONS } from "../../domain/permission.ts";
import { isTimeZone } from "../../domain/time-zone.ts";
import type { Tx } from "../../postgres/database.ts";
import { sqlState } from "../../postgres/database-errors.ts";
import { type ApiKey, apiKeysOfMerchant, lockApiKey, revokeApiKey } from "../../tables/api-keys.ts";
import { writeAuditEntry } from "../../tables/audit-log.ts";
import { type Console, redirectTo } from "../console.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { isUuid } from "../page-query.ts";
import { ROTATION_OVERLAPS } from "../show/rotation-overlaps.ts";
import type { Visit } from "../visit.ts";
import { keyPage, keysPage, newKeyPage, newKeySecretPage, parseExpiry } from "./api-key-pages.ts";

const UNIQUE_VIOLATION = "23505";

export function apiKeyRoutes(console: Console) {
  const { ports } = console;
  console.page("/org/api_keys", "keys", async (visit) =>
    keysPage(await apiKeysOfMerchant(visit.db, visit.merchantId), visit, ports.now()),
  );
  console.page("/org/api_keys/new", "keys", (visit) => newKeyPage(visit, ports.newId(), null));
  console.post("/org/api_keys", "keys", (visit) => createKey(console, visit));
  console.page("/org/api_keys/:id", "keys", async (visit) => {
    const all = await apiKeysOfMerchant(visit.db, visit.merchantId);
    const key = all.find(({ id }) => id === visit.params.id);
    if (!key) throw notFoundError("key");
    return keyPage(key, all, visit, ports.now(), ports.newId());
  });
  console.post("/org/api_keys/:id/rotate", "keys", (visit) => rotateKey(console, visit));
  console.post("/org/api_keys/:id/revoke", "keys", async (visit) => {
    await visit.db.transaction(async (tx) => {
      const key = await findOwnKey(tx, visit);
      if (visit.form.get("confirm") !== key.lastFour)
        throw new PageError(400, "The last four characters do not match, so the key was not revoked.");
      if (!(await revokeApiKey(tx, visit.merchantId, key.id, ports.now()))) throw new PageError(409, KEY_ENDED_MESSAGE);
      await writeAuditEntry(
        tx,
        visit.merchantId,
        visit.actor,
        { operation: "key.revoked", object: keyLabel(key) },
        ports,
      );
    });
    return redirectTo(visit.reply, "/org/api_keys");
  });
}

const KEY_ENDED_MESSAGE = "This key no longer works.";

async function createKey(console: Console, visit: Visit): Promise<Page> {
  const { ports } = console;
  const { db, form, merchantId, actor, person } = visit;
  const id = form.get("id") ?? "";
  const refuse = (problem: string): Page => ({ ...newKeyPage(visit, ports.newId(), problem), status: 400 });
  if (!isUuid(id)) return refuse("Send the form again.");
  const permissions = PERMISSIONS.filter((permission) => form.getAll("permission").includes(permission));
  if (permissions.length === 0) return refuse("Choose at least one permission.");
  const note = (form.get("note") ?? "").trim();
  if (note.length > 200) return refuse("The note has more than 200 characters.");
  const expiresAt = parseExpiry(form, isTimeZone(person.zone) ? person.zone : "UTC", ports.now());
  if (typeof expiresAt === "string") return refuse(expiresAt);
  const apiKey = await createOnce(() =>
    db.transaction(async (tx) => {
      const key = { id, merchantId, permissions, note: note || undefined, expiresAt: expiresAt ?? undefined };
      const { apiKey } = await createApiKey(tx, { ...key, createdBy: actor.name }, ports);
      const details = { permissions, expires: expiresAt?.toISOString() ?? "never", note };
      await writeAuditEntry(
        tx,
        merchantId,
        actor,
        { operation: "key.created", object: `…${apiKey.slice(-4)}`, details },
        ports,
      );
      return apiKey;
    }),
  );
  return newKeySecretPage(console, apiKey, null);
}

async function rotateKey(console: Console, visit: Visit): Promise<Page> {
  const { ports } = console;
  const { db, form, merchantId, actor } = visit;
  const id = form.get("id") ?? "";
  const overlap = ROTATION_OVERLAPS.find(([value]) => value === form.get("overlap"));
  if (!overlap || !isUuid(id)) throw new PageError(400, "Choose how long the old key still works.");
  const { apiKey, former, endsAt } = await createOnce(() =>
    db.transaction(async (tx) => {
      const key = await findOwnKey(tx, visit);
      const rotated = await rotateApiKey(tx, key, overlap[2], { id, createdBy: actor.name }, ports);
      if (typeof rotated === "string") throw new PageError(409, rotated);
      const { apiKey, formerEndsAt } = rotated;
      const details = { former: keyLabel(key), "former works until": formerEndsAt };
      await writeAuditEntry(
        tx,
        merchantId,
        actor,
        { operation: "key.rotated", object: `…${apiKey.slice(-4)}`, details },
        ports,
      );
      return { apiKey, former: key, endsAt: overlap[2] === 0 ? null : formerEndsAt };
    }),
  );
  return newKeySecretPage(console, apiKey, { former, endsAt, zone: visit.person.zone });
}

async function createOnce<T>(create: () => Promise<T>): Promise<T> {
  try {
    return await create();
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    throw new PageError(
      409,
      "This key was already created, and is shown only once. If it is lost, create another one.",
    );
  }
}

async function findOwnKey(tx: Tx, { merchantId, params }: Visit): Promise<ApiKey> {
  const key = isUuid(params.id!) ? await lockApiKey(tx, merchantId, params.id!) : null;
  if (!key) throw notFoundError("key");
  return key;
}

const keyLabel = ({ lastFour, note }: ApiKey) => (note === null ? `…${lastFour}` : `…${lastFour} (${note})`);
