import type { Merchant } from "../../domain/merchant.ts";
import { EXPLORATION_MIN_OUTCOMES } from "../../learning/model-cache.ts";
import { changeMerchant } from "../../merchants/merchant-settings.ts";
import { auditSettings } from "../../merchants/settings-audit.ts";
import { runningExperiment } from "../../tables/experiments.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { type Console, redirectTo } from "../console.ts";
import { html } from "../html.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { formNotice, selectField } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { factList } from "../show/table.ts";
import type { Visit } from "../visit.ts";

const EXPLORE_CHOICES: Readonly<Record<string, boolean | null>> = { auto: null, yes: true, no: false };
const CHANGED_MESSAGE =
  "Nothing was saved. The settings changed after this page was opened, or you switched to another merchant. Open the page again to see the current settings.";
const EXPERIMENT_RUNNING_MESSAGE = "An experiment is running. Stop it before you turn on shadow mode.";

const shadowChoice = ({ shadow }: Merchant) => (shadow ? "yes" : "no");
const exploreChoice = ({ explore }: Merchant) => (explore === null ? "auto" : explore ? "yes" : "no");
/** A save fails if the settings or the merchant changed meanwhile. */
const formVersionOf = (merchant: Merchant) => `${merchant.id} ${shadowChoice(merchant)} ${exploreChoice(merchant)}`;

export function recoveryRoutes({ page, post, ports, secretKeys }: Console) {
  page("/settings/recovery", "experiments", async (visit) => settingsPage(await findOwnMerchant(visit), visit));
  post("/settings/recovery", "experiments", async ({ db, merchantId, form, actor, reply }) => {
    const explore = EXPLORE_CHOICES[form.get("explore") ?? ""];
    const shadow = form.get("shadow");
    if (explore === undefined || (shadow !== "yes" && shadow !== "no"))
      throw new PageError(400, "Choose whether shadow mode is on, and when random exploration starts.");
    const recordAudit = auditSettings(actor, "merchant.changed", ports);
    const settings = { shadow: shadow === "yes", explore };
    await changeMerchant(db, merchantId, settings, secretKeys, ports, async (tx, before, after) => {
      if (form.get("was") !== formVersionOf(before)) throw new PageError(409, CHANGED_MESSAGE);
      // The merchant's row is locked, so no experiment can start meanwhile.
      if (after.shadow && !before.shadow && (await runningExperiment(tx, merchantId)))
        throw new PageError(409, EXPERIMENT_RUNNING_MESSAGE);
      await recordAudit(tx, before, after);
    });
    return redirectTo(reply, "/settings/recovery?done=saved");
  });
}

async function findOwnMerchant({ db, merchantId }: Visit): Promise<Merchant> {
  const merchant = await findMerchant(db, merchantId);
  if (!merchant) throw new PageError(404, "This merchant no longer exists.");
  return merchant;
}

function settingsPage(merchant: Merchant, { query }: Visit): Page {
  const { windowDays, budget, engine } = merchant;
  return {
    title: "Recovery settings",
    body: html`${query.get("done") === "saved" && formNotice("good", "Saved. The settings apply to invoices that become unpaid and to retries planned from now on.")}
<form method="post" action="/settings/recovery" class="box">
<input type="hidden" name="was" value="${formVersionOf(merchant)}">
${selectField(
  "Shadow mode",
  "shadow",
  [
    ["no", "Off: Dunlin sends instructions"],
    ["yes", "On: Dunlin logs its decisions and sends nothing"],
  ],
  shadowChoice(merchant),
)}
<p class="soft">An invoice keeps the mode in which it became unpaid. <a href="/shadow">Shadow mode</a> compares what Dunlin would do with what your own system does.</p>
${selectField(
  "Random exploration",
  "explore",
  [
    ["auto", `After ${EXPLORATION_MIN_OUTCOMES} outcomes`],
    ["yes", "Always"],
    ["no", "Never"],
  ],
  exploreChoice(merchant),
)}
<p class="soft">To keep its model accurate, Dunlin sends a share of retries at a time other than the one with the highest expected value. <a href="/docs/guides/engine.html">How Dunlin learns</a></p>
<button class="main">Save</button></form>
<h2>Set by the operator of Dunlin</h2>
${factList([
  ["Recovery window", `${formatCount(windowDays)} ${windowDays === 1 ? "day" : "days"}`],
  ["Maximum retries per invoice", formatCount(budget)],
  ["Times chosen by", engine === "learned" ? "the learned model" : "fixed rules"],
])}`,
  };
}
