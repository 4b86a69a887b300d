// One invoice, as people see and change it, on the whole service in real time.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { runAndCapture } from "../../src/cli/context.fixture.ts";
import { explain } from "../../src/cli/explain.ts";
import { DAY_MS, MINUTE_MS } from "../../src/domain/durations.ts";
import type { Role } from "../../src/domain/role.ts";
import type { Fields } from "../contract/contract-records.ts";
import type { Shop } from "../contract/contract-shop.ts";
import { eventually } from "../contract/running-service.ts";
import { type LiveService, openLiveService } from "./live-service.ts";

/** Of the customer. The people of these tests read in UTC. */
const ZONE = "America/New_York";
const SEEN_MS = 60_000;

let live: LiveService;
let shop: Shop;
const contexts = new Map<Role, BrowserContext>();
let page: Page;
let looking: Page;
before(async () => {
  live = await openLiveService(1);
  shop = await live.service.shop({ windowDays: 28, leadMs: 49 * MINUTE_MS });
  for (const role of ["owner", "viewer"] as const) contexts.set(role, await live.as(role, shop.id));
  page = await contexts.get("owner")!.newPage();
  looking = await contexts.get("viewer")!.newPage();
});
after(() => live?.stop());

const nbsp = (text: string) => text.replaceAll("\u00a0", " ");
const planOf = async (invoiceId: string) => (await shop.actions({ invoiceId }))[0];
const pathOf = (invoiceId: string) => `/invoices/${invoiceId}`;

/** Mastercard's code for no retry within two days: a retry is planned then, and not requested yet. */
const TWO_DAYS = "26";

/** An invoice whose first attempt has failed, with a planned retry. */
async function plannedInvoice(attempt: Fields = { networkAdviceCode: TWO_DAYS }) {
  const at = shop.now().toISOString();
  const invoice = shop.invoice({ amount: 4_900, createdAt: at, updatedAt: at });
  await shop.push("invoices", invoice);
  await shop.push(
    "transactions",
    shop.transaction(invoice, {
      ...{ createdAt: at, networkDeclineCode: "51", cardBrand: "mastercard", cardCountry: "US", cardLast4: "4242" },
      ...{ customerTimezone: ZONE, paymentGatewayErrorMessage: "Not enough money <b>today</b>", ...attempt },
    }),
  );
  const id = String(invoice.id);
  await eventually(
    async () => {
      await page.goto(pathOf(id));
      return (await page.locator("#considered").count()) > 0 && (await planOf(id)) !== undefined;
    },
    "the plan",
    SEEN_MS,
  );
  return id;
}

const formatIn = (zone: string, options: Intl.DateTimeFormatOptions) => (at: Date) =>
  new Intl.DateTimeFormat("en-GB", { timeZone: zone, hourCycle: "h23", ...options }).format(at);
/** As the page writes it: "Fri 12 March, 09:05". */
const customerTime = (at: Date) => {
  const [day, clock] = [
    formatIn(ZONE, { weekday: "short", day: "numeric", month: "long" })(at).replace(",", ""),
    formatIn(ZONE, { hour: "2-digit", minute: "2-digit" })(at),
  ];
  return `${day}, ${clock}`;
};
const readerTime = (at: Date) =>
  `Your time (UTC): ${at.getUTCDate()} ${formatIn("UTC", { month: "short" })(at).slice(0, 3)} ${at.getUTCFullYear()} ${formatIn("UTC", { hour: "2-digit", minute: "2-digit" })(at)}`;

test("59. the headline equals the first line of the command that explains the invoice", async () => {
  const id = await plannedInvoice();
  for (const open of [true, false]) {
    if (!open) await shop.push("invoices", shop.invoice({ id, amount: 4_900, state: "INVOICE_STATE_PAID" }));
    await eventually(
      async () => {
        await page.goto(pathOf(id));
        const [first] = (await runAndCapture(live.service.store.owner, explain, { merchant: shop.id }, [id])).split(
          "\n",
        );
        const headline = nbsp(await page.locator("main .lede").first().innerText());
        assert.match(first!, /^EUR 49\.00 /);
        assert.equal(headline, first);
        return open || /paid/.test(headline);
      },
      "the headline",
      SEEN_MS,
    );
  }
});

