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

/** Starting an experiment, and ending the one that runs. */
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
    if (!started) throw new PageError(409, "An experiment is running already. Stop it before you start another one.");
    return redirectTo(visit.reply, `/experiments/${started.id}?done=started`);
  });
  console.post("/experiments/:id/stop", "experiments", async ({ db, params, form, merchantId, actor, reply }) => {
    const id = params.id!;
    if (!isUuid(id)) throw notFoundError("experiment");
    const reason = (form.get("reason") ?? "").trim().slice(0, 200);
    await db.transaction(async (tx) => {
      const stopped = await stopRunningExperiment(tx, merchantId, actor, ports, reason === "" ? {} : { reason });
      if (stopped?.id !== id) throw new PageError(409, "This experiment does not run, so there is nothing to stop.");
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

/** What a form says, or what is wrong with it. */
function readPlan(form: URLSearchParams): ExperimentPlan | string {
  const text = (name: string) => (form.get(name) ?? "").trim();
  const whole = (name: string, min: number, max: number) =>
    /^\d{1,3}$/.test(text(name)) && Number(text(name)) >= min && Number(text(name)) <= max ? Number(text(name)) : null;
  if (text("name") === "" || /\p{Cc}/u.test(text("name"))) return "Give the experiment a name.";
  const share = whole("share", 1, 99);
  if (share === null) return "Dunlin's share must be a whole number of percent from 1 to 99.";
  const calibrationDays = whole("calibrationDays", 0, 365);
  if (calibrationDays === null) return "The calibration must be a whole number of days from 0 to 365.";
  const maturityDays = text("maturityDays") === "" ? undefined : whole("maturityDays", 1, 365);
  if (maturityDays === null) return "An invoice counts after a whole number of days from 1 to 365.";
  const currency = text("currency").toUpperCase();
  const primary = form.get("primary") === "money" ? currency : COUNT_MEASURE;
  if (primary === COUNT_MEASURE && currency !== "")
    return "A currency is given, but the verdict rests on invoices: choose money, or leave the currency out.";
  if (primary !== COUNT_MEASURE && !/^[A-Z]{3}$/.test(primary))
    return "Name the currency of the money: three letters, such as EUR.";
  const margin = Number(text("margin")) / 100;
  if (!/^\d{1,2}(\.\d{1,2})?$/.test(text("margin")) || margin < 0.001 || margin > 0.5)
    return "The smallest difference that matters must be from 0.1 to 50 points.";
  return { name: text("name").slice(0, 255), share: share / 100, calibrationDays, maturityDays, primary, margin };
}

function startPage(running: Experiment | null, typed: URLSearchParams, problem: string | null): Page {
  const value = (name: string, otherwise: string) => typed.get(name) ?? otherwise;
  return {
    title: "Start an experiment",
    body: running
      ? html`${formNotice("warn", html`“${running.name}” is running, and two would disturb each other. <a href="/experiments/${running.id}">Stop it first.</a>`)}`
      : html`${problem && formNotice("bad", problem)}
<p class="text">Customers are split by a hash and keep their arm. In Dunlin's arm your system gets instructions; the others are left to your own system, and Dunlin only
watches what it recovers. Nothing of this can be changed later but the end, because results of two different splits can't be added up.</p>
<form method="post" action="/experiments" class="card">
${formField({ label: "Name", name: "name", value: value("name", ""), required: true, placeholder: "Dunlin or the old schedule" })}
${formField({ label: "Dunlin's share of the customers, percent", name: "share", type: "number", value: value("share", "50"), required: true, hint: "50 tells soonest; 90 leaves one customer in ten alone, and takes longer to tell." })}
${formField({ label: "Calibration, days", name: "calibrationDays", type: "number", value: value("calibrationDays", "0"), required: true, hint: "At first both arms are left to your own system, to see that they come out alike." })}
${selectField(
  "The verdict rests on",
  "primary",
  [
    ["count", "recovered invoices"],
    ["money", "recovered money of one currency"],
  ],
  value("primary", "count"),
)}
${formField({ label: "Currency, if it rests on money", name: "currency", value: value("currency", ""), maxlength: 3, placeholder: "EUR" })}
${formField({ label: "Smallest difference that matters, points", name: "margin", value: value("margin", "3"), required: true, maxlength: 5 })}
${formField({ label: "An invoice counts after, days", name: "maturityDays", type: "number", value: value("maturityDays", ""), hint: "Empty: the recovery window and 7 days more." })}
<button class="main">Start the experiment</button> <a class="button" href="/experiments">Not now</a></form>`,
  };
}
