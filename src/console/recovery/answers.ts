import type { Explained } from "../../recovery/explain.ts";
import { answersOf, clocksOf, PLANNED, STOPPED } from "../../recovery/explanation.ts";
import { type Html, html } from "../html.ts";
import { isReadable } from "./considered.ts";

/** Questions about an invoice with the answers of `dunlin explain`: each opens under its question, and the first one that applies is open. */
export function answers(explained: Explained): Html {
  if (!explained.decisions.every(isReadable)) return html`<p class="text soft">${UNREADABLE}</p>`;
  const asked = answersOf(explained).filter(({ applies }) => applies);
  const first = explained.case?.endedAt ? STOPPED : PLANNED;
  const isOpen = (question: string) => question === first || asked.every((each) => each.question !== first);
  return html`<p class="soft">${clocksOf(explained)}</p>
<div class="asked">${asked.map(
    ({ question, answer }) =>
      html`<details${isOpen(question) && html` open`}><summary>${question}</summary>${answer.map((line) => html`<p>${line}</p>`)}</details>\n`,
  )}</div>`;
}

const UNREADABLE = "What the decisions rested on was kept by another version of Dunlin, and can't be read by this one.";