test("60. the timeline is compact: details are closed at first, and open by keyboard", async () => {
  const id = await plannedInvoice();
  await page.goto(pathOf(id));
  const entries = page.locator("#log .log > li");
  const details = entries.locator("details");
  assert.ok((await entries.count()) >= 3 && (await details.count()) >= 1);
  assert.equal(await entries.locator("details[open]").count(), 0);
  for (const entry of await entries.all()) {
    const { height } = (await entry.boundingBox())!;
    assert.ok(height < 60, `an entry is ${height} px high: ${await entry.innerText()}`);
  }
  const message = page.locator("#log").getByText("Message of the gateway: Not enough money <b>today</b>");
  assert.equal(await message.isVisible(), false);
  await page.locator("#log > summary").focus();
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate("document.activeElement.textContent.includes('Payment attempt')")) break;
  }
  await page.keyboard.press("Enter");
  await message.waitFor();
  await page.keyboard.press("Enter");
  await message.waitFor({ state: "hidden" });
});

test("61. the chart of considered times has the customer's dates and the reader's times, marks the chosen one, and has a table", async () => {
  const id = await plannedInvoice();
  const planned = new Date(String((await planOf(id))!.idealRetryTime));
  await page.goto(pathOf(id));
  const chart = page.locator("#considered .plot");
  const marks = chart.locator("g[data-at]");
  assert.ok((await marks.count()) > 3);
  const chosen = marks.filter({ has: page.locator(".c-point.full") });
  assert.equal(await chosen.count(), 1);
  assert.equal(new Date((await chosen.getAttribute("data-at"))!).getTime(), planned.getTime());
  for (const mark of await marks.all()) {
    const at = new Date((await mark.getAttribute("data-at"))!);
    const words = (await mark.locator("title").textContent())!;
    assert.ok(words.startsWith(`${customerTime(at)}: `), `${words} is not ${customerTime(at)}`);
  }
  const day = formatIn(ZONE, { weekday: "short", day: "numeric" })(planned).split(" ");
  assert.deepEqual(
    (await chart.locator("text.chosen").allTextContents()).filter((text) => !/EUR/.test(text)).sort(),
    day.sort(),
  );
  assert.match(
    (await chart.getAttribute("aria-label"))!,
    new RegExp(`in New York time\\. Chosen: ${customerTime(planned)}`),
  );
  await page.locator("#considered summary", { hasText: "Show the numbers" }).click();
  const rows = page.locator("#considered tbody tr");
  const dated = await rows
    .locator("time")
    .evaluateAll((all) =>
      all.map((each) => [each.getAttribute("datetime")!, each.textContent!, each.getAttribute("title")!] as const),
    );
  assert.ok(dated.length >= (await marks.count()));
  for (const [iso, text, title] of dated) {
    assert.equal(text, customerTime(new Date(iso)));
    assert.equal(title, readerTime(new Date(iso)));
  }
  const shown = await rows
    .filter({ has: page.locator("small", { hasText: /^chosen$/ }) })
    .locator("time")
    .first()
    .getAttribute("datetime");
  assert.equal(new Date(shown!).getTime(), planned.getTime());
});

test("62. a stop asks first, ends recovery and writes the audit log", async () => {
  const id = await plannedInvoice();
  await page.goto(pathOf(id));
  const confirm = page.getByRole("button", { name: "Stop recovery for this invoice" });
  assert.equal(await confirm.isVisible(), false);
  await page.getByText("Stop", { exact: true }).click();
  await page.getByLabel("Reason").filter({ visible: true }).fill("agreed by phone");
  assert.ok(await planOf(id), "nothing has happened yet");
  await confirm.click();
  assert.match(await page.locator(".notice.good").innerText(), /^Recovery stopped\./);
  assert.match(await page.locator("main").innerText(), /End reason\s+stopped by hand/);
  await eventually(
    () => shop.events("complete_dunning").some(({ json }) => JSON.stringify(json).includes(id)),
    "the notice",
  );
  await page.goto("/org/audit?noun=recovery");
  const line = page.locator("tbody tr", { hasText: id });
  assert.match(await line.innerText(), /owner-\w+@example\.com[\s\S]*recovery stopped[\s\S]*agreed by phone/);
});

