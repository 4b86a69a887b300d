import { type Period, periodBefore } from "../../analytics/period.ts";
import { rateInterval, toRow } from "../../analytics/recovery-breakdown.ts";
import { isInView, type ReportingView, sumInView } from "../../analytics/reporting-money.ts";
import { matureSpan } from "../../analytics/split-sums.ts";
import { listAttention } from "../../attention/list-attention.ts";
import { minorDigitsOf } from "../../domain/currency.ts";
import type { Merchant } from "../../domain/merchant.ts";
import type { Tx } from "../../postgres/database.ts";
import { listInvoices, type Outcome, type OutcomeSum, sumInvoices } from "../../tables/invoice-list.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { type RecoverySum, sumRecovery } from "../../tables/recovery-sums.ts";
import type { Console } from "../console.ts";
import { endpointNotice } from "../endpoint-notice.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { parsePageQuery, withQuery } from "../page-query.ts";
import { CA_HINT, ingestCommand } from "../show/curl-commands.ts";
import { formNotice } from "../show/form-fields.ts";
import {
  formatCount,
  formatMoney,
  formatMoneyAxis,
  formatMoneyShort,
  formatShare,
  formatShareRange,
} from "../show/number-format.ts";
import { card, changeOf, type FigureCell, figureStrip } from "../show/parts.ts";
import { rateMini, type StepBar, stepBars } from "../show/plots.ts";
import { commandHint } from "../show/table.ts";
import type { Visit } from "../visit.ts";
import { addedCard, type ExperimentResult, latestExperiment } from "./added-card.ts";
import { attentionCard, healthStrip } from "./attention-card.ts";
import { PERIOD_READERS, periodTools, periodWords, readPeriod, readView } from "./period-tools.ts";

export function overviewRoutes({ page, ports, baseUrl, caPath }: Console) {
  page("/overview", null, async (visit): Promise<Page> => {
    const query = parsePageQuery(visit.query, PERIOD_READERS);
    const { db, merchantId, person } = visit;
    const now = ports.now();
    const period = readPeriod(query, now, person.zone);
    const merchant = await findMerchant(db, merchantId);
    const before = periodBefore(period, person.zone);
    const view = await readView(visit, before.from, query.currency);
    const [data, attention] = await Promise.all([
      loadOverview(db, merchantId, merchant, period, before, view, now),
      listAttention(db, merchantId, now, ports.clockRate),
    ]);
    const isEmpty =
      data.result === null &&
      [data.ended, data.open, data.watched, data.mature].every(({ length }) => length === 0) &&
      (await listInvoices(db, merchantId, {}, undefined, 1)).length === 0;
    return {
      title: "Overview",
      tools: isEmpty ? null : periodTools(visit, period, view, now),
      body: html`${merchant?.shadow && formNotice("warn", SHADOW_NOTICE)}${merchant && !(isEmpty && merchant.webhookUrl === null) && !attention.some(({ kind }) => kind === "endpoint_failing") && endpointNotice(merchant, visit)}
${
  isEmpty
    ? firstSteps(visit, merchant, baseUrl, caPath)
    : html`
<div class="grid two-one">${moneyCard(data, visit, now)}${attentionCard(attention)}</div>
${figures(data, visit)}
${addedCard(data.result, merchant?.shadow ?? false, visit)}
${healthStrip(attention, { hasEndpoint: merchant?.webhookUrl !== null, seesEndpoint: visit.may("webhook") })}
${currencyCard(data, visit)}`
}`,
    };
  });
}

const SHADOW_NOTICE = html`Shadow mode is on. Your own system retries invoices that become unpaid now; Dunlin only logs what it would do. <a href="/shadow">Compare the two</a>`;

interface OverviewData {
  period: Period;
  before: Period;
  view: ReportingView;
  maturityDays: number;
  /** By step, outcome and currency. */
  ended: readonly RecoverySum[];
  endedBefore: readonly RecoverySum[];
  /** Of the whole period before, up to the same time. */
  totalBefore: readonly RecoverySum[];
  /** Cases that failed long enough ago to be over, in spans as long as the periods. */
  mature: readonly RecoverySum[];
  matureSpan: { from: Date; to: Date };
  matureBefore: readonly RecoverySum[];
  designEffect: number;
  open: readonly OutcomeSum[];
  watched: readonly OutcomeSum[];
  result: ExperimentResult | null;
}

