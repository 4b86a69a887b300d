import type { AttentionItem, Severity } from "../../attention/attention-item.ts";
import { type Html, html } from "../html.ts";
import { formatCount, formatMoneyShort } from "../show/number-format.ts";
import { card } from "../show/parts.ts";

const DOTS: Readonly<Record<Severity, string>> = { broken: "bad", soon: "warn", note: "" };
const SEVERITY_WORDS: Readonly<Record<Severity, string>> = { broken: "Broken", soon: "Soon", note: "Note" };

/** Everything that a person should look at, each with a link to its rows. Notes are not counted, as in the menu. */
export function attentionCard(items: readonly AttentionItem[]): Html {
  const count = items.filter(({ severity }) => severity !== "note").length;
  return card(
    { title: "Needs your attention", side: count > 0 && formatCount(count) },
    items.length === 0
      ? html`<div class="in"><p class="soft">Nothing. Endpoint, pushes and open invoices are as they should be.</p></div>`
      : html`<ul class="plain todo">${items.map(todoItem)}</ul>`,
  );
}

/** One amount stands at the right. Several would leave the title no room, so they follow the text. */
function todoItem({ severity, href, title, detail, money }: AttentionItem): Html {
  const amounts = money.map(({ amount, currency }) => formatMoneyShort(amount, currency));
  return html`<li><span class="dot ${DOTS[severity]}"></span><a href="${href}"><span class="hidden">${SEVERITY_WORDS[severity]}: </span>${title}</a><span class="num">${amounts.length === 1 && amounts[0]}</span><p>${detail}${amounts.length > 1 && html` <span class="amounts">${amounts.join(", ")}</span>`}</p></li>\n`;
}

interface HealthFact {
  name: string;
  kind: "good" | "warn" | "bad";
  words: string;
  /** Where to look; null if nothing is wrong. */
  href: string | null;
}

const ENDPOINT_PATH = "/settings/webhook";

const FACTS = [
  ["Pushes", "ingest_stopped", "records arrive as usual"],
  ["Endpoint", "endpoint_failing", "answers"],
  ["Instructions", "instructions_given_up", "none given up"],
  ["Billing account", "connector_failing", "no problem"],
  ["Records", "data_contradictory", "no contradictions"],
] as const;

interface HealthView {
  hasEndpoint: boolean;
  /** Whether the reader may open the endpoint's page. */
  seesEndpoint: boolean;
}

/** Whether each part works now. A word stands beside each color, and leads to the part if it does not work. */
export function healthStrip(items: readonly AttentionItem[], { hasEndpoint, seesEndpoint }: HealthView): Html {
  const facts = FACTS.map(([name, kind, words]): HealthFact => {
    const found = items.find((item) => item.kind === kind);
    const endpoint = kind === "endpoint_failing" && seesEndpoint ? ENDPOINT_PATH : null;
    if (found)
      return {
        ...{ name, kind: DOTS[found.severity] === "bad" ? "bad" : "warn" },
        ...{ words: found.title, href: endpoint ?? found.href },
      };
    if (kind === "endpoint_failing" && !hasEndpoint)
      return { name, kind: "warn", words: "none is set", href: endpoint };
    return { name, kind: "good", words, href: null };
  });
  return html`<dl class="card strip mb">${facts.map(({ name, kind, words, href }) => html`<div><dt><span class="dot ${kind}"></span>${name}</dt><dd>${href === null ? words : html`<a href="${href}">${words}</a>`}</dd></div>`)}</dl>`;
}
