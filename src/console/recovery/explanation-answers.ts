import { buildAnswers, nameTimeZone, PLANNED_QUESTION, STOPPED_QUESTION } from "../../explain/answers.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import { type Html, html } from "../html.ts";
import { isReadable } from "./considered-times.ts";

/** As in `dunlin explain`. Only the first applicable question is open. */
export function answerList(explained: ExplainedCase): Html {
  if (!explained.decisions.every(isReadable)) return html`<p class="text soft">${UNREADABLE_MESSAGE}</p>`;
  const applicable = buildAnswers(explained).filter(({ applies }) => applies);
  const first = explained.case?.endedAt ? STOPPED_QUESTION : PLANNED_QUESTION;
  const isOpen = (question: string) => question === first || applicable.every((each) => each.question !== first);
  return html`<p class="soft">${nameTimeZone(explained)}</p>
<div class="asked">${applicable.map(
    ({ question, answer }) =>
      html`<details${isOpen(question) && html` open`}><summary>${question}</summary>${answer.map((line) => html`<p>${line}</p>`)}</details>\n`,
  )}</div>`;
}

const UNREADABLE_MESSAGE =
  "These decisions were stored by another version of Dunlin, and this version cannot read their details.";