async function loadOverview(
  db: Tx,
  merchantId: string,
  merchant: Merchant | null,
  period: Period,
  before: Period,
  view: ReportingView,
  now: Date,
): Promise<OverviewData> {
  const span = await matureSpan(db, merchantId, period, period.name !== null, now);
  const { from, to, maturityDays, designEffect } = span;
  const earlier = new Date(before.from.getTime() - (period.from.getTime() - from.getTime()));
  const [ended, endedBefore, totalBefore, mature, open, watched, result] = await Promise.all([
    sumRecovery(db, merchantId, "ended", period.bounds),
    sumRecovery(db, merchantId, "ended", before.bounds),
    sumRecovery(db, merchantId, "ended", [before.from, before.to]),
    sumRecovery(db, merchantId, "all", [earlier, from, to]),
    sumInvoices(db, merchantId, { outcome: "open" }),
    merchant?.shadow ? sumInvoices(db, merchantId, { outcome: "watched" }) : [],
    latestExperiment(db, merchantId),
  ]);
  return {
    ...{ period, before, view, maturityDays, ended, endedBefore, totalBefore, designEffect, open, watched, result },
    mature: mature.filter(({ span }) => span === 1),
    matureBefore: mature.filter(({ span }) => span === 0),
    matureSpan: { from, to },
  };
}

const sumOutcome = (sums: readonly RecoverySum[], outcome: Outcome, view: ReportingView) => {
  const found = sums.filter(({ value }) => value === outcome);
  return {
    n: found.filter((sum) => isInView(sum, view)).reduce((total, { n }) => total + n, 0),
    amount: sumInView(found, ({ amount }) => amount, view),
  };
};

/** "≈" marks converted money. */
const shown = (amount: bigint, view: ReportingView) =>
  `${view.isConverted ? "≈ " : ""}${formatMoneyShort(amount, view.currency)}`;

const STEP_WORDS = { day: "day", week: "week", month: "month" } as const;

function moneyCard(
  { period, before, view, ended, endedBefore, totalBefore }: OverviewData,
  { path, query, person: { zone } }: Visit,
  now: Date,
): Html {
  const total = sumOutcome(ended, "recovered", view);
  const past = sumOutcome(totalBefore, "recovered", view);
  const step = STEP_WORDS[period.step];
  const rows = period.bounds.slice(0, -1).map((from, index): StepRow => {
    const to = period.bounds[index + 1]!;
    const of = (sums: readonly RecoverySum[]) =>
      sumOutcome(
        sums.filter(({ span }) => span === index),
        "recovered",
        view,
      );
    const [value, earlier] = [of(ended), of(endedBefore)];
    return { from, to, value, before: earlier, isOpen: to > now };
  });
  const name = (row: StepRow) => stepLabel(row.from, period.step, zone);
  const major = (amount: bigint) => Number(amount) / 10 ** minorDigitsOf(view.currency);
  const bars = rows.map(
    (row): StepBar => ({
      label: name(row),
      value: major(row.value.amount),
      before: major(row.before.amount),
      isOpen: row.isOpen,
      words: `${name(row)}: ${formatMoney(row.value.amount, view.currency)}${row.isOpen ? `, the ${step} is not over` : ""}. Before: ${formatMoney(row.before.amount, view.currency)}.`,
      href: invoicesHref("recovered", row.from, row.to, view),
    }),
  );
  const words = bars.map((bar) => bar.words).join(" ");
  const legend = html`<span class="legend"><span><svg viewBox="0 0 12 12"><rect class="c-bar" width="12" height="12" rx="2"/></svg>this period</span><span><svg viewBox="0 0 12 12"><rect class="c-prev" x=".5" y=".5" width="11" height="11" rx="2"/></svg>before</span>${rows.some(({ isOpen }) => isOpen) && html`<span><svg viewBox="0 0 12 12"><rect class="c-part" width="12" height="12" rx="2"/></svg>${step} not over</span>`}</span>`;
  return card(
    {
      title: `Recovered money by ${step}`,
      side: legend,
      foot: html`<span>Paid after a retry or a card change that Dunlin asked for, by the day on which the payment was reported. ${periodWords(period, zone)}.</span>${numbersOf(rows, name, view)}`,
    },
    html`<div class="in"><p class="figure"><a href="${invoicesHref("recovered", period.from, period.to, view)}" title="${formatMoney(total.amount, view.currency)}">${shown(total.amount, view)}</a></p>
<p class="small soft">${changeOf(total.amount, past.amount)} against <a href="${withQuery(path, query, { period: null, from: dayOf(before.from, zone), to: dayOf(new Date(before.to.getTime() - 1), zone) })}">${shown(past.amount, view)}</a> from ${periodWords(before, zone)}${view.isConverted && ", both at the same rates"}</p>
<div class="chart-gap">${stepBars(`Recovered money by ${step}. ${words}`, bars, (value) => formatMoneyAxis(value, view.currency))}</div></div>`,
  );
}

