import { COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import { forecastExperiment } from "../../experiments/experiment-forecast.ts";
import {
  type ExperimentPlan,
  plannedExperiment,
  startExperiment,
  stopRunningExperiment,
} from "../../experiments/experiments.ts";
import { readMaturityDays } from "../../experiments/maturity.ts";
import { runningExperiment } from "../../tables/experiments.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, html } from "../html.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { isUuid, parsePageQuery } from "../page-query.ts";
import { formField, formNotice, selectField } from "../show/form-fields.ts";
import { card } from "../show/parts.ts";
import type { Visit } from "../visit.ts";
import { forecastCard } from "./plan-card.ts";

export function experimentStartRoutes(console: Console) {
  const { ports } = console;
  console.page("/experiments/new", "experiments", async (visit) => {
    parsePageQuery(visit.query, FIELD_READERS);
    const running = await runningExperiment(visit.db, visit.merchantId);
    if (running) return runningPage(running);
    const plan = readPlan(withDefaults(visit.query));
    if (typeof plan === "string") return { ...startPage(visit.query, plan, null), status: 400 };
    return startPage(visit.query, null, await planPreview(visit, plan, ports.now()));
  });
  console.post("/experiments", "experiments", async (visit) => {
    const plan = readPlan(visit.form);
    if (typeof plan === "string") return { ...startPage(visit.form, plan, null), status: 400 };
    const started = await startFromForm(console, visit, plan);
    if (!started) throw new PageError(409, "An experiment is already running. Stop it before you start another one.");
    return redirectTo(visit.reply, `/experiments/${started.id}?done=started`);
  });
  console.post("/experiments/:id/stop", "experiments", async ({ db, params, form, merchantId, actor, reply }) => {
    const id = params.id!;
    if (!isUuid(id)) throw notFoundError("experiment");
    const reason = (form.get("reason") ?? "").trim().slice(0, 200);
    await db.transaction(async (tx) => {
      const stopped = await stopRunningExperiment(tx, merchantId, actor, ports, reason === "" ? {} : { reason });
      if (stopped?.id !== id) throw new PageError(409, "This experiment is not running, so there is nothing to stop.");
    });
    return redirectTo(reply, `/experiments/${id}?done=stopped`);
  });
}

const FORM_DEFAULTS = {
  name: "",
  share: "50",
  calibrationDays: "0",
  primary: "count",
  currency: "",
  margin: "3",
  maturityDays: "",
};
const FIELD_READERS = Object.fromEntries(Object.keys(FORM_DEFAULTS).map((name) => [name, (text: string) => text]));

/** A plan can be checked before it has a name. */
function withDefaults(query: URLSearchParams): URLSearchParams {
  const fields = new URLSearchParams({ ...FORM_DEFAULTS, ...Object.fromEntries(query) });
  if ((fields.get("name") ?? "").trim() === "") fields.set("name", "Plan");
  return fields;
}

/** The size and the date, by the merchant's own history. */
async function planPreview({ db, merchantId, person }: Visit, plan: ExperimentPlan, now: Date): Promise<Html> {
  const planned = plannedExperiment(plan, await readMaturityDays(db, merchantId), now);
  return forecastCard(planned, await forecastExperiment(db, merchantId, planned, now), person.zone);
}

const startFromForm = ({ ports }: Console, { db, merchantId, actor }: Visit, plan: ExperimentPlan) =>
  db.transaction(async (tx): Promise<Experiment | null> => {
    const started = await startExperiment(tx, merchantId, plan, actor, ports);
    if (typeof started === "string") throw new PageError(409, started);
    return started;
  });

function readPlan(form: URLSearchParams): ExperimentPlan | string {
  const text = (name: string) => (form.get(name) ?? "").trim();
  const whole = (name: string, min: number, max: number) =>
    /^\d{1,3}$/.test(text(name)) && Number(text(name)) >= min && Number(text(name)) <= max ? Number(text(name)) : null;
  if (text("name") === "" || /\p{Cc}/u.test(text("name"))) return "Give the experiment a name.";
  const share = whole("share", 1, 99);
  if (share === null) return "Dunlin's share must be a whole percentage from 1 to 99.";
  const calibrationDays = whole("calibrationDays", 0, 365);
  if (calibrationDays === null) return "The calibration must be a whole number of days from 0 to 365.";
  const maturityDays = text("maturityDays") === "" ? undefined : whole("maturityDays", 1, 365);
  if (maturityDays === null)
    return "The age at which an invoice is counted must be a whole number of days from 1 to 365.";
  const currency = text("currency").toUpperCase();
  const primary = form.get("primary") === "money" ? currency : COUNT_MEASURE;
  if (primary === COUNT_MEASURE && currency !== "")
    return "The verdict uses invoices, so it needs no currency. Choose money, or clear the currency.";
  if (primary !== COUNT_MEASURE && !/^[A-Z]{3}$/.test(primary))
    return "Enter the currency of the money: three letters, such as EUR.";
  const margin = Number(text("margin")) / 100;
  if (!/^\d{1,2}(\.\d{1,2})?$/.test(text("margin")) || margin < 0.001 || margin > 0.5)
    return "The smallest difference that matters must be from 0.1 to 50 points.";
  return { name: text("name").slice(0, 255), share: share / 100, calibrationDays, maturityDays, primary, margin };
}

const runningPage = ({ id, name }: Experiment): Page => ({
  title: "Start an experiment",
  crumb: html`<a href="/experiments">Experiments</a>`,
  body: formNotice(
    "warn",
    html`<span>“${name}” is running. Only one experiment can run at a time. <a href="/experiments/${id}">Stop it first.</a></span>`,
  ),
});

function startPage(typed: URLSearchParams, problem: string | null, preview: Html | null): Page {
  const value = (name: keyof typeof FORM_DEFAULTS) => typed.get(name) ?? FORM_DEFAULTS[name];
  return {
    title: "Start an experiment",
    crumb: html`<a href="/experiments">Experiments</a>`,
    body: html`${problem && formNotice("bad", problem)}
<p class="lede">A hash assigns each customer to an arm for good. In Dunlin's arm, your system gets instructions. In the other arm, your own system retries, and Dunlin only
observes what it recovers. You can stop an experiment but not change it, because results of different splits cannot be combined.</p>
<div class="grid two top"><form method="post" action="/experiments" class="card"><div class="in field gap">
${formField({ label: "Name", name: "name", value: value("name"), required: true, placeholder: "Dunlin or the old schedule" })}
${formField({ label: "Dunlin's share of customers, percent", name: "share", type: "number", value: value("share"), required: true, hint: "50 gives the fastest result. With 90, one customer in ten is in the holdout and the result takes longer." })}
${formField({ label: "Calibration, days", name: "calibrationDays", type: "number", value: value("calibrationDays"), required: true, hint: "During this time your own system handles both arms, to check that they are alike." })}
<div class="form half">${selectField(
      "Measure for the verdict",
      "primary",
      [
        ["count", "recovered invoices"],
        ["money", "recovered money"],
      ],
      value("primary"),
    )}
${formField({ label: "Currency, for money", name: "currency", value: value("currency"), maxlength: 3, placeholder: "EUR" })}</div>
${formField({ label: "Smallest difference that matters, percentage points", name: "margin", value: value("margin"), required: true, maxlength: 5, hint: "Half of it needs about four times as many invoices." })}
${formField({ label: "Age at which an invoice is counted, days", name: "maturityDays", type: "number", value: value("maturityDays"), hint: "Default: the recovery window plus 7 days." })}
<p class="tools"><button class="main">Start the experiment</button> <button formmethod="get" formaction="/experiments/new" formnovalidate>Check</button> <a class="button" href="/experiments">Cancel</a></p></div></form>
<div>${preview ?? card({ title: "Plan" }, html`<div class="in"><p class="soft">Correct the form, then press Check to see how many invoices the experiment needs and how long it takes.</p></div>`)}</div></div>`,
  };
}
