import { findWebhookUrlProblem, parseAllowList } from "../delivery/https/address-guard.ts";
import { EXPLORATION_MIN_OUTCOMES } from "../engine/explore-first-retry.ts";
import type { MerchantSettings } from "../merchants/merchant-settings.ts";
import { SETTING_RANGES } from "../merchants/setting-ranges.ts";
import {
  type CommandContext,
  type CommandOptions,
  integerOption,
  type OptionValues,
  textOption,
  UsageError,
} from "./command.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";

export const MERCHANT_OPTIONS: CommandOptions = {
  name: { type: "string" },
  "webhook-url": { type: "string" },
  ...secretOptions("bearer", "basic"),
  shape: { type: "string" },
  "sub-paths": { type: "string" },
  cap: { type: "string" },
  "webhook-rate": { type: "string" },
  "recovery-ended": { type: "string" },
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
  --name N                 name of the merchant
  --webhook-url U          the endpoint that gets the webhooks: HTTPS only
  --bearer-file F          credential that Dunlin sends to the endpoint: file with a token; - is standard input
  --basic-file F           or file with user:password
  --bearer T, --basic U:P  credential as text; other users of this machine can read it in the process list
  --shape envelope|flat    body of a recovery_action (envelope)
  --sub-paths yes|no       post to U/recovery_action and so on (no)
  --cap N                  webhook requests in flight at once (5)
  --webhook-rate N|off     webhook requests per second (off)
  --recovery-ended yes|no  send recovery_ended when a case ends, for whatever reason (no)
  --lead-minutes N         how long before the ideal time the instruction is sent (49)
  --window-days N          length of a case (28)
  --budget N               retries per case (8)
  --smallest-amount N      smallest amount to retry, in minor units (0)
  --engine learned|static  decide by the learned model, or by fixed rules (learned)
  --shadow yes|no          decide and log, but send nothing, in cases that begin while yes (no)
  --explore yes|no|auto    sample a share of retries to learn from them; auto: after ${EXPLORATION_MIN_OUTCOMES} outcomes (auto)
  --share-learning yes|no  train one model with all merchants that share, or its own (yes)
  --rate-per-second N      API requests per second and key (100)
  --rate-burst N           API requests at once (100)
  --paused yes|no          pause deliveries (no)
  --resume                 same as --paused no; also after Dunlin paused a failing endpoint`;

export async function parseMerchantSettings(context: CommandContext, values: OptionValues): Promise<MerchantSettings> {
  const settings: MerchantSettings = {};
  const name = textOption(values, "name");
  if (name !== undefined) {
    if (name.trim() === "") throw new UsageError("--name must not be empty.");
    settings.name = name;
  }
  const url = textOption(values, "webhook-url");
  if (url !== undefined) {
    const problem = findWebhookUrlProblem(url, parseAllowList(context.settings.webhookAllow));
    if (problem) throw new UsageError(`--webhook-url: ${problem}.`);
    settings.webhookUrl = url;
  }
  const credential = await parseCredential(context, values);
  if (credential) settings.credential = credential;
  const shape = textOption(values, "shape");
  if (shape !== undefined) settings.webhookFlat = parseChoice("shape", shape, { flat: true, envelope: false });
  const subPaths = textOption(values, "sub-paths");
  if (subPaths !== undefined) settings.webhookSubPaths = parseChoice("sub-paths", subPaths, YES_NO);
  const paused = textOption(values, "paused");
  if (paused !== undefined) settings.webhookPaused = parseChoice("paused", paused, YES_NO);
  if (values.resume) {
    if (paused !== undefined) throw new UsageError("Give --paused or --resume, not both.");
    settings.webhookPaused = false;
  }
  const cap = integerOption(values, "cap", 1, 1000);
  if (cap !== undefined) settings.webhookCap = cap;
  const webhookRate = textOption(values, "webhook-rate");
  if (webhookRate !== undefined)
    settings.webhookRate = webhookRate === "off" ? null : integerOption(values, "webhook-rate", 1, 10_000)!;
  const recoveryEnded = textOption(values, "recovery-ended");
  if (recoveryEnded !== undefined) settings.sendsRecoveryEnded = parseChoice("recovery-ended", recoveryEnded, YES_NO);
  const lead = integerOption(values, "lead-minutes", ...SETTING_RANGES.leadMinutes);
  if (lead !== undefined) settings.leadMs = lead * 60_000;
  const windowDays = integerOption(values, "window-days", ...SETTING_RANGES.windowDays);
  if (windowDays !== undefined) settings.windowDays = windowDays;
  const budget = integerOption(values, "budget", ...SETTING_RANGES.budget);
  if (budget !== undefined) settings.budget = budget;
  const smallestAmount = integerOption(values, "smallest-amount", ...SETTING_RANGES.smallestAmount);
  if (smallestAmount !== undefined) settings.smallestAmount = smallestAmount;
  const engine = textOption(values, "engine");
  if (engine !== undefined) settings.engine = parseChoice("engine", engine, { learned: "learned", static: "static" });
  const shadow = textOption(values, "shadow");
  if (shadow !== undefined) settings.shadow = parseChoice("shadow", shadow, YES_NO);
  const explore = textOption(values, "explore");
  if (explore !== undefined) settings.explore = parseChoice("explore", explore, { ...YES_NO, auto: null });
  const shares = textOption(values, "share-learning");
  if (shares !== undefined) settings.sharesLearning = parseChoice("share-learning", shares, YES_NO);
  const rate = integerOption(values, "rate-per-second", ...SETTING_RANGES.ratePerSecond);
  if (rate !== undefined) settings.ratePerSecond = rate;
  const burst = integerOption(values, "rate-burst", ...SETTING_RANGES.rateBurst);
  if (burst !== undefined) settings.rateBurst = burst;
  return settings;
}

const YES_NO = { yes: true, no: false };

function parseChoice<Meaning>(name: string, value: string, meanings: Record<string, Meaning>): Meaning {
  const meaning = meanings[value];
  if (meaning === undefined)
    throw new UsageError(`--${name} takes ${Object.keys(meanings).join(" or ")}, not "${value}".`);
  return meaning;
}

export async function parseCredential(
  context: CommandContext,
  values: OptionValues,
): Promise<MerchantSettings["credential"]> {
  const bearer = await readSecretOption(context, values, "bearer");
  const basic = await readSecretOption(context, values, "basic");
  if (bearer !== undefined && basic !== undefined)
    throw new UsageError("Give a bearer token or user and password, not both.");
  if (bearer !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(bearer))
      throw new UsageError("A bearer token can contain only visible ASCII characters.");
    return { auth: "bearer", secret: bearer };
  }
  if (basic === undefined) return undefined;
  if (basic.indexOf(":") < 1) throw new UsageError("--basic-file takes user:password.");
  return { auth: "basic", secret: basic };
}
