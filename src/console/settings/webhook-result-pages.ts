import { type TestEventResult, timingsText, withoutControlCharacters } from "../../delivery/test-event.ts";
import type { EventType } from "../../domain/event.ts";
import { html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formButton, formNotice } from "../show/form-fields.ts";
import { toSpacedWords } from "../show/state-labels.ts";
import { copyableText, factList } from "../show/table.ts";

export function testPage(result: TestEventResult, type: EventType): Page {
  const { fine, problem, notes, certificate, addresses, protocol, sent, head, body } = result;
  return {
    title: `Test event: ${toSpacedWords(type)}`,
    tools: formButton("/settings/webhook/test", "Send again", { type }, "main"),
    body: html`
${fine ? formNotice("good", "OK: an event sent like this is delivered.") : formNotice("bad", problem)}
${notes.map((note) => formNotice("warn", note))}
${factList([
  ["Sent to", html`<code>${result.url}</code>`],
  addresses.length > 0 ? ["Address", addresses.join(", ")] : null,
  protocol ? ["TLS", protocol] : null,
  certificate
    ? [
        "Certificate",
        `${certificate.subject || certificate.names}, issued by ${certificate.issuer}, valid until ${certificate.validTo.toISOString().slice(0, 10)}`,
      ]
    : null,
  ["Duration", timingsText(result)],
])}
<div class="columns">
<section><h2>Request</h2><pre class="exchange" tabindex="0" aria-label="Request">${sent === "" ? "Nothing was sent: no connection was made." : withoutControlCharacters(sent)}</pre></section>
<section><h2>Response</h2><pre class="exchange" tabindex="0" aria-label="Response">${head === "" ? "No response." : withoutControlCharacters(head + body)}</pre></section>
</div>
<p><a class="button" href="/settings/webhook">Back to the webhook settings</a></p>`,
  };
}

/** The only page that shows a signing secret. */
export const secretPage = (secret: string, overlap: string): Page => ({
  title: "New signing secret",
  body: html`${formNotice("warn", "The secret is shown only once. Give it to your endpoint now.")}
${copyableText("Secret", secret)}
<p>${overlap === "ends now" ? "Only this secret signs requests from now on." : `The old secret also signs ${overlap}.`}</p>
<p><a class="button main" href="/settings/webhook">I stored it</a></p>`,
});
