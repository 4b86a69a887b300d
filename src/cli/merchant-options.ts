import { checkWebhookUrl, parseAllow } from "../delivery/https/address-guard.ts";
import type { MerchantSettings } from "../recovery/merchants.ts";
import { EXPLORES_FROM } from "../recovery/models.ts";
import { type Context, type Options, text, UsageError, type Values, wholeNumber } from "./command.ts";
import { secretOf, secretOptions } from "./secret-options.ts";

/** Options that `merchant create` and `merchant set` share. */
export const MERCHANT_OPTIONS: Options = {
  name: { type: "string" },
  "webhook-url": { type: "string" },
  ...secretOptions("bearer", "basic"),
  shape: { type: "string" },
  "sub-paths": { type: "string" },
  cap: { type: "string" },
  "webhook-rate": { type: "string" },
  "lead-minutes": { type: "string" },
  "window-days": { type: "string" },
  budget: { type: "string" },
  "smallest-amount": { type: "string" },
  engine: { type: "string" },
  shadow: { type: "string" },
  explore: { type: "string" },
  "share-learning": { type: "string" },
  "rate-per-second": { type: "string" },
  "rate-burst": { type: "string" },
  paused: { type: "string" },
  resume: { type: "boolean" },
  json: { type: "boolean" },
};

export const MERCHANT_USAGE = `
  --name N                 its name here
  --webhook-url U          the endpoint that gets the webhooks: HTTPS only
  --bearer-file F          the credential for the endpoint: a file with a token; - is standard input
  --basic-file F           or one with user:password
  --bearer T, --basic U:P  the same, where nobody else can read the process list
  --shape envelope|flat    body of a recovery_action (envelope)
  --sub-paths yes|no       post to U/recovery_action and so on (no)
  --cap N                  webhook requests in flight at once (5)
  --webhook-rate N|off     webhook requests per second (off)
  --lead-minutes N         how long before the ideal time the instruction is sent (49)
  --window-days N          length of a case (28)
  --budget N               retries per case (8)
  --smallest-amount N      no retry for less than this, in minor units (0)
  --engine learned|static  decide by the learned model, or by fixed rules (learned)
  --shadow yes|no          decide and log, but send nothing, in cases that begin while yes (no)
  --explore yes|no|auto    sample a share of retries to learn from them; auto: after ${EXPLORES_FROM} outcomes (auto)
  --share-learning yes|no  train one model with all merchants that share, or its own (yes)
  --rate-per-second N      API requests per second and key (100)
  --rate-burst N           API requests at once (100)
  --paused yes|no          deliveries wait while yes (no)
  --resume                 as --paused no, also when Dunlin paused an endpoint that failed for days`;

/** Returns the settings in the options. */
export async function merchantSettings(context: Context, values: Values): Promise<MerchantSettings> {
  const settings: MerchantSettings = {};
  const name = text(values, "name");
  if (name !== undefined) {
    if (name.trim() === "") throw new UsageError("--name must not be empty.");
    settings.name = name;
  }
  const url = text(values, "webhook-url");
  if (url !== undefined) {
    const problem = checkWebhookUrl(url, parseAllow(context.settings.webhookAllow));
    if (problem) throw new UsageError(`--webhook-url: ${problem}.`);
    settings.webhookUrl = url;
  }
  const credential = await credentialOf(context, values);
  if (credential) settings.credential = credential;
  const shape = text(values, "shape");
  if (shape !== undefined) settings.webhookFlat = oneOf("shape", shape, { flat: true, envelope: false });
  const subPaths = text(values, "sub-paths");
  if (subPaths !== undefined) settings.webhookSubPaths = oneOf("sub-paths", subPaths, YES_NO);
  const paused = text(values, "paused");
  if (paused !== undefined) settings.webhookPaused = oneOf("paused", paused, YES_NO);
  if (values.resume) {
    if (paused !== undefined) throw new UsageError("Give --paused or --resume, not both.");
    settings.webhookPaused = false;
  }
  const cap = wholeNumber(values, "cap", 1, 1000);
  if (cap !== undefined) settings.webhookCap = cap;
  const webhookRate = text(values, "webhook-rate");
  if (webhookRate !== undefined)
    settings.webhookRate = webhookRate === "off" ? null : wholeNumber(values, "webhook-rate", 1, 10_000)!;
  const lead = wholeNumber(values, "lead-minutes", 0, 1440);
  if (lead !== undefined) settings.leadMs = lead * 60_000;
  const windowDays = wholeNumber(values, "window-days", 1, 365);
  if (windowDays !== undefined) settings.windowDays = windowDays;
  const budget = wholeNumber(values, "budget", 0, 100);
  if (budget !== undefined) settings.budget = budget;
  const smallestAmount = wholeNumber(values, "smallest-amount", 0, Number.MAX_SAFE_INTEGER);
  if (smallestAmount !== undefined) settings.smallestAmount = smallestAmount;
  const engine = text(values, "engine");
  if (engine !== undefined) settings.engine = oneOf("engine", engine, { learned: "learned", static: "static" });
  const shadow = text(values, "shadow");
  if (shadow !== undefined) settings.shadow = oneOf("shadow", shadow, YES_NO);
  const explore = text(values, "explore");
  if (explore !== undefined) settings.explore = oneOf("explore", explore, { ...YES_NO, auto: null });
  const shares = text(values, "share-learning");
  if (shares !== undefined) settings.sharesLearning = oneOf("share-learning", shares, YES_NO);
  const rate = wholeNumber(values, "rate-per-second", 1, 1_000_000);
  if (rate !== undefined) settings.ratePerSecond = rate;
  const burst = wholeNumber(values, "rate-burst", 1, 1_000_000);
  if (burst !== undefined) settings.rateBurst = burst;
  return settings;
}

const YES_NO = { yes: true, no: false };

function oneOf<Meaning>(name: string, value: string, meanings: Record<string, Meaning>): Meaning {
  const meaning = meanings[value];
  if (meaning === undefined)
    throw new UsageError(`--${name} takes ${Object.keys(meanings).join(" or ")}, not "${value}".`);
  return meaning;
}

/** The credential that was given by `--bearer`, `--basic` or a file with either. */
export async function credentialOf(context: Context, values: Values): Promise<MerchantSettings["credential"]> {
  const bearer = await secretOf(context, values, "bearer");
  const basic = await secretOf(context, values, "basic");
  if (bearer !== undefined && basic !== undefined)
    throw new UsageError("Give a bearer token or user and password, not both.");
  if (bearer !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(bearer)) throw new UsageError("A bearer token has visible ASCII characters.");
    return { auth: "bearer", secret: bearer };
  }
  if (basic === undefined) return undefined;
  if (basic.indexOf(":") < 1) throw new UsageError("--basic-file takes user:password.");
  return { auth: "basic", secret: basic };
}
