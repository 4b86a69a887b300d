import { type TestEventResult, timingsText, withoutControlCharacters } from "../../delivery/test-event.ts";
import type { EventType } from "../../domain/event.ts";
import { html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formButton, formNotice } from "../show/form-fields.ts";
import { toSpacedWords } from "../show/state-labels.ts";
import { copyableText, factList } from "../show/table.ts";

/** What was sent and what came back, exactly, and what is wrong with it. */
export function testPage(tested: TestEventResult, type: EventType): Page {
  const { fine, problem, notes, certificate, addresses, protocol, sent, head, body } = tested;
  return {
    title: `Test event: ${toSpacedWords(type)}`,
    tools: formButton("/settings/webhook/test", "Send it again", { type }, "main"),
    body: html`
${fine ? formNotice("good", "Fine: an event sent like this is delivered.") : formNotice("bad", problem)}
${notes.map((note) => formNotice("warn", note))}
${factList([
  ["Sent to", html`<code>${tested.url}</code>`],
  addresses.length > 0 ? ["Address", addresses.join(", ")] : null,
  protocol ? ["TLS", protocol] : null,
  certificate
    ? [
        "Certificate",
        `${certificate.subject || certificate.names}, by ${certificate.issuer}, until ${certificate.validTo.toISOString().slice(0, 10)}`,
      ]
    : null,
  ["It took", timingsText(tested)],
])}
<div class="columns">
<section><h2>Sent</h2><pre class="exchange" tabindex="0" aria-label="Sent">${sent === "" ? "Nothing: no connection was made." : withoutControlCharacters(sent)}</pre></section>
<section><h2>Answered</h2><pre class="exchange" tabindex="0" aria-label="Answered">${head === "" ? "Nothing." : withoutControlCharacters(head + body)}</pre></section>
</div>
<p><a class="button" href="/settings/webhook">Back to the settings</a></p>`,
  };
}

/** The one page that ever shows a signing secret. */
export const secretPage = (secret: string, formerWords: string): Page => ({
  title: "The new signing secret",
  body: html`${formNotice("warn", "This is the only time that the secret is shown. Give it to your endpoint now.")}
${copyableText("Secret", secret)}
<p>${formerWords === "ends now" ? "It signs every request from now on, and it alone." : `The former secret signs beside it ${formerWords}.`}</p>
<p><a class="button main" href="/settings/webhook">I stored it</a></p>`,
});
