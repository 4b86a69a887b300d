import type { Merchant } from "../domain/merchant.ts";
import { type Html, html } from "./html.ts";
import { formNotice } from "./show/form-fields.ts";
import { timeElement } from "./show/time-format.ts";
import type { Visit } from "./visit.ts";

/** Why instructions do not reach the merchant's endpoint; null when nothing is wrong. Shadow mode needs no endpoint. */
export function endpointNotice(merchant: Merchant, { person: { zone }, may }: Visit): Html | null {
  const settings = may("webhook") ? html` <a href="/settings/webhook">Look at the webhook.</a>` : null;
  const { webhookPaused, webhookPausedAt, webhookFailingSince, webhookUrl, shadow } = merchant;
  if (webhookUrl === null)
    return shadow
      ? null
      : formNotice("warn", html`No endpoint is set: cases are planned, and no instruction goes out.${settings}`);
  if (webhookPaused)
    return formNotice("warn", html`Deliveries are paused since ${timeElement(webhookPausedAt, zone)}.${settings}`);
  return (
    webhookFailingSince &&
    formNotice(
      "bad",
      html`Your endpoint has failed at every attempt since ${timeElement(webhookFailingSince, zone)}.${settings}`,
    )
  );
}
