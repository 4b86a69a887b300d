import { cardBrandName, paymentMethodName } from "../../domain/payment-method-names.ts";
import {
  buildAnswers,
  describeWait,
  explainNoCase,
  explainUndecided,
  findPlannedAction,
  removeZoneNames,
  STOPPED_QUESTION,
} from "../../explain/answers.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import type { ShownTransaction } from "../../tables/invoice-history.ts";
import type { SubscriptionFacts } from "../../tables/subscriptions.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { PATH as RULES_PATH } from "../settings/recovery-rules-page.ts";
import { icon } from "../show/icons.ts";
import { formatMoney } from "../show/number-format.ts";
import { countryName, toSpacedWords } from "../show/state-labels.ts";
import { factList } from "../show/table.ts";
import type { Heading } from "./next-card.ts";
import type { PageClock } from "./page-clock.ts";

const REASONS_MAX = 4;
/** The card with the considered times has it. */
const NEXT_SENTENCE = / If it fails, [^.]* would be next\./;

/**
 * At most four reasons for what comes next, or for the end.
 *
 * @param heading  says what comes next, if no other card does
 */
export function whyCard(explained: ExplainedCase, clock: PageClock, facts: Html, heading: Heading | null): Html {
  const { title, reasons } = reasonsOf(explained);
  const lines = removeZoneNames(reasons, clock.zone).map((line) => (heading ? line : line.replace(NEXT_SENTENCE, "")));
  return html`<section class="card why"><header><h2>${heading?.title ?? title}</h2>${heading?.tag}</header>
<div class="in">${heading && html`<h3>${title}</h3>`}<ul class="checks plain">${lines.slice(0, REASONS_MAX).map((line) => html`<li>${icon("ok")}<span>${line}</span></li>`)}</ul></div>
<div class="in facts-in">${facts}</div></section>`;
}

function reasonsOf(explained: ExplainedCase): { title: string; reasons: readonly string[] } {
  const { case: recoveryCase, decisions } = explained;
  if (recoveryCase === null) return { title: "Why Dunlin did nothing", reasons: [explainNoCase(explained)] };
  if (recoveryCase.endedAt !== null) return { title: "Why it ended", reasons: stopReasons(explained) };
  const undecided = explainUndecided(explained);
  if (undecided !== null) return { title: "Why Dunlin did nothing", reasons: [undecided] };
  const action = findPlannedAction(explained);
  const wait = recoveryCase.arm === "dunlin" && !action ? describeWait(explained) : null;
  if (wait !== null) return { title: "Why Dunlin waits", reasons: [wait] };
  const latest = decisions.at(-1)!;
  const kind = action ? (action.type === "RETRY" ? "retry" : "card_change") : latest.kind;
  const title = kind === "retry" ? "Why then" : kind === "wait" ? "Why Dunlin waits" : "Why";
  return { title, reasons: action?.reasons ?? latest.account.reasons };
}

const stopReasons = (explained: ExplainedCase) =>
  buildAnswers(explained).find(({ question }) => question === STOPPED_QUESTION)?.answer ?? [];

export interface InvoiceFacts {
  explained: ExplainedCase;
  /** Latest first. */
  transactions: readonly ShownTransaction[];
  subscription: SubscriptionFacts | null;
  /** The experiment that assigned the arm. */
  experiment: { id: string; name: string } | null;
  /** Whether the reader may see the recovery rules. */
  maySeeRules: boolean;
}

/** Each leads to the list of what it has in common with others. */
export function invoiceFacts(facts: InvoiceFacts): Html {
  const { explained, transactions, subscription, experiment, maySeeRules } = facts;
  const { invoice, balance, case: recoveryCase } = explained;
  const due = balance?.unpaidAmount ?? invoice.amount;
  const { endReason = null } = recoveryCase ?? {};
  return factList([
    ["State", toSpacedWords(invoice.state)],
    endReason !== null ? ["End reason", toSpacedWords(endReason)] : null,
    due === invoice.amount ? null : ["Amount due", formatMoney(due, invoice.currency)],
    ["Customer", listLink({ customerId: invoice.customerId }, invoice.customerId)],
    invoice.subscriptionId
      ? [
          "Subscription",
          html`${listLink({ subscriptionId: invoice.subscriptionId }, invoice.subscriptionId)}${subscription?.planId !== undefined && `, ${subscription.planId}`}`,
        ]
      : null,
    paymentFact(explained, transactions),
    invoice.businessEntity ? ["Entity", invoice.businessEntity] : null,
    ruleFact(explained, maySeeRules),
    armFact(explained, experiment),
  ]);
}

const listLink = (filter: Record<string, string>, words: string, list = "/invoices"): Html =>
  html`<a href="${list}?${new URLSearchParams(filter).toString()}">${words}</a>`;

function paymentFact({ payer }: ExplainedCase, transactions: readonly ShownTransaction[]): [string, HtmlPart] | null {
  const { cardBrand, cardFunding, cardCountry, paymentMethodType } = payer;
  const last4 = transactions.find(({ cardLast4 }) => cardLast4 !== null)?.cardLast4;
  const isCard = cardBrand !== undefined || last4 !== undefined;
  if (!isCard && paymentMethodType === undefined) return null;
  const words = isCard
    ? [cardBrand ? cardBrandName(cardBrand) : "Card", cardFunding?.toLowerCase(), last4 && `…${last4}`]
        .filter(Boolean)
        .join(" ")
    : paymentMethodName(paymentMethodType!);
  const country = cardCountry && html`, ${listLink({ cardCountry }, countryName(cardCountry)!, "/actions")}`;
  return [isCard ? "Card" : "Payment", html`${words}${country}`];
}

/** Null without a rule: the settings decide. */
function ruleFact({ case: recoveryCase, rule }: ExplainedCase, maySeeRules: boolean): [string, HtmlPart] | null {
  if (!recoveryCase?.ruleId) return null;
  if (rule === null) return recoveryCase.endedAt === null ? null : ["Rule", "deleted since the end"];
  const words = `${rule.number}, ${rule.name}`;
  return ["Rule", maySeeRules ? html`<a href="${RULES_PATH}">${words}</a>` : words];
}

const ARM_WORDS = { dunlin: "Dunlin's arm", merchant: "the holdout" } as const;

function armFact(
  { case: recoveryCase }: ExplainedCase,
  experiment: InvoiceFacts["experiment"],
): [string, HtmlPart] | null {
  if (recoveryCase === null) return null;
  if (recoveryCase.arm === "shadow") return ["Shadow mode", html`<a href="/shadow">Dunlin only observes</a>`];
  if (experiment === null) return recoveryCase.arm === "merchant" ? ["Experiment", ARM_WORDS.merchant] : null;
  return [
    "Experiment",
    html`<a href="/experiments/${experiment.id}">${experiment.name}</a>, ${ARM_WORDS[recoveryCase.arm]}`,
  ];
}