const dayOf = (at: Date, zone: string) =>
  new Intl.DateTimeFormat("en-CA", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" }).format(at);

interface StepRow {
  from: Date;
  to: Date;
  value: { n: number; amount: bigint };
  before: { n: number; amount: bigint };
  isOpen: boolean;
}

function stepLabel(from: Date, step: Period["step"], zone: string): string {
  const format =
    step === "month" ? ({ month: "short", year: "2-digit" } as const) : ({ day: "numeric", month: "short" } as const);
  return new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...format }).format(from);
}

function numbersOf(rows: readonly StepRow[], name: (row: StepRow) => string, view: ReportingView): Html {
  const line = (row: StepRow) =>
    html`<tr><th scope="row">${name(row)}${row.isOpen && html` <small>not over</small>`}</th><td class="num"><a href="${invoicesHref("recovered", row.from, row.to, view)}">${formatCount(row.value.n)}</a></td><td class="num">${formatMoney(row.value.amount, view.currency)}</td><td class="num">${formatMoney(row.before.amount, view.currency)}</td></tr>\n`;
  return html`<details class="more"><summary>Show the numbers</summary><table class="small-table"><thead><tr><th scope="col">From</th><th scope="col" class="num">Invoices</th><th scope="col" class="num">Recovered</th><th scope="col" class="num">Before</th></tr></thead><tbody>${rows.map(line)}</tbody></table></details>`;
}

/** The rows behind a figure of ended cases. */
function invoicesHref(outcome: Outcome, from: Date, to: Date, view: ReportingView): string {
  const query = new URLSearchParams({ outcome, endedFrom: from.toISOString(), endedTo: to.toISOString() });
  if (!view.isConverted && view.currencies.length > 1) query.set("currency", view.currency);
  return `/invoices?${query}`;
}

function figures(data: OverviewData, { person: { zone } }: Visit): Html {
  const { view, ended, totalBefore, open, period, maturityDays, matureSpan } = data;
  const rate = toRow(
    "",
    data.mature.filter((sum) => isInView(sum, view)),
    view,
    data.designEffect,
  );
  const past = toRow(
    "",
    data.matureBefore.filter((sum) => isInView(sum, view)),
    view,
    data.designEffect,
  );
  const inRecovery = open.filter((sum) => isInView(sum, view));
  const countOf = (n: number) => `${formatCount(n)} ${n === 1 ? "invoice" : "invoices"}`;
  const outcome = (name: string, key: Outcome): FigureCell => {
    const [present, earlier] = [sumOutcome(ended, key, view), sumOutcome(totalBefore, key, view)];
    return {
      name,
      value: html`<a href="${invoicesHref(key, period.from, period.to, view)}" title="${formatMoney(present.amount, view.currency)}">${shown(present.amount, view)}</a>`,
      notes: [countOf(present.n), `Before: ${shown(earlier.amount, view)}`],
    };
  };
  const openAmount = sumInView(inRecovery, ({ amount }) => amount, view);
  const openQuery = !view.isConverted && view.currencies.length > 1 ? `&currency=${view.currency}` : "";
  return figureStrip([
    {
      name: "Recovery rate",
      value: rate.n === 0 ? html`<span class="soft">none yet</span>` : formatShare(rate.recovered, rate.n),
      notes:
        rate.n === 0
          ? [`An invoice counts ${maturityDays} days after it failed.`]
          : [
              html`<span title="95% interval">${formatShareRange(rate.interval!)}</span>, of ${countOf(rate.n)} that failed ${periodWords(matureSpan, zone)}`,
              ...(past.n > 0
                ? [`Before: ${formatShare(past.recovered, past.n)}. ${rateChange(rate, past, data.designEffect)}`]
                : matureSpan.to < period.to
                  ? ["Younger invoices may still be paid."]
                  : []),
            ],
    },
    {
      name: "In recovery now",
      value: html`<a href="/invoices?outcome=open${openQuery}" title="${formatMoney(openAmount, view.currency)}">${shown(openAmount, view)}</a>`,
      notes: [countOf(inRecovery.reduce((total, { n }) => total + n, 0))],
    },
    outcome("Not recovered", "lost"),
    outcome("Paid without an instruction", "paid"),
  ]);
}

