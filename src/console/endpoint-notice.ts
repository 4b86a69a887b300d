import type { Merchant } from "../domain/merchant.ts";
import { type Html, html } from "./html.ts";
import { formNotice } from "./show/form-fields.ts";
import { timeElement } from "./show/time-format.ts";
import type { Visit } from "./visit.ts";

/** null if nothing is wrong. Shadow mode needs no endpoint. */
export function endpointNotice(merchant: Merchant, { person: { zone }, may }: Visit): Html | null {
  const settings = may("webhook") ? html` <a href="/settings/webhook">Check the webhook.</a>` : null;
  const { webhookPaused, webhookPausedAt, webhookFailingSince, webhookUrl, shadow } = merchant;
  if (webhookUrl === null)
    return shadow
      ? null
      : formNotice("warn", html`No endpoint is set. Dunlin plans cases, but sends no instructions.${settings}`);
  if (webhookPaused)
    return formNotice(
      "warn",
      html`Deliveries have been paused since ${timeElement(webhookPausedAt, zone)}.${settings}`,
    );
  return (
    webhookFailingSince &&
    formNotice(
      "bad",
      html`Every attempt to reach your endpoint has failed since ${timeElement(webhookFailingSince, zone)}.${settings}`,
    )
  );
}
