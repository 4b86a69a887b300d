import type { Case } from "../../domain/case.ts";
import type { DecisionRecord } from "../../domain/decision.ts";
import { findCustomerZone } from "../../explain/answers.ts";
import { summarizeInvoice } from "../../explain/invoice-summary.ts";
import { type ExplainedCase, loadExplainedCase } from "../../explain/load-explained-case.ts";
import { findRequestObstacles } from "../../merchants/recovery-requests.ts";
import type { Tx } from "../../postgres/database.ts";
import { type ConnectorMessage, messagesOfInvoice } from "../../tables/connections.ts";
import { explanatoryDecisions } from "../../tables/decisions.ts";
import { listDeliveries } from "../../tables/delivery-states.ts";
import { listExperiments } from "../../tables/experiments.ts";
import { conflictsOf } from "../../tables/invoice-conflicts.ts";
import { actionsOfInvoice, transactionsOfInvoice } from "../../tables/invoice-history.ts";
import { listInvoices, type Outcome } from "../../tables/invoice-list.ts";
import { readSubscriptionFacts } from "../../tables/subscriptions.ts";
import { CONNECTED, messageStateWords } from "../connection/connection-page.ts";
import type { Console } from "../console.ts";
import { type Html, html } from "../html.ts";
import { notFoundError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery, uuidReader } from "../page-query.ts";
import { formNotice } from "../show/form-fields.ts";
import { table } from "../show/table.ts";
import type { Visit } from "../visit.ts";
import { conflictNotice } from "./conflict-list.ts";
import { hasConsideredTimes, isReadable } from "./considered-times.ts";
import { answerList } from "./explanation-answers.ts";
import { OUTCOME_LABELS, outcomeState } from "./invoice-list-page.ts";
import { type InvoiceHistory, invoiceLog } from "./invoice-log.ts";
import { DONE_MESSAGES, REQUESTS_DONE, requestForms } from "./invoice-requests.ts";
import { findHeading, nextCard } from "./next-card.ts";
import { clockTime, type PageClock, zoneWords } from "./page-clock.ts";
import { recoveryTrack } from "./recovery-track.ts";
import { invoiceFacts, whyCard } from "./why-card.ts";

const SHOWN_ENTRIES_MAX = 200;
const QUERY_READERS = { decision: uuidReader, done: enumReader(REQUESTS_DONE), show: enumReader(["all"]) };

export function invoiceRoutes(console: Console) {
  console.page("/invoices/*", null, (visit) => invoicePage(console, visit));
}

async function invoicePage({ ports }: Console, visit: Visit): Promise<Page> {
  const { decision, done, show } = parsePageQuery(visit.query, QUERY_READERS);
  const data = await loadInvoice(visit, visit.params["*"]!, ports.now());
  const { explained, outcome, requestedRetries } = data;
  const { invoice, case: recoveryCase } = explained;
  const clock: PageClock = { zone: findCustomerZone(explained), readerZone: visit.person.zone };
  const shownDecision = findShownDecision(data.history.decisions, decision);
  const history: InvoiceHistory = { ...data.history, explained, shownDecision };
  const facts = invoiceFacts({
    ...data,
    transactions: history.transactions,
    maySeeRules: visit.may("experiments"),
  });
  const next = nextCard(explained, explained.decisions.every(isReadable) ? shownDecision : null, clock);
  const heading = next ? null : findHeading(explained, null, clock);
  return {
    title: invoice.id,
    tag:
      outcome &&
      (outcome === "open" ? html`<span class="tag tide">${OUTCOME_LABELS.open}</span>` : outcomeState(outcome)),
    crumb: html`<a href="/invoices">Invoices</a> / <a href="/invoices?customerId=${encodeURIComponent(invoice.customerId)}">${invoice.customerId}</a>`,
    tools: await requestTools(visit, data, clock),
    body: html`${done && formNotice("good", DONE_MESSAGES[done])}${conflictNotice(data.conflict, clock.zone.name)}
${lede(explained, clock)}
${recoveryCase && recoveryTrack(explained, recoveryCase, requestedRetries, clock)}
<div class="grid ${next ? "two-one" : ""}">${next}${whyCard(explained, clock, facts, heading)}</div>
${data.messages.length > 0 && messageCard(data.messages, clock)}
${invoiceLog(history, show === "all", clock, hiddenDecisions(explained))}
<details class="card questions"><summary class="log-sum"><h2>Questions and answers</h2> <span class="soft small">as the command line gives them</span></summary><div class="in">${answerList(explained)}</div></details>`,
  };
}

