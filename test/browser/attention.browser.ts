// What needs attention, from the fault to its end, on the whole service with a clock that runs 240 times faster: the seven
// attempts of an event take half a minute.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { createAttentionStore } from "../../src/attention/attention.fixture.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/durations.ts";
import { prepared } from "../../src/postgres/database.ts";
import { reportConnection, saveConnection } from "../../src/tables/connections.ts";
import { saveConflicts } from "../../src/tables/invoice-conflicts.ts";
import { LOST_CARD } from "../contract/contract-records.ts";
import type { Shop } from "../contract/contract-shop.ts";
import { eventually } from "../contract/running-service.ts";
import { answerInOrder } from "../contract/webhook-endpoint.ts";
import { type LiveService, openLiveService } from "./live-service.ts";

const RATE = 240;
/** On a busy machine. */
const EXHAUSTED_MS = 120_000;
const SEEN_MS = 60_000;
/** Mastercard's code for no retry within six days, so that the invoice has one event for a long time. */
const SIX_DAYS = { networkDeclineCode: "51", networkAdviceCode: "28", cardBrand: "mastercard" };

let live: LiveService;
/** Its endpoint fails from the start. */
let failing: Shop;
let developer: BrowserContext;
let page: Page;
let busy: Awaited<ReturnType<typeof fillMatters>>;
before(async () => {
  live = await openLiveService(RATE);
  failing = await live.service.shop({ windowDays: 28, answer: answerInOrder(503) });
  const invoice = failing.invoice();
  await failing.push("transactions", failing.transaction(invoice, SIX_DAYS));
  await failing.push("invoices", invoice);
  developer = await live.as("developer", failing.id);
  page = await developer.newPage();
  busy = await fillMatters();
});
after(() => live?.stop());

interface Matters {
  /** Titles with their severity, such as "Soon: 1 card change has no answer". */
  titles: string[];
  hrefs: string[];
  badge: number;
  /** Beside the list's title. */
  count: string;
}

/** Reads the list on the overview, and the badge in the menu. */
async function readMatters(at: Page): Promise<Matters> {
  await at.goto("/overview");
  const links = at.locator(".todo li > a");
  const badge = at.locator(".rail nav a[href='/overview'] .tag");
  const count = at.locator(".card:has(.todo) > header span");
  return {
    titles: await links.evaluateAll((all) => all.map((each) => each.textContent!)),
    hrefs: await links.evaluateAll((all) => all.map((each) => each.getAttribute("href")!)),
    badge: (await badge.count()) === 0 ? 0 : Number.parseInt((await badge.innerText()).trim(), 10),
    count: (await count.count()) === 0 ? "" : await count.innerText(),
  };
}

/** Notes are in the list and not in the badge. */
const urgent = ({ titles }: Matters) => titles.filter((title) => !title.startsWith("Note: ")).length;

/** Creates a merchant with each matter that takes days, by the rows that those days would leave. */
async function fillMatters() {
  const shop = await live.service.shop({ windowDays: 28 });
  const { owner: db, ports } = live.service.store;
  const now = ports.now();
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const store = createAttentionStore(db, shop.id, now);
  await store.logPushes(Array.from({ length: 14 * 24 }, (_, hour) => ago((hour + 7) * HOUR_MS)));
  const settings = {
    ...({ whenOver: "give_back", historyDays: 396, messages: null, publicUrl: null } as const),
    ...{ host: "127.0.0.1", port: 8444, endpointUrl: null },
  };
  const connection = { merchantId: shop.id, name: "stripe", isLive: false, localPort: 8444 } as const;
  await saveConnection(db, { ...connection, secrets: Buffer.from("sealed"), settings, createdAt: ago(9 * DAY_MS) });
  const ending = await store.openCase({ endsAt: new Date(now.getTime() + 2.5 * DAY_MS), amount: 2_000 });
  const unanswered = await store.openCase({ amount: 4_000 });
  await store.requestCardChange(unanswered, ago(6 * DAY_MS));
  const contradictory = await store.openCase({ amount: 187 });
  const facts = { paid: 187, currency: "EUR", paidAt: now, unpaidAt: now };
  const conflict = { invoiceId: contradictory.invoiceId, kind: "paid_but_unpaid", facts, foundAt: now } as const;
  await saveConflicts(db, shop.id, [conflict]);
  const large = await store.openCase({ amount: 90_000 });
  await db.run(
    prepared(
      "",
      `insert into transactions (merchant_id, id, state, invoice_id, amount, currency, created_at, updated_at,
         payment_gateway_name, payment_gateway_error_code, payment_method_type)
       values ($1, 't_unknown', 'FAILED', $2, 1, 'EUR', $3, $3, 'stripe', 'code_that_nobody_knows', 'card')`,
    ),
    [shop.id, large.invoiceId, ago(DAY_MS)],
  );
  const context = await live.as("developer", shop.id);
  const at = await context.newPage();
  await at.goto("/settings/notifications");
  await at.getByLabel("Amounts").fill("EUR 500");
  await at.locator("form[action$='/large'] button").click();
  return { shop, at, ending, unanswered, contradictory, large };
}

