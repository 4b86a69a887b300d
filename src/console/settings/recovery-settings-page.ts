import type { Merchant } from "../../domain/merchant.ts";
import { changeMerchant } from "../../merchants/merchant-settings.ts";
import { auditSettings } from "../../merchants/settings-audit.ts";
import { countOpenCases } from "../../tables/cases.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, html } from "../html.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { formNotice, hiddenFields } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { card } from "../show/parts.ts";
import type { Visit } from "../visit.ts";
import { CHANGED_MESSAGE, findOwnMerchant } from "./own-merchant.ts";
import {
  type FieldProblems,
  formVersionOf,
  OTHER_FIELDS,
  RETRY_FIELDS,
  readSettings,
  settingInputs,
} from "./recovery-setting-fields.ts";
import {
  loadReporting,
  type ReportingForm,
  readReportingForm,
  reportingCard,
  saveReportingForm,
} from "./reporting-currency-card.ts";
import { shadowCard, shadowRoutes } from "./shadow-mode-page.ts";

const PATH = "/settings/recovery";

export function recoveryRoutes(console: Console) {
  const { page, post, ports, secretKeys } = console;
  page(PATH, "experiments", (visit) => settingsPage(visit, {}));
  post(PATH, "experiments", async (visit) => {
    const read = readSettings(visit.form);
    if ("problems" in read) return { ...(await settingsPage(visit, { problems: read.problems })), status: 400 };
    const { db, merchantId, form, actor, reply } = visit;
    const recordAudit = auditSettings(actor, "merchant.changed", ports);
    let keptCases = 0;
    await changeMerchant(db, merchantId, read.settings, secretKeys, ports, async (tx, before, after) => {
      if (form.get("was") !== formVersionOf(before)) throw new PageError(409, CHANGED_MESSAGE);
      if (before.windowDays !== after.windowDays || before.budget !== after.budget)
        keptCases = await countOpenCases(tx, merchantId);
      await recordAudit(tx, before, after);
    });
    return redirectTo(reply, `${PATH}?done=saved${keptCases > 0 ? `&kept=${keptCases}` : ""}`);
  });
  post(`${PATH}/currency`, "experiments", async (visit) => {
    const reporting = await loadReporting(visit, ports.now());
    const read = readReportingForm(visit.form, reporting);
    if ("problems" in read) return { ...(await settingsPage(visit, { reporting: read })), status: 400 };
    await saveReportingForm(visit, read.choice, ports);
    return redirectTo(visit.reply, `${PATH}?done=${read.choice === null ? "separate" : "reporting"}`);
  });
  shadowRoutes(console);

  async function settingsPage(visit: Visit, refused: Refused): Promise<Page> {
    const [merchant, reporting, openCases] = await Promise.all([
      findOwnMerchant(visit),
      loadReporting(visit, ports.now()),
      countOpenCases(visit.db, visit.merchantId),
    ]);
    return {
      title: "Recovery settings",
      tools: visit.may("audit") && html`<a class="button" href="/org/audit?noun=merchant">Changes</a>`,
      body: html`${noticeOf(visit, refused)}${settingsForm(merchant, visit, refused.problems, openCases)}
<div class="grid two top">${shadowCard(merchant)}${reportingCard(reporting, refused.reporting ?? null, visit)}</div>`,
    };
  }
}

/** From a form that was not saved. */
interface Refused {
  problems?: FieldProblems;
  reporting?: ReportingForm;
}

const CONFIRMATIONS: Record<string, string> = {
  saved: "Saved. The settings apply to invoices that become unpaid and to retries planned from now on.",
  reporting: "Saved. Amounts of all currencies are added at these rates.",
  separate: "Saved. Amounts of different currencies are not added.",
  shadow: "Saved. Invoices that become unpaid from now on follow the new mode.",
};

function noticeOf({ query }: Visit, refused: Refused): Html | null {
  if (refused.problems || refused.reporting)
    return formNotice("bad", "Nothing was saved. Correct the marked fields, then save again.");
  const text = CONFIRMATIONS[query.get("done") ?? ""];
  if (!text) return null;
  const kept = query.get("kept") ?? "";
  return formNotice("good", /^\d{1,9}$/.test(kept) ? `${text} ${keptWords(Number(kept))}` : text);
}

const keptWords = (openCases: number) =>
  openCases === 1
    ? "1 open case keeps the window and the retries that it opened with."
    : `${formatCount(openCases)} open cases keep the window and the retries that they opened with.`;

function settingsForm(
  merchant: Merchant,
  { form }: Visit,
  problems: FieldProblems | undefined,
  openCases: number,
): Html {
  const typed = problems ? form : null;
  const inputs = (fields: typeof RETRY_FIELDS) =>
    html`<div class="in field gap">${settingInputs(fields, merchant, typed, problems ?? new Map())}</div>`;
  const was = typed?.get("was") ?? formVersionOf(merchant);
  return html`<form method="post" action="${PATH}" class="mb">${hiddenFields({ was })}
<div class="grid two">${card(
    {
      title: "Retries",
      foot: openCases > 0 && `If you change the window or the number of retries, ${keptWords(openCases)}`,
    },
    inputs(RETRY_FIELDS),
  )}${card({ title: "Learning, events and limits" }, inputs(OTHER_FIELDS))}</div>
<p><button class="main">Save</button></p></form>`;
}