test("63. a retry now asks first and is planned at once, and a viewer cannot request it, even by direct POST", async () => {
  const id = await plannedInvoice({});
  const before = new Date(String((await planOf(id))!.idealRetryTime));
  await looking.goto(pathOf(id));
  assert.equal(await looking.getByText("Retry now", { exact: true }).count(), 0);
  const origin = new URL(live.service.settings.authUrl).origin;
  const post = (role: Role, form: Record<string, string>) =>
    contexts.get(role)!.request.post("/invoices/retry_now", { form, headers: { origin }, maxRedirects: 0 });
  await page.goto(pathOf(id));
  const caseId = (await page.locator("form[action='/invoices/retry_now'] [name=caseId]").getAttribute("value"))!;
  const refused = await post("viewer", { invoiceId: id, caseId, confirmed: "yes" });
  assert.equal(refused.status(), 403);
  assert.match(await refused.text(), /Your role \(viewer\) does not allow this operation/);
  const unconfirmed = await post("owner", { invoiceId: id, caseId });
  assert.equal(unconfirmed.status(), 400);
  assert.match(await unconfirmed.text(), /Tick the box that confirms the retry/);
  await page.locator("summary", { hasText: "Retry now" }).click();
  await page.getByRole("button", { name: "Retry EUR 49.00 now" }).click();
  assert.equal(new URL(page.url()).search, "", "the browser asks for the tick first");
  assert.equal(new Date(String((await planOf(id))!.idealRetryTime)).getTime(), before.getTime());
  await page.getByLabel("Use one retry for it").check();
  await page.getByRole("button", { name: "Retry EUR 49.00 now" }).click();
  assert.match(await page.locator(".notice.good").innerText(), /^A retry was requested\./);
  const action = (await planOf(id))!;
  const late = Math.abs(new Date(String(action.idealRetryTime)).getTime() - shop.now().getTime());
  assert.ok(late < 60_000, `${late} ms from now`);
  const sent = await eventually(
    () => shop.events("recovery_action").filter(({ json }) => JSON.stringify(json).includes(id))[0],
    "the instruction",
  );
  assert.equal(sent.json.id, action.id);
});

test("64. a retry is postponed to the time typed in the zone that the form names, and the audit log has it in the reader's", async () => {
  const id = await plannedInvoice();
  await page.goto(pathOf(id));
  await page.locator("summary", { hasText: "Postpone" }).click();
  assert.match(await page.locator("#until-hint").innerText(), /^New York time, and at the latest /);
  const day = new Date(shop.now().getTime() + 9 * DAY_MS).toISOString().slice(0, 10);
  await page.getByLabel("Not before").fill(`${day}T13:30`);
  await page.getByRole("button", { name: "Postpone", exact: true }).click();
  assert.match(await page.locator(".notice.good").innerText(), /^Retries were postponed\./);
  // 13:30 in New York is 17:30 or 18:30 UTC.
  const until = ["17:30", "18:30"]
    .map((clock) => new Date(`${day}T${clock}:00Z`))
    .find((at) => formatIn(ZONE, { hour: "2-digit", minute: "2-digit" })(at) === "13:30")!;
  const plan = await eventually(
    async () => {
      const action = await planOf(id);
      const at = new Date(String(action?.idealRetryTime ?? 0));
      return at >= until ? at : null;
    },
    "the plan behind that time",
    SEEN_MS,
  );
  await page.goto("/org/audit?noun=recovery");
  const line = await page.locator("tbody tr", { hasText: id }).innerText();
  assert.match(line, /recovery postponed/);
  assert.ok(line.includes(`until ${readerTime(until).replace("Your time (UTC): ", "")}`), line);
  await page.goto(pathOf(id));
  const next = page.locator("#considered h2 time");
  assert.equal(await next.getAttribute("datetime"), plan.toISOString());
  assert.equal(await next.innerText(), customerTime(plan));
  assert.equal(await next.getAttribute("title"), readerTime(plan));
});
