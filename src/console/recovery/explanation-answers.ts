import { buildAnswers, nameTimeZone, PLANNED_QUESTION, STOPPED_QUESTION } from "../../explain/answers.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import { type Html, html } from "../html.ts";
import { isReadable } from "./considered-times.ts";

/** Questions about an invoice with the answers of `dunlin explain`: each opens under its question, and the first one that applies is open. */
export function answerList(explained: ExplainedCase): Html {
  if (!explained.decisions.every(isReadable)) return html`<p class="text soft">${UNREADABLE_MESSAGE}</p>`;
  const asked = buildAnswers(explained).filter(({ applies }) => applies);
  const first = explained.case?.endedAt ? STOPPED_QUESTION : PLANNED_QUESTION;
  const isOpen = (question: string) => question === first || asked.every((each) => each.question !== first);
  return html`<p class="soft">${nameTimeZone(explained)}</p>
<div class="asked">${asked.map(
    ({ question, answer }) =>
      html`<details${isOpen(question) && html` open`}><summary>${question}</summary>${answer.map((line) => html`<p>${line}</p>`)}</details>\n`,
  )}</div>`;
}

const UNREADABLE_MESSAGE =
  "What the decisions rested on was kept by another version of Dunlin, and can't be read by this one.";
