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
  "These are not the settings that the page showed: somebody changed them, or you switched to another merchant. Nothing was saved. Open the page again and look at what they are now.";
const EXPERIMENT_RUNNING_MESSAGE = "An experiment is running. Stop it first; then shadow mode can begin.";

const shadowChoice = ({ shadow }: Merchant) => (shadow ? "yes" : "no");
const exploreChoice = ({ explore }: Merchant) => (explore === null ? "auto" : explore ? "yes" : "no");
/** What the form showed, and of whom. Whoever changes one setting must not take back another one that somebody changed meanwhile. */
const formVersionOf = (merchant: Merchant) => `${merchant.id} ${shadowChoice(merchant)} ${exploreChoice(merchant)}`;

/** Whether Dunlin asks for anything, and whether it samples retries to learn. */
export function recoveryRoutes({ page, post, ports, secretKeys }: Console) {
  page("/settings/recovery", "experiments", async (visit) => settingsPage(await findOwnMerchant(visit), visit));
  post("/settings/recovery", "experiments", async ({ db, merchantId, form, actor, reply }) => {
    const explore = EXPLORE_CHOICES[form.get("explore") ?? ""];
    const shadow = form.get("shadow");
    if (explore === undefined || (shadow !== "yes" && shadow !== "no"))
      throw new PageError(400, "Choose whether shadow mode is on, and whether retries are sampled.");
    const audited = auditSettings(actor, "merchant.changed", ports);
    const settings = { shadow: shadow === "yes", explore };
    await changeMerchant(db, merchantId, settings, secretKeys, ports, async (tx, before, after) => {
      if (form.get("was") !== formVersionOf(before)) throw new PageError(409, CHANGED_MESSAGE);
      // Asked while the merchant is held: no experiment can begin meanwhile.
      if (after.shadow && !before.shadow && (await runningExperiment(tx, merchantId)))
        throw new PageError(409, EXPERIMENT_RUNNING_MESSAGE);
      await audited(tx, before, after);
    });
    return redirectTo(reply, "/settings/recovery?done=saved");
  });
}

async function findOwnMerchant({ db, merchantId }: Visit): Promise<Merchant> {
  const merchant = await findMerchant(db, merchantId);
  if (!merchant) throw new PageError(404, "This merchant is gone.");
  return merchant;
}

function settingsPage(merchant: Merchant, { query }: Visit): Page {
  const { windowDays, budget, engine } = merchant;
  return {
    title: "Recovery settings",
    body: html`${query.get("done") === "saved" && formNotice("good", "Saved. It holds for invoices that become unpaid, and retries that are planned, from now on.")}
<form method="post" action="/settings/recovery" class="card">
<input type="hidden" name="was" value="${formVersionOf(merchant)}">
${selectField(
  "Shadow mode",
  "shadow",
  [
    ["no", "Off: Dunlin sends instructions"],
    ["yes", "On: Dunlin decides, records it, and sends nothing"],
  ],
  shadowChoice(merchant),
)}
<p class="soft">Invoices keep the mode in which they became unpaid. <a href="/shadow">Shadow mode</a> compares what Dunlin would do with what your own system does.</p>
${selectField(
  "Sampling to learn",
  "explore",
  [
    ["auto", `From ${EXPLORATION_MIN_OUTCOMES} outcomes on`],
    ["yes", "From now on"],
    ["no", "Never"],
  ],
  exploreChoice(merchant),
)}
<p class="soft">A share of retries is made at another time than the one with the highest expected value, so that Dunlin goes on learning. <a href="/docs/guides/engine.html">How it learns</a></p>
<button class="main">Save</button></form>
<h2>Set by the operator of Dunlin</h2>
${factList([
  ["Recovery window", `${formatCount(windowDays)} ${windowDays === 1 ? "day" : "days"}`],
  ["Retries for an invoice, at most", formatCount(budget)],
  ["Times are chosen", engine === "learned" ? "by the learned model" : "by fixed rules"],
])}`,
  };
}
