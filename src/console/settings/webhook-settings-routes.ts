import { createHash } from "node:crypto";
import { findWebhookUrlProblem } from "../../delivery/https/address-guard.ts";
import { checkWebhookHost } from "../../delivery/https/check-webhook-host.ts";
import { formatSecret } from "../../delivery/https/signature.ts";
import { EVENT_TYPES } from "../../domain/event.ts";
import type { Merchant } from "../../domain/merchant.ts";
import {
  changeMerchant,
  type MerchantSettings,
  removeWebhookSecret,
  rotateWebhookSecret,
} from "../../merchants/merchant-settings.ts";
import { auditSettings } from "../../merchants/settings-audit.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { UnreadableSecret } from "../../tables/secret-box.ts";
import { type Console, redirectTo } from "../console.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { ROTATION_OVERLAPS } from "../show/rotation-overlaps.ts";
import type { Visit } from "../visit.ts";
import { secretPage, testPage } from "./webhook-result-pages.ts";
import { webhookPage } from "./webhook-settings-page.ts";

const SECRET_BYTES = 32;

export function webhookRoutes(console: Console) {
  const { ports, secretKeys, egressRanges, allow } = console;
  const show = async (visit: Visit, problem: string | null, done: string | null = null): Promise<Page> => {
    const merchant = await findOwnMerchant(visit);
    const page = webhookPage({
      merchant,
      visit,
      problem,
      done,
      egressRanges,
      allow,
      secretVersion: secretVersionOf(merchant),
      now: ports.now(),
    });
    return { ...page, status: problem === null ? 200 : 400 };
  };
  console.page("/settings/webhook", "webhook", (visit) => show(visit, null, visit.query.get("done")));
  console.post("/settings/webhook", "webhook", async (visit) => {
    const settings = await readSettings(console, await findOwnMerchant(visit), visit.form);
    if (typeof settings === "string") return show(visit, settings);
    await changeMerchant(
      visit.db,
      visit.merchantId,
      settings,
      secretKeys,
      ports,
      recordAudit(console, visit, "webhook.changed"),
    );
    return redirectTo(visit.reply, "/settings/webhook?done=saved");
  });
  for (const [path, webhookPaused, operation] of [
    ["pause", true, "webhook.paused"],
    ["resume", false, "webhook.resumed"],
  ] as const)
    console.post(`/settings/webhook/${path}`, "webhook", async (visit) => {
      const reason = (visit.form.get("reason") ?? "").trim().slice(0, 200);
      const writeAudit = recordAudit(console, visit, operation, reason === "" ? {} : { reason });
      await changeMerchant(visit.db, visit.merchantId, { webhookPaused }, secretKeys, ports, writeAudit);
      return redirectTo(visit.reply, `/settings/webhook?done=${path}`);
    });
  console.post("/settings/webhook/secret", "webhook", (visit) => rotateSecret(console, visit));
  console.post("/settings/webhook/secret/remove", "webhook", async (visit) => {
    await removeWebhookSecret(visit.db, visit.merchantId, ports, recordAudit(console, visit, "webhook.secret_removed"));
    return redirectTo(visit.reply, "/settings/webhook?done=secret");
  });
  console.post("/settings/webhook/test", "webhook", async (visit) => {
    const type = EVENT_TYPES.find((each) => each === visit.form.get("type"));
    if (!type) throw new PageError(400, `Choose one of these event types: ${EVENT_TYPES.join(", ")}.`);
    const result = await console.sendTestEvent(await findOwnMerchant(visit), type).catch((error: unknown) => {
      if (error instanceof UnreadableSecret) return error;
      throw error;
    });
    if (result instanceof UnreadableSecret) return show(visit, `No test event was sent: ${result.message}`);
    return result === null ? show(visit, "Set the URL before you send a test event.") : testPage(result, type);
  });
}

async function findOwnMerchant({ db, merchantId }: Visit): Promise<Merchant> {
  const merchant = await findMerchant(db, merchantId);
  if (!merchant) throw new PageError(404, "This merchant no longer exists.");
  return merchant;
}

/** Returns a problem as text. */
async function readSettings(
  { allow }: Console,
  before: Merchant,
  form: URLSearchParams,
): Promise<MerchantSettings | string> {
  const url = (form.get("url") ?? "").trim();
  const problem = findWebhookUrlProblem(url, allow);
  if (problem) return `The URL: ${problem.replace(/^the URL/, "it")}.`;
  const finding = await checkWebhookHost(url, allow);
  if (finding.verdict === "refused") return `The URL: ${finding.reason}.`;
  const credential = readCredential(form);
  if (typeof credential === "string") return credential;
  if (!credential && before.webhookAuth === null)
    return "Choose a bearer token, or a user and password. Dunlin sends them to the endpoint as its credential.";
  // A credential goes only to the server for which it was entered.
  if (!credential && before.webhookUrl !== null && new URL(url).origin !== new URL(before.webhookUrl).origin)
    return "The URL points to a different server. Enter its credential: Dunlin does not send the old server's credential to a new one.";
  return {
    webhookUrl: url,
    webhookFlat: form.get("shape") === "flat",
    webhookSubPaths: form.get("paths") === "sub",
    ...(credential && { credential }),
  };
}

function readCredential(form: URLSearchParams): MerchantSettings["credential"] | string {
  const auth = form.get("auth");
  if (auth === "bearer") {
    const secret = (form.get("token") ?? "").trim();
    return /^[\x21-\x7e]{1,4096}$/.test(secret)
      ? { auth, secret }
      : "The token must be visible ASCII characters without spaces.";
  }
  if (auth === "basic") {
    const [user, password] = [form.get("user") ?? "", form.get("password") ?? ""];
    if (user === "" || /[:\p{Cc}]/u.test(user)) return "The user must not be empty or contain a colon.";
    return password === "" ? "The password must not be empty." : { auth, secret: `${user}:${password}` };
  }
  return undefined;
}

const recordAudit = ({ ports }: Console, { actor }: Visit, operation: string, extra: Record<string, unknown> = {}) =>
  auditSettings(actor, operation, ports, extra);

/** Without revealing the secret, so that a form sent twice rotates only once. */
const secretVersionOf = ({ webhookSecret }: Merchant) =>
  webhookSecret === null ? "none" : createHash("sha256").update(webhookSecret).digest("base64url").slice(0, 16);

async function rotateSecret(console: Console, visit: Visit): Promise<Page> {
  const { ports, secretKeys } = console;
  const overlap = ROTATION_OVERLAPS.find(([value]) => value === visit.form.get("overlap"));
  if (!overlap) throw new PageError(400, "Choose how long the old secret still signs.");
  const secret = formatSecret(ports.randomBytes(SECRET_BYTES));
  const details = { "former signs": overlap[1] };
  const writeAudit = recordAudit(console, visit, "webhook.secret_rotated", details);
  await rotateWebhookSecret(
    visit.db,
    visit.merchantId,
    secret,
    overlap[2],
    secretKeys,
    ports,
    async (tx, before, after) => {
      if (secretVersionOf(before) !== visit.form.get("mark"))
        throw new PageError(
          409,
          "The secret was already changed, and the new one was shown only once. If you lost it, rotate the secret again.",
        );
      await writeAudit(tx, before, after);
    },
  );
  return secretPage(secret, overlap[1]);
}