test("56. each matter appears with the link to its rows, and the menu counts all that are no mere notes", async () => {
  const { at, ending, unanswered, contradictory, large } = busy;
  const found = await readMatters(at);
  const expected: [title: RegExp, href: string, behind: string | RegExp][] = [
    [/^Broken: Your system pushes no records$/, "/requests", "/ingest/v1/invoices"],
    [/^Broken: The Stripe connector does not run$/, "/connection", /Stripe/],
    [/^Soon: Recovery ends within 3 days for 1 invoice$/, "/invoices?attention=ending", ending.invoiceId],
    [/^Soon: 1 card change has no answer$/, "/invoices?attention=card_change", unanswered.invoiceId],
    [/^Soon: 1 invoice has contradictory data$/, "/invoices?attention=contradictory", contradictory.invoiceId],
    [/^Note: Dunlin does not know 1 decline code$/, "/decline_codes", "code_that_nobody_knows"],
    [/^Note: 1 large invoice is in recovery$/, "/invoices?attention=large", large.invoiceId],
  ];
  assert.equal(found.titles.length, expected.length, found.titles.join("; "));
  for (const [index, [title, href, behind]] of expected.entries()) {
    assert.match(found.titles[index]!, title);
    assert.equal(found.hrefs[index], href);
    await at.goto("/overview");
    await at.locator(".todo li > a").nth(index).click();
    assert.equal(new URL(at.url()).pathname + new URL(at.url()).search, href);
    const text = await at.locator("main").innerText();
    assert.ok(typeof behind === "string" ? text.includes(behind) : behind.test(text), `${href}: ${text.slice(0, 300)}`);
  }
  assert.equal(found.badge, urgent(found));
  assert.deepEqual([found.badge, found.count], [5, "5"]);
});

test("48. a failing endpoint is on the health strip and the attention card, and leads to its page and its events", async () => {
  await eventually(
    async () => (await readMatters(page)).titles.some((title) => /^Broken: Your endpoint fails$/.test(title)),
    "the failing endpoint",
    SEEN_MS,
  );
  const fact = page.locator(".strip > div", { has: page.locator("dt", { hasText: "Endpoint" }) });
  assert.match((await fact.locator("dt .dot").getAttribute("class"))!, /\bbad\b/);
  await page.locator(".todo li > a", { hasText: "Your endpoint fails" }).click();
  assert.equal(new URL(page.url()).search, "?state=waiting");
  await page.goBack();
  await fact.getByRole("link", { name: "Your endpoint fails" }).click();
  assert.equal(new URL(page.url()).pathname, "/settings/webhook");
  assert.match(await page.locator("main .lead").innerText(), /^Failing: every attempt since/);
  const viewer = await live.as("viewer", failing.id);
  const looking = await viewer.newPage();
  await looking.goto("/overview");
  const link = looking.locator(".strip a", { hasText: "Your endpoint fails" });
  assert.equal(
    await link.getAttribute("href"),
    "/deliveries?state=waiting",
    "a viewer may not open the endpoint's page",
  );
  await viewer.close();
});