/** A difference counts only if its interval leaves zero out. */
function rateChange(
  one: { n: number; recovered: number },
  other: { n: number; recovered: number },
  designEffect: number,
): string {
  const [now, before] = [
    rateInterval(one.recovered, one.n, designEffect)!,
    rateInterval(other.recovered, other.n, designEffect)!,
  ];
  const difference = one.recovered / one.n - other.recovered / other.n;
  const half = Math.hypot((now.high - now.low) / 2, (before.high - before.low) / 2);
  return Math.abs(difference) <= half ? "No clear change." : difference > 0 ? "Clearly higher." : "Clearly lower.";
}

function currencyCard(data: OverviewData, { path, query, person: { zone } }: Visit): Html {
  const { ended, totalBefore, mature, open, view, period, designEffect } = data;
  const count = (of: "n" | "recovered") => mature.reduce((total, sum) => total + sum[of], 0);
  const mean = count("n") === 0 ? null : count("recovered") / count("n");
  const rows = view.currencies.map((currency) => {
    const own: ReportingView = { ...view, currency, isConverted: false };
    const rate = toRow(
      "",
      mature.filter((sum) => sum.currency === currency),
      own,
      designEffect,
    );
    const recovered = sumOutcome(ended, "recovered", own);
    const past = sumOutcome(totalBefore, "recovered", own);
    const opened = open.filter((sum) => sum.currency === currency);
    return html`<tr><th scope="row" class="a"><a href="${withQuery(path, query, { currency })}">${currency}</a></th>
<td class="num b">${formatMoney(recovered.amount, currency)} <small><a href="${invoicesHref("recovered", period.from, period.to, { ...own, currencies: ["", ""] })}">${formatCount(recovered.n)}</a></small></td>
<td class="num opt soft">${formatMoney(past.amount, currency)}</td><td class="num">${changeOf(recovered.amount, past.amount)}</td>
<td class="num c">${rate.n === 0 ? html`<span class="soft">–</span>` : html`${formatShare(rate.recovered, rate.n)} <small>${formatShareRange(rate.interval!)}</small>`}</td>
<td class="share-bar">${rate.interval && rateMini(rate.recovered / rate.n, rate.interval, mean, `${currency}: ${formatShare(rate.recovered, rate.n)}, from ${formatShareRange(rate.interval)}`)}</td>
<td class="num">${formatMoney(sumOutcome(ended, "lost", own).amount, currency)}</td>
<td class="num d"><span class="only-narrow">open </span>${formatMoney(
      opened.reduce((total, { amount }) => total + BigInt(amount), 0n),
      currency,
    )} <small><a href="/invoices?outcome=open&amp;currency=${currency}">${formatCount(opened.reduce((total, { n }) => total + n, 0))}</a></small></td></tr>\n`;
  });
  return card(
    {
      title: "By currency",
      side: html`<a href="${withQuery("/analytics", query, {})}">More splits in Analytics</a>`,
      kind: "mb",
      foot: html`The rate counts invoices that ${data.matureSpan.from < data.matureSpan.to && html`failed ${periodWords(data.matureSpan, zone)} and `}are at least ${data.maturityDays} days old: younger ones may still be paid. Invoices of the holdout count nowhere on this page.`,
    },
    html`<table class="rows"><thead><tr><th scope="col">Currency</th><th scope="col" class="num">Recovered</th><th scope="col" class="num opt">Before</th><th scope="col" class="num">Change</th><th scope="col" class="num">Recovery rate</th><th scope="col" class="share-bar"><span class="hidden">Rate as a chart</span></th><th scope="col" class="num">Not recovered</th><th scope="col" class="num">In recovery now</th></tr></thead><tbody>${rows}</tbody></table>`,
  );
}

function firstSteps({ may }: Visit, merchant: Merchant | null, baseUrl: string, caPath: string | null): Html {
  const done = (isDone: boolean) => isDone && html` <span class="tag good">done</span>`;
  return html`<div class="card empty"><h2>Nothing has been in recovery yet</h2>
<ol>
<li>Set the endpoint that receives instructions${may("webhook") ? html`: <a href="/settings/webhook">Webhook</a>` : ""}.${done(merchant?.webhookUrl !== null)}</li>
<li>Create a key for your billing system${may("keys") ? html`: <a href="/org/api_keys">API keys</a>` : ""}.</li>
<li>Push unpaid invoices from your billing system: see the <a href="/docs/guides/ingest.html">guide to pushing</a>.</li>
<li>Optional: ${may("import") ? html`<a href="/import">import your history</a>` : "import your history"} to improve the first decisions.</li>
</ol>${commandHint(ingestCommand(baseUrl, caPath), caPath && CA_HINT)}</div>`;
}
