import type { AttentionItem, Severity } from "../../attention/attention-item.ts";
import { type Html, html } from "../html.ts";
import { formatCount, formatMoneyShort } from "../show/number-format.ts";
import { card } from "../show/parts.ts";

const DOTS: Readonly<Record<Severity, string>> = { broken: "bad", soon: "warn", note: "" };
const SEVERITY_WORDS: Readonly<Record<Severity, string>> = { broken: "Broken", soon: "Soon", note: "Note" };

/** Everything that a person should look at, each with a link to its rows. */
export const attentionCard = (items: readonly AttentionItem[]): Html =>
  card(
    { title: "Needs your attention", side: items.length > 0 && formatCount(items.length) },
    items.length === 0
      ? html`<div class="in"><p class="soft">Nothing. Endpoint, pushes and open invoices are as they should be.</p></div>`
      : html`<ul class="plain todo">${items.map(todoItem)}</ul>`,
  );

/** One amount stands at the right. Several would leave the title no room, so they follow the text. */
function todoItem({ severity, href, title, detail, money }: AttentionItem): Html {
  const amounts = money.map(({ amount, currency }) => formatMoneyShort(amount, currency));
  return html`<li><span class="dot ${DOTS[severity]}"></span><a href="${href}"><span class="hidden">${SEVERITY_WORDS[severity]}: </span>${title}</a><span class="num">${amounts.length === 1 && amounts[0]}</span><p>${detail}${amounts.length > 1 && html` <span class="amounts">${amounts.join(", ")}</span>`}</p></li>\n`;
}

interface HealthFact {
  name: string;
  kind: "good" | "warn" | "bad";
  words: string;
}

const FACTS = [
  ["Pushes", "ingest_stopped", "records arrive as usual"],
  ["Endpoint", "endpoint_failing", "answers"],
  ["Instructions", "instructions_given_up", "none given up"],
  ["Billing account", "connector_failing", "no problem"],
  ["Records", "data_contradictory", "no contradictions"],
] as const;

/** Whether each part works now. A word stands beside each color. */
export function healthStrip(items: readonly AttentionItem[], { hasEndpoint }: { hasEndpoint: boolean }): Html {
  const facts = FACTS.map(([name, kind, words]): HealthFact => {
    const found = items.find((item) => item.kind === kind);
    if (found) return { name, kind: DOTS[found.severity] === "bad" ? "bad" : "warn", words: found.title };
    if (kind === "endpoint_failing" && !hasEndpoint) return { name, kind: "warn", words: "none is set" };
    return { name, kind: "good", words };
  });
  return html`<dl class="card strip mb">${facts.map(({ name, kind, words }) => html`<div><dt><span class="dot ${kind}"></span>${name}</dt><dd>${words}</dd></div>`)}</dl>`;
}