async function loadInvoice({ db, merchantId }: Visit, id: string, now: Date) {
  const [explained, listed, actions, deliveries, transactions, conflicts, messages] = await Promise.all([
    loadExplainedCase(db, merchantId, id, now, explanatoryDecisions),
    listInvoices(db, merchantId, { invoiceId: id }, undefined, 1),
    actionsOfInvoice(db, merchantId, id, SHOWN_ENTRIES_MAX),
    listDeliveries(db, merchantId, { invoiceId: id, limit: SHOWN_ENTRIES_MAX }),
    transactionsOfInvoice(db, merchantId, id, SHOWN_ENTRIES_MAX),
    conflictsOf(db, merchantId, [id]),
    messagesOfInvoice(db, merchantId, CONNECTED, id),
  ]);
  if (!explained) throw notFoundError("invoice with this id");
  const { subscriptionId } = explained.invoice;
  const earlierIds = explained.earlierCases.map((each) => each.id);
  const [earlier, subscriptions, experiment] = await Promise.all([
    explanatoryDecisions(db, merchantId, earlierIds),
    readSubscriptionFacts(db, merchantId, subscriptionId === undefined ? [] : [subscriptionId]),
    findExperiment(db, merchantId, explained.case),
  ]);
  return {
    explained,
    ...{ messages, experiment, conflict: conflicts.get(id) },
    outcome: (listed[0]?.outcome ?? null) as Outcome | null,
    requestedRetries: listed[0]?.requestedRetries ?? 0,
    subscription: (subscriptionId !== undefined && subscriptions.get(subscriptionId)) || null,
    history: { actions, deliveries, transactions, decisions: [...earlier, ...explained.decisions] },
  };
}

type LoadedInvoice = Awaited<ReturnType<typeof loadInvoice>>;

/** The one that assigned the case to its arm when it opened. */
async function findExperiment(tx: Tx, merchantId: string, recoveryCase: Case | null) {
  if (recoveryCase === null || recoveryCase.arm === "shadow") return null;
  const { openedAt } = recoveryCase;
  const experiments = await listExperiments(tx, merchantId);
  return (
    experiments.find(
      ({ startedAt, stoppedAt }) => startedAt <= openedAt && (stoppedAt === null || stoppedAt > openedAt),
    ) ?? null
  );
}

/** The one whose action the reader chose, else the latest with considered times. */
const findShownDecision = (decisions: readonly DecisionRecord[], actionId: string | undefined) =>
  (actionId === undefined
    ? decisions.findLast(hasConsideredTimes)
    : decisions.findLast((each) => each.actionId === actionId)) ?? null;

async function requestTools({ db, merchantId, may }: Visit, data: LoadedInvoice, clock: PageClock) {
  const { explained, requestedRetries } = data;
  const open = explained.case?.endedAt === null ? explained.case : null;
  if (open === null || !may("stop")) return null;
  const obstacles = open.arm === "dunlin" ? await findRequestObstacles(db, merchantId, open, explained.now) : null;
  return requestForms({ explained, open, obstacles, retriesLeft: open.budget - requestedRetries, clock });
}

/** The sentence that answers the page, and the one clock of all times below. */
function lede(explained: ExplainedCase, clock: PageClock): Html {
  const { lead, rest, time } = summarizeInvoice(explained).headline;
  const [before, ...after] = time === null ? [rest] : rest.split(time);
  return html`<p class="lede"><b>${lead}</b> ${before}${time !== null && html`<b class="nowrap">${time}</b>`}${after.join(time ?? "")}</p>
<p class="small soft one-clock mb">All times are the customer's: ${zoneWords(clock)} (${clock.zone.name}). Point at a time to see yours.</p>`;
}

const messageCard = (messages: readonly ConnectorMessage[], clock: PageClock): Html =>
  html`<section class="card mb"><header><h2>Mails to the customer</h2></header>
${table(
  "Mails to the customer",
  [
    { head: "Mail", cell: ({ number }: ConnectorMessage) => (number === 1 ? "First mail" : `Reminder ${number - 1}`) },
    { head: "State", cell: ({ state }) => messageStateWords(state) },
    { head: "Time", cell: ({ at }) => (at === null ? html`<span class="soft">–</span>` : clockTime(clock, at)) },
    { head: "Language", cell: ({ language }) => language },
    { head: "Note", cell: ({ problem }) => problem && html`<div class="long">${problem}</div>` },
  ],
  messages,
)}</section>`;

function hiddenDecisions({ case: recoveryCase, decisions }: ExplainedCase): string | null {
  const total = decisions.at(-1)?.number ?? 0;
  const hidden = recoveryCase?.arm === "shadow" ? total - decisions.length : 0;
  return hidden > 0 ? ` · ${hidden} of ${total} decisions are not shown; the CSV file has all of them.` : null;
}
