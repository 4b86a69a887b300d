// A merchant's failing endpoint, seen from the console and from its own log, on the whole service with a clock that runs 240
// times faster: the quarter of an hour before the fifth attempt takes four seconds.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { BEARER, type Shop } from "../contract/contract-shop.ts";
import { eventually } from "../contract/running-service.ts";
import { answerInOrder } from "../contract/webhook-endpoint.ts";
import { type LiveService, openLiveService } from "./live-service.ts";

const RATE = 240;
const WRONG = "another-token-than-theirs";

let live: LiveService;
let shop: Shop;
let developer: BrowserContext;
let page: Page;
before(async () => {
  live = await openLiveService(RATE);
  shop = await live.service.shop({ windowDays: 28 });
  developer = await live.as("developer", shop.id);
  page = await developer.newPage();
});
after(() => live?.stop());

/** Returns the endpoint's requests for an event. */
const receivedOf = (eventId: string) => shop.received.filter(({ json }) => json.id === eventId);

async function pausedEvent(invoiceId: unknown) {
  const found = await eventually(async () => (await shop.deliveries("pause_collection", invoiceId))[0], "the event");
  return found.eventId;
}

test("21. a test event shows the exact request and answer, and reports a wrong credential with the sent one masked", async () => {
  shop.hook.answer = (request, response) =>
    answerInOrder(request.headers.authorization === `Bearer ${BEARER}` ? 200 : 401, '{"says":"hello"}')(
      request,
      response,
      0,
    );
  await page.goto("/settings/webhook");
  await page.getByRole("button", { name: "Send a test event" }).click();
  assert.match(await page.locator(".notice").first().innerText(), /^OK/);
  const sent = await page.getByLabel("Request", { exact: true }).innerText();
  const { bytes, path } = shop.received.at(-1)!;
  assert.match(sent, new RegExp(`^POST ${path} HTTP/1\\.1`));
  assert.ok(sent.endsWith(bytes.toString()), "the very bytes");
  assert.match(
    await page.getByLabel("Response", { exact: true }).innerText(),
    /^HTTP\/1\.1 200 OK[\s\S]*\{"says":"hello"\}$/,
  );
  await page.goto("/settings/webhook");
  await page.getByLabel("Authentication").selectOption("bearer");
  await page.getByLabel("Token").fill(WRONG);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Send a test event" }).click();
  assert.match(await page.locator(".notice").first().innerText(), /401: the endpoint refuses the credential/);
  const masked = await page.content();
  assert.ok(masked.includes("Bearer [redacted]") && !masked.includes(WRONG) && !masked.includes(BEARER));
  assert.equal(shop.received.at(-1)!.headers.authorization, `Bearer ${WRONG}`);
  await page.goto("/settings/webhook");
  await page.getByLabel("Authentication").selectOption("bearer");
  await page.getByLabel("Token").fill(BEARER);
  await page.getByRole("button", { name: "Save" }).click();
});

test("22. the page shows a failing endpoint's attempts with the time to the next, until the repaired endpoint accepts the event; both logs agree", async () => {
  shop.hook.answer = answerInOrder(500, "not now");
  const invoice = shop.invoice();
  await shop.push("invoices", invoice);
  const eventId = await pausedEvent(invoice.id);
  await page.goto(`/deliveries/${eventId}`);
  const rows = page.locator("[aria-label='Attempts'] tbody tr");
  const made = rows.filter({ has: page.locator("td.number:not(:empty)") });
  await eventually(async () => (await made.count()) >= 4, "the fourth attempt on the page", 20_000);
  const timer = page.locator("[role=timer]");
  assert.match(await timer.innerText(), /^in \d+:\d\d$/);
  const first = await timer.innerText();
  await eventually(async () => (await timer.innerText().catch(() => "")) !== first, "the countdown", 5_000);
  assert.equal(await rows.count(), 7, "those to come are there too");
  shop.hook.answer = answerInOrder(200);
  await page.locator(".tag.good", { hasText: "delivered" }).waitFor({ timeout: 40_000 });
  const received = receivedOf(eventId);
  assert.equal(await made.count(), received.length);
  assert.equal(new Set(received.map(({ bytes }) => bytes.toString())).size, 1, "the same bytes each time");
  assert.deepEqual((await made.locator("td:last-child").allInnerTexts()).map((text) => text.slice(0, 3)).at(-1), "200");
});

test("23, 24. exhausted events that still apply are sent again by filter, under their ids, with progress that survives leaving the page", async () => {
  shop.hook.answer = answerInOrder(503);
  const invoices = [1, 2, 3].map(() => shop.invoice());
  await shop.push("invoices", ...invoices);
  const ids = await Promise.all(invoices.map(({ id }) => pausedEvent(id)));
  // Seven attempts over 105 minutes of service time.
  await eventually(
    async () => (await shop.deliveries("pause_collection")).filter(({ state }) => state === "exhausted").length >= 3,
    "the end of all attempts",
    60_000,
  );
  shop.hook.answer = answerInOrder(200);
  await shop.push(
    "invoices",
    shop.invoice({ ...invoices[0], state: "INVOICE_STATE_PAID", updatedAt: shop.now().toISOString() }),
  );
  await page.goto("/deliveries/replay");
  await page.getByLabel("Type").selectOption("pause_collection");
  await page.getByRole("button", { name: "Filter" }).click();
  assert.match(await page.locator(".lead").innerText(), /^2 of 3 exhausted events can be sent again/);
  await page.getByRole("button", { name: "Send 2 again" }).click();
  await page.waitForURL(/\/deliveries\/replay\/[0-9a-f-]{36}$/);
  const path = new URL(page.url()).pathname;
  await page.goto("/overview");
  await page.goto("/deliveries/replay");
  await page.locator(`a[href='${path}']`).click();
  await page.locator(".notice.good", { hasText: "2 sent again, 1 skipped." }).waitFor();
  assert.match(await page.locator("main").innerText(), /1 skipped: the invoice was paid meanwhile/);
  for (const id of ids.slice(1)) {
    await eventually(
      async () => (await shop.deliveries()).find(({ eventId }) => eventId === id)?.state === "delivered",
      id,
      20_000,
    );
    const bodies = new Set(receivedOf(id).map(({ bytes }) => bytes.toString()));
    assert.equal(bodies.size, 1, "one id, one body");
  }
  assert.equal(receivedOf(ids[0]!).length, 7, "the paid one was left alone");
});

test("41. the audit log records who changed the webhook and who sent which events again, and no token", async () => {
  const admin = await live.as("admin", shop.id);
  const at = await admin.newPage();
  await at.goto("/org/audit");
  const said = await at.locator("main").innerText();
  for (const operation of [/webhook changed/, /delivery replay asked/, /delivery replayed/])
    assert.match(said, operation);
  assert.match(said, /developer-[0-9a-f]+@example\.com\s+(127\.0\.0\.1|::1)/);
  const text = await (await admin.request.get("/org/audit.csv")).text();
  for (const secret of [WRONG, BEARER]) assert.ok(!text.includes(secret) && !said.includes(secret));
  await admin.close();
});
