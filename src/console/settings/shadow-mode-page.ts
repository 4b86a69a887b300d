import type { Experiment } from "../../domain/experiment.ts";
import type { Merchant } from "../../domain/merchant.ts";
import { changeMerchant } from "../../merchants/merchant-settings.ts";
import { auditSettings } from "../../merchants/settings-audit.ts";
import { countOpenCases } from "../../tables/cases.ts";
import { runningExperiment } from "../../tables/experiments.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, html } from "../html.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { parsePageQuery } from "../page-query.ts";
import { formNotice, hiddenFields } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { card } from "../show/parts.ts";
import { CHANGED_MESSAGE, findOwnMerchant } from "./own-merchant.ts";

const PATH = "/settings/recovery/shadow";
const EXPERIMENT_RUNNING_MESSAGE = "An experiment is running. Stop it before you turn on shadow mode.";

const shadowVersionOf = ({ id, shadow }: Merchant) => `${id} ${shadow ? "yes" : "no"}`;

/** The state in words, and the way to change it. */
export const shadowCard = ({ shadow }: Merchant): Html =>
  card(
    {
      title: "Shadow mode",
      side: shadow
        ? html`<span class="tag warn">on: Dunlin sends nothing</span>`
        : html`<span class="tag good">off: Dunlin sends instructions</span>`,
    },
    html`<div class="in switch"><p class="soft">In shadow mode Dunlin plans and learns, and sends nothing. Your own retries go on. <a href="/shadow">Compare the two</a>.</p><a class="button" href="${PATH}">${shadow ? "Turn off…" : "Turn on…"}</a></div>`,
  );

export function shadowRoutes({ page, post, ports, secretKeys }: Console) {
  page(PATH, "experiments", async (visit) => {
    parsePageQuery(visit.query, {});
    const [merchant, experiment, openCases] = await Promise.all([
      findOwnMerchant(visit),
      runningExperiment(visit.db, visit.merchantId),
      countOpenCases(visit.db, visit.merchantId),
    ]);
    return confirmingPage(merchant, experiment, openCases);
  });
  post(PATH, "experiments", async ({ db, merchantId, form, actor, reply }) => {
    const choice = form.get("shadow");
    if (choice !== "yes" && choice !== "no") throw new PageError(400, "Choose whether shadow mode is on.");
    const shadow = choice === "yes";
    const recordAudit = auditSettings(actor, "merchant.changed", ports);
    await changeMerchant(db, merchantId, { shadow }, secretKeys, ports, async (tx, before, after) => {
      if (form.get("was") !== shadowVersionOf(before)) throw new PageError(409, CHANGED_MESSAGE);
      // The merchant's row is locked, so no experiment can start meanwhile.
      if (after.shadow && !before.shadow && (await runningExperiment(tx, merchantId)))
        throw new PageError(409, EXPERIMENT_RUNNING_MESSAGE);
      await recordAudit(tx, before, after);
    });
    return redirectTo(reply, "/settings/recovery?done=shadow");
  });
}

function confirmingPage(merchant: Merchant, experiment: Experiment | null, openCases: number): Page {
  const isOn = merchant.shadow;
  const isBlocked = !isOn && experiment !== null;
  return {
    title: isOn ? "Turn off shadow mode" : "Turn on shadow mode",
    crumb: html`<a href="/settings/recovery">Recovery settings</a>`,
    body: html`${isBlocked && formNotice("warn", html`<span>${EXPERIMENT_RUNNING_MESSAGE} <a href="/experiments/${experiment.id}">${experiment.name}</a></span>`)}
<section class="card"><div class="in field gap"><ul>${consequences(isOn, openCases).map((text) => html`<li>${text}</li>`)}</ul>
<form method="post" action="${PATH}" class="tools">${hiddenFields({ was: shadowVersionOf(merchant), shadow: isOn ? "no" : "yes" })}${!isBlocked && html`<button class="main">${isOn ? "Turn off shadow mode" : "Turn on shadow mode"}</button>`} <a class="button" href="/settings/recovery">Cancel</a></form></div></section>`,
  };
}

const consequences = (isOn: boolean, openCases: number): string[] => [
  isOn
    ? "Dunlin sends instructions for invoices that become unpaid from now on. Your own system must not retry them."
    : "For invoices that become unpaid from now on, Dunlin logs its decisions and sends nothing. Your own system must retry them.",
  openCases === 0
    ? "There are no open cases."
    : `${formatCount(openCases)} open ${openCases === 1 ? "case keeps its mode" : "cases keep their mode"}: an invoice keeps the mode in which it became unpaid.`,
];