test("57. a push, a paid invoice, corrected data, a running connector and a re-sent event each remove their line and lower the badge", async () => {
  const { shop, at, ending, unanswered, contradictory, large } = busy;
  const paid = ({ invoiceId }: { invoiceId: string }, amount: number) => {
    const updatedAt = shop.now().toISOString();
    const customerId = `cus_${invoiceId.slice(4)}`;
    const state = "INVOICE_STATE_PAID";
    return shop.push("invoices", shop.invoice({ id: invoiceId, customerId, amount, state, updatedAt }));
  };
  const { owner: db, ports } = live.service.store;
  for (const [title, isCounted, act] of [
    ["pushes no records", true, () => shop.push("invoices", shop.invoice({ state: "INVOICE_STATE_PAID" }))],
    ["connector does not run", true, () => reportConnection(db, shop.id, "stripe", ports.now())],
    ["Recovery ends within", true, () => paid(ending, 2_000)],
    ["card change has no answer", true, () => paid(unanswered, 4_000)],
    ["contradictory data", true, () => paid(contradictory, 187)],
    ["large invoice is in recovery", false, () => paid(large, 90_000)],
  ] as const) {
    const before = await readMatters(at);
    assert.ok(
      before.titles.some((each) => each.includes(title)),
      `${title}: ${before.titles}`,
    );
    await act();
    const later = await eventually(
      async () => {
        const matters = await readMatters(at);
        return matters.titles.some((each) => each.includes(title)) ? null : matters;
      },
      title,
      SEEN_MS,
    );
    assert.equal(later.titles.length, before.titles.length - 1, title);
    assert.equal(later.badge, before.badge - Number(isCounted), title);
    assert.equal(later.badge, urgent(later), title);
  }
  const given = await eventually(
    async () => {
      const matters = await readMatters(page);
      return matters.titles.some((title) => /Dunlin gave up 1 event$/.test(title)) ? matters : null;
    },
    "the event that was given up",
    EXHAUSTED_MS,
  );
  assert.equal(given.badge, urgent(given));
  failing.hook.answer = answerInOrder(200);
  await page.locator(".todo li > a", { hasText: "Dunlin gave up 1 event" }).click();
  assert.equal(new URL(page.url()).search, "?state=exhausted");
  await page.locator("tbody th a").first().click();
  await page.getByRole("button", { name: "Send again" }).click();
  const repaired = await eventually(
    async () => {
      const matters = await readMatters(page);
      return matters.titles.some((title) => title.includes("gave up")) ? null : matters;
    },
    "the delivery",
    SEEN_MS,
  );
  assert.ok(repaired.badge < given.badge);
});

test("57. a new card removes the line of its request and lowers the badge", async () => {
  const shop = await live.service.shop({ windowDays: 28 });
  const invoice = shop.invoice();
  await shop.push("transactions", shop.transaction(invoice, { ...LOST_CARD, cardFingerprint: "fp_lost" }));
  await shop.push("invoices", invoice);
  const isSent = async () => {
    const actions = await shop.actions({ invoiceId: String(invoice.id) });
    return actions.some(({ type, status }) => /CARD_CHANGE/.test(`${type}`) && /SENT/.test(`${status}`));
  };
  await eventually(isSent, "the request for a card", SEEN_MS);
  const back = (column: string) => `${column} = ${column} - interval '6 days'`;
  for (const age of [
    `update recovery_actions set ${back("decided_at")}, ${back("created_at")} where merchant_id = $1`,
    `update listed_actions set ${back("created_at")} where merchant_id = $1`,
  ])
    await live.service.store.owner.run(prepared("", age), [shop.id]);
  const context = await live.as("viewer", shop.id);
  const at = await context.newPage();
  const before = await readMatters(at);
  assert.deepEqual([before.titles, before.badge], [["Soon: 1 card change has no answer"], 1]);
  const check = { amount: 0, state: "TRANSACTION_STATE_PAID", cardFingerprint: "fp_new", cardBrand: "visa" };
  await shop.push("transactions", shop.transaction(invoice, check));
  await eventually(async () => (await readMatters(at)).titles.length === 0, "the end of the line", SEEN_MS);
  assert.equal((await readMatters(at)).badge, 0);
  await context.close();
});

test("58. an empty list says that nothing needs a hand, and the menu has no badge", async () => {
  const empty = await eventually(
    async () => {
      const matters = await readMatters(page);
      return matters.titles.length === 0 ? matters : null;
    },
    "a merchant without matters",
    SEEN_MS,
  );
  assert.equal(empty.badge, 0);
  assert.match(
    await page.locator("main").innerText(),
    /Needs your attention\s+Nothing\. Endpoint, pushes and open invoices are as they should be\./,
  );
  assert.equal(await page.locator(".strip .dot:not(.good)").count(), 0);
});
