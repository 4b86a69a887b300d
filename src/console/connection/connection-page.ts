import type { Connection, ConnectorName, EndChoice, MessageSettings } from "../../domain/connection.ts";
import type { Experiment } from "../../domain/experiment.ts";
import { startExperiment } from "../../experiments/experiments.ts";
import { changeMerchant } from "../../merchants/merchant-settings.ts";
import { auditSettings } from "../../merchants/settings-audit.ts";
import type { Tx } from "../../postgres/database.ts";
import { writeAuditEntry } from "../../tables/audit-log.ts";
import {
  type ConnectorProblem,
  type ConnectorState,
  findConnection,
  listConnectorProblems,
  pauseConnection,
  readConnectorState,
  retryConnectorProblems,
} from "../../tables/connections.ts";
import { runningExperiment } from "../../tables/experiments.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { type Console, redirectTo } from "../console.ts";
import { endpointNotice } from "../endpoint-notice.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery } from "../page-query.ts";
import { formButton, formNotice } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { stateLabel, toSpacedWords } from "../show/state-labels.ts";
import { emptyNotice, factList, table } from "../show/table.ts";
import { formatDuration, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

/** A merchant connects at most one account. */
export const CONNECTED: ConnectorName = "stripe";
/** In real time. A running connector reports every few seconds. */
const REPORT_AGE_MAX_MS = 30_000;
/** In real time. Work that waits longer shows that something is wrong; the connector's health page has the same limit. */
const LATE_MS = 10 * 60_000;
const SHOWN_PROBLEMS_MAX = 50;
const DUNLIN_SHARE = 0.9;
const FIRST_EXPERIMENT = { name: "Dunlin or Stripe's retries", share: DUNLIN_SHARE };

const CONFIRMATIONS = {
  started: "Started. From now on, Dunlin retries failed payments, except for customers in the holdout.",
  paused: "Paused. Dunlin charges nothing and sends no mail.",
  resumed: "Resumed.",
  retried: "The connector now tries again everything that failed.",
};
const QUERY_READERS = { done: enumReader(Object.keys(CONFIRMATIONS) as (keyof typeof CONFIRMATIONS)[]) };

export function connectionRoutes(console: Console) {
  const { ports, secretKeys } = console;
  console.page("/connection", null, connectionPage);
  console.post("/connection/start", "experiments", async (visit) => {
    const { db, merchantId, actor, reply } = visit;
    const recordAudit = auditSettings(actor, "merchant.changed", ports);
    await changeMerchant(db, merchantId, { shadow: false }, secretKeys, ports, async (tx, before, after) => {
      await requireConnection(tx, merchantId);
      if (!before.shadow) throw new PageError(409, NOT_IN_SHADOW_MESSAGE);
      await recordAudit(tx, before, after);
      const started = await startExperiment(tx, merchantId, FIRST_EXPERIMENT, actor, ports);
      if (started === null || typeof started === "string")
        throw new PageError(409, started ?? EXPERIMENT_RUNNING_MESSAGE);
    });
    return redirectTo(reply, "/connection?done=started");
  });
  console.post("/connection/retry", "webhook", async ({ db, merchantId, actor, reply }) => {
    await db.transaction(async (tx) => {
      const { name } = await requireConnection(tx, merchantId);
      const count = await retryConnectorProblems(tx, merchantId, name, ports.now());
      const change = { operation: "connection.retried", object: name, details: { count } };
      await writeAuditEntry(tx, merchantId, actor, change, ports);
    });
    return redirectTo(reply, "/connection?done=retried");
  });
  for (const [path, done] of [
    ["pause", "paused"],
    ["resume", "resumed"],
  ] as const)
    console.post(`/connection/${path}`, "webhook", async ({ db, merchantId, actor, reply }) => {
      await db.transaction(async (tx) => {
        const { name } = await requireConnection(tx, merchantId);
        const [at, by] = path === "pause" ? [ports.now(), actor.name] : [null, null];
        // A form that is sent twice changes nothing the second time.
        if (await pauseConnection(tx, merchantId, name, at, by))
          await writeAuditEntry(tx, merchantId, actor, { operation: `connection.${done}`, object: name }, ports);
      });
      return redirectTo(reply, `/connection?done=${done}`);
    });
}

const NOT_IN_SHADOW_MESSAGE = "Shadow mode is already off. To measure what Dunlin adds, start an experiment.";
const EXPERIMENT_RUNNING_MESSAGE = "Nothing was changed, because an experiment is already running. Stop it first.";

async function requireConnection(tx: Tx, merchantId: string): Promise<Connection> {
  const connection = await findConnection(tx, merchantId, CONNECTED);
  if (!connection) throw notFoundError("connected billing account");
  return connection;
}

async function connectionPage(visit: Visit): Promise<Page> {
  const { db, merchantId, may } = visit;
  const { zone } = visit.person;
  const { done } = parsePageQuery(visit.query, QUERY_READERS);
  const connection = await findConnection(db, merchantId, CONNECTED);
  if (!connection) return { title: "Connection", body: notConnectedNotice(await runningExperiment(db, merchantId)) };
  const [merchant, experiment, state, problems] = await Promise.all([
    findMerchant(db, merchantId),
    runningExperiment(db, merchantId),
    readConnectorState(db, merchantId, connection.name),
    listConnectorProblems(db, merchantId, connection.name, SHOWN_PROBLEMS_MAX + 1, lateBefore(visit)),
  ]);
  return {
    title: "Connection",
    body: html`${done && formNotice("good", CONFIRMATIONS[done])}
${statusSection(connection, state, visit)}
${merchant && endpointNotice(merchant, visit)}
${merchant?.shadow ? shadowCard(state.owned, visit) : experimentSentence(experiment, may("experiments"))}
<h2>Facts</h2>
${connectionFacts(connection, state, visit)}
<h2>History</h2>
${historySection(parseBackfill(state.cursors.backfill))}
<div class="columns"><section><h2>Charges</h2>${stateTable("Charges", ACTION_STATE_WORDS, state.actions, "No charges yet.")}</section>
<section><h2>Mails to customers</h2>${stateTable("Mails to customers", MESSAGE_STATE_WORDS, state.messages, "No mails yet.")}</section></div>
<h2>Problems</h2>
${problemSection(problems, zone, may("webhook"))}
<h2>${connection.pausedAt === null ? "Pause" : "Resume"}</h2>
${pauseCard(connection, may("webhook"))}`,
  };
}

/** A new connection starts in shadow mode, unless an experiment runs. */
const notConnectedNotice = (experiment: Experiment | null): Html =>
  emptyNotice(
    html`No billing account is connected. Dunlin can read invoices from Stripe and retry failed payments there. To connect your Stripe account, run <code>npx dunlin connect stripe --stripe-key-file FILE</code> where Dunlin runs. ${experiment ? "An experiment is running, so Dunlin retries as soon as the account is connected." : "Nothing is charged until you start it here."} <a href="/docs/guides/stripe.html">How to connect Stripe</a>`,
  );

const modeWords = ({ isLive }: Connection) => (isLive ? "live mode" : "test mode");

const lateBefore = ({ clock }: Visit) => new Date(clock.now.getTime() - LATE_MS * clock.rate);

function statusSection(connection: Connection, { cursors }: ConnectorState, visit: Visit): Html {
  const { clock } = visit;
  const { zone } = visit.person;
  const { seenAt, pausedAt, pausedBy, createdAt } = connection;
  const polledAt = cursors["last-poll"] === undefined ? null : new Date(cursors["last-poll"]);
  const isPollLate = (polledAt ?? createdAt) < lateBefore(visit);
  const isRunning = seenAt !== null && clock.now.getTime() - seenAt.getTime() <= REPORT_AGE_MAX_MS * clock.rate;
  const state = !isRunning
    ? stateLabel("not running", "bad")
    : isPollLate
      ? stateLabel("failing", "bad")
      : pausedAt === null
        ? stateLabel("running", "good")
        : stateLabel("paused", "warn");
  return html`<p class="lead">Stripe, ${modeWords(connection)} ${state}</p>
${
  !isRunning &&
  formNotice(
    "warn",
    html`The connector does not run. It ${seenAt === null ? "has not reported yet" : html`last reported on ${timeElement(seenAt, zone)}`}. To start it, run <code>npx dunlin connect stripe</code>.`,
  )
}
${
  isRunning &&
  isPollLate &&
  formNotice(
    "bad",
    html`The connector runs, but Stripe has answered no poll ${polledAt === null ? "yet" : html`since ${timeElement(polledAt, zone)}`}. To see why, run <code>npx dunlin connect stripe --check</code>.`,
  )
}
${pausedAt && formNotice("warn", html`Paused${pausedBy && ` by ${pausedBy}`} since ${timeElement(pausedAt, zone)}.`)}`;
}

/** An invoice that became unpaid before shadow mode stays with Dunlin. */
function shadowCard(owned: number, { may }: Visit): Html {
  const dunlinPercent = Math.round(DUNLIN_SHARE * 100);
  return html`<div class="box">
<p>Shadow mode is on: ${owned === 0 ? "nothing is charged yet" : `nothing is charged, except for the ${formatCount(owned)} earlier ${owned === 1 ? "invoice" : "invoices"} that Dunlin still handles`}. See <a href="/shadow">what Dunlin would have done</a>, and a <a href="/backtest">backtest on your history</a>.</p>
${
  may("experiments")
    ? html`<p>When you start, Dunlin retries failed payments of ${dunlinPercent}% of customers from then on. For the others, Stripe's own retries go on, and Dunlin measures the difference. Stripe keeps the invoices that are unpaid now.</p>
${formButton("/connection/start", `Start with a ${100 - dunlinPercent}% holdout`, {}, "main")}`
    : html`<p class="soft">An owner or admin can start it here.</p>`
}</div>`;
}

const experimentSentence = (experiment: Experiment | null, mayStart: boolean): Html =>
  experiment
    ? html`<p class="text">An experiment measures what Dunlin adds: <a href="/experiments/${experiment.id}">${experiment.name}</a>.</p>`
    : html`<p class="text">Dunlin retries failed payments of all customers, so nothing measures what it adds.${mayStart && html` <a href="/experiments/new">Start an experiment</a>`}</p>`;

const END_CHOICE_WORDS: Readonly<Record<EndChoice, string>> = {
  give_back: "given back to Stripe",
  mark_uncollectible: "marked as uncollectible",
  cancel_subscription: "their subscription is canceled",
};

function connectionFacts(connection: Connection, state: ConnectorState, { clock, person: { zone } }: Visit): Html {
  const { createdAt, settings, isLive } = connection;
  const { waiting, oldestAt, owned } = state;
  const cursorTime = (name: string) => {
    const value = state.cursors[name];
    return timeElement(value === undefined ? null : new Date(value), zone);
  };
  const lagMs = oldestAt ? Math.max(0, clock.now.getTime() - oldestAt.getTime()) : 0;
  return factList([
    ["Account", `${modeWords(connection)}: ${isLive ? "real money" : "no real money"}`],
    ["Connected since", timeElement(createdAt, zone)],
    ["Last event in Stripe", cursorTime("last-event")],
    ["Last poll", cursorTime("last-poll")],
    ["Last webhook", cursorTime("webhook-accepted")],
    ["Changes waiting", waiting === 0 ? "none" : `${formatCount(waiting)}, the oldest for ${formatDuration(lagMs)}`],
    ["Invoices handled by Dunlin", formatCount(owned)],
    ["Open invoices when recovery ends", END_CHOICE_WORDS[settings.whenOver]],
    ["Mails to customers", describeMails(settings.messages)],
  ]);
}

function describeMails(messages: MessageSettings | null): string {
  if (messages === null) return "off";
  const { most, everyDays } = messages;
  const interval = most === 1 ? "" : everyDays === 1 ? ", one every day" : `, one every ${everyDays} days`;
  return `on: at most ${most} per invoice${interval}`;
}

const HISTORY_PHASES = ["subscriptions", "invoices", "charges"] as const;
type HistoryPhase = (typeof HISTORY_PHASES)[number];

interface BackfillProgress {
  phase: HistoryPhase | "done";
  /** Of the phase, from 0 to 1. */
  share: number;
  counts: Record<HistoryPhase, number>;
}

const parseBackfill = (cursor: string | undefined): BackfillProgress | null =>
  cursor === undefined ? null : (JSON.parse(cursor) as BackfillProgress);

/** Reloads until the history is read. */
function historySection(progress: BackfillProgress | null): Html {
  if (!progress) return html`<p>The history is not read yet. The connector reads it after its start.</p>`;
  const { phase, share, counts } = progress;
  const words = HISTORY_PHASES.map(
    (each) => `${formatCount(counts[each])} ${counts[each] === 1 ? each.slice(0, -1) : each}`,
  ).join(", ");
  if (phase === "done") return html`<p>History is read: ${words}.</p>`;
  const before = HISTORY_PHASES.indexOf(phase);
  const percent = Math.floor((100 * (before + share)) / HISTORY_PHASES.length);
  return html`<div data-live="5"><p>Reading ${phase}, step ${before + 1} of ${HISTORY_PHASES.length}. So far: ${words}.</p>
<p><progress max="100" value="${percent}" aria-label="History read">${percent}%</progress></p></div>`;
}

const ACTION_STATE_WORDS: readonly (readonly [state: string, words: string])[] = [
  ["planned", "Planned"],
  ["charging", "Being charged, outcome not known yet"],
  ["charged", "Charged"],
  ["declined", "Declined"],
  ["asked", "Customer asked for another card"],
  ["skipped", "Skipped, nothing was charged"],
];

const MESSAGE_STATE_WORDS: readonly (readonly [state: string, words: string])[] = [
  ["planned", "Planned"],
  ["sending", "Being sent"],
  ["sent", "Sent"],
  ["skipped", "Skipped, not sent"],
  ["failed", "Failed"],
];

export const messageStateWords = (state: string): string =>
  MESSAGE_STATE_WORDS.find(([each]) => each === state)?.[1] ?? toSpacedWords(state);

function stateTable(
  label: string,
  stateWords: readonly (readonly [state: string, words: string])[],
  counts: Record<string, number>,
  empty: string,
): Html {
  const rows = stateWords.flatMap(([state, words]) => (counts[state] ? [{ words, count: counts[state] }] : []));
  if (rows.length === 0) return html`<p>${empty}</p>`;
  return table(
    label,
    [
      { head: "State", cell: ({ words }: (typeof rows)[number]) => words },
      { head: "Count", cell: ({ count }) => formatCount(count), numeric: true },
    ],
    rows,
  );
}

const PROBLEM_WORDS: Readonly<Record<ConnectorProblem["kind"], string>> = {
  change: "Reading a change from Stripe",
  event: "Following an event from Dunlin",
  action: "Carrying out a recovery action",
  release: "Giving an invoice back to Stripe",
  message: "Sending a mail",
};

function nextAttemptOf(kind: ConnectorProblem["kind"], dueAt: Date | null, zone: string): HtmlPart {
  if (dueAt !== null) return timeElement(dueAt, zone);
  return kind === "release" ? "within a minute" : "only on request";
}

/** @param found  one more than is shown tells that there are more */
function problemSection(found: readonly ConnectorProblem[], zone: string, mayRetry: boolean): HtmlPart {
  if (found.length === 0) return html`<p>Nothing fails.</p>`;
  const problemTable = table(
    "Problems",
    [
      { head: "Step", cell: ({ kind }: ConnectorProblem) => PROBLEM_WORDS[kind] },
      { head: "Id", cell: ({ id }) => html`<div class="long">${id}</div>` },
      { head: "Problem", cell: ({ problem }) => html`<div class="long">${problem}</div>` },
      { head: "Attempts", cell: ({ tries }) => tries !== null && formatCount(tries), numeric: true },
      { head: "Next attempt", cell: ({ kind, dueAt }) => nextAttemptOf(kind, dueAt, zone) },
    ],
    found.slice(0, SHOWN_PROBLEMS_MAX),
  );
  return html`${mayRetry && formButton("/connection/retry", "Try again now")}${problemTable}
${found.length > SHOWN_PROBLEMS_MAX && html`<p class="soft">There are more. Only ${SHOWN_PROBLEMS_MAX} are shown.</p>`}`;
}

function pauseCard({ pausedAt }: Connection, mayPause: boolean): Html {
  const button =
    pausedAt === null
      ? formButton("/connection/pause", "Pause charges and mails", {}, "danger")
      : formButton("/connection/resume", "Resume charges and mails", {}, "main");
  return html`<div class="box"><p>While the connection is paused, Dunlin charges nothing and sends no mail. It still reads what happens in Stripe.</p>${mayPause && button}</div>`;
}
