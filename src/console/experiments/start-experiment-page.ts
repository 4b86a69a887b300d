import { COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import { type ExperimentPlan, startExperiment, stopRunningExperiment } from "../../experiments/experiments.ts";
import { runningExperiment } from "../../tables/experiments.ts";
import { type Console, redirectTo } from "../console.ts";
import { html } from "../html.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { isUuid, parsePageQuery } from "../page-query.ts";
import { formField, formNotice, selectField } from "../show/form-fields.ts";
import type { Visit } from "../visit.ts";

export function experimentStartRoutes(console: Console) {
  const { ports } = console;
  console.page("/experiments/new", "experiments", async ({ db, query, merchantId }) => {
    parsePageQuery(query, {});
    return startPage(await runningExperiment(db, merchantId), new URLSearchParams(), null);
  });
  console.post("/experiments", "experiments", async (visit) => {
    const plan = readPlan(visit.form);
    if (typeof plan === "string") return { ...startPage(null, visit.form, plan), status: 400 };
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

function startPage(running: Experiment | null, typed: URLSearchParams, problem: string | null): Page {
  const value = (name: string, fallback: string) => typed.get(name) ?? fallback;
  return {
    title: "Start an experiment",
    body: running
      ? html`${formNotice("warn", html`“${running.name}” is running. Only one experiment can run at a time. <a href="/experiments/${running.id}">Stop it first.</a>`)}`
      : html`${problem && formNotice("bad", problem)}
<p class="text">A hash assigns each customer to an arm for good. In Dunlin's arm, your system gets instructions. In the other arm, your own system retries, and Dunlin only
observes what it recovers. You can stop an experiment but not change it, because results of different splits cannot be combined.</p>
<form method="post" action="/experiments" class="box">
${formField({ label: "Name", name: "name", value: value("name", ""), required: true, placeholder: "Dunlin or the old schedule" })}
${formField({ label: "Dunlin's share of customers, percent", name: "share", type: "number", value: value("share", "50"), required: true, hint: "50 gives the fastest result. With 90, one customer in ten is in the holdout and the result takes longer." })}
${formField({ label: "Calibration, days", name: "calibrationDays", type: "number", value: value("calibrationDays", "0"), required: true, hint: "During this time your own system handles both arms, to check that they are alike." })}
${selectField(
  "Measure for the verdict",
  "primary",
  [
    ["count", "recovered invoices"],
    ["money", "recovered money in one currency"],
  ],
  value("primary", "count"),
)}
${formField({ label: "Currency, if the measure is money", name: "currency", value: value("currency", ""), maxlength: 3, placeholder: "EUR" })}
${formField({ label: "Smallest difference that matters, percentage points", name: "margin", value: value("margin", "3"), required: true, maxlength: 5 })}
${formField({ label: "Age at which an invoice is counted, days", name: "maturityDays", type: "number", value: value("maturityDays", ""), hint: "Default: the recovery window plus 7 days." })}
<button class="main">Start the experiment</button> <a class="button" href="/experiments">Cancel</a></form>`,
  };
}
