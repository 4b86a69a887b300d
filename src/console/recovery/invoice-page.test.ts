import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { COMMAND_LINE_ACTOR } from "../../domain/person.ts";
import { startExperiment } from "../../experiments/experiments.ts";
import { ingestSubscriptions } from "../../ingest/ingest.ts";
import { type ProposedRule, parseRecoveryRules } from "../../merchants/parse-recovery-rules.ts";
import { changeRecoveryRules } from "../../merchants/recovery-rules.ts";
import { createTestConsole, type TestConsole } from "../console.fixture.ts";
import { openShop } from "./invoice-shop.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

async function shop(settings = {}) {
  const opened = await openShop(at, settings);
  const viewer = await opened.as("viewer");
  return { ...opened, page: async (query = "") => (await viewer.get(`/invoices/in_a${query}`)).body, viewer };
}
const ledeOf = (page: string) => /<p class="lede">(.*?)<\/p>/.exec(page)![1]!.replace(/<[^>]+>/g, "");
const trackOf = (page: string) => /role="img" aria-label="(Recovery from [^"]*)"/.exec(page)![1]!;

test("an undelivered instruction is shown as waiting, not as planned for a past time", async () => {
  const { fail, page, untilRequested, viewer } = await shop();
  await fail();
  assert.match(ledeOf(await page()), /has been unpaid for .*\. The next attempt is planned for /);
  assert.match(await page(), /planned, may change<\/span>/);
  assert.match((await viewer.get("/invoices")).body, /<td class="num opt">\d+<\/td><td class="opt"><time/);
  await untilRequested();
  assert.match(ledeOf(await page()), /The instruction to retry on .* is waiting for delivery\./);
  assert.match(await page(), /Requested: retry EUR.49\.00 on <time[^\n]*waiting for delivery<\/span>/);
  assert.doesNotMatch(
    (await viewer.get("/invoices")).body,
    /<td class="num opt">\d+<\/td><td class="opt"><time/,
    "its time has passed",
  );
});

test("a partly paid invoice shows the amount due", async () => {
  const { invoice, attempt, page } = await shop();
  await invoice();
  assert.doesNotMatch(await page(), /Amount due/);
  await attempt({ state: "PAID", amount: 1_900 });
  assert.match(await page(), /Amount due<\/dt><dd>EUR.30\.00</);
  assert.match(ledeOf(await page()), /^EUR 30\.00 of EUR 49\.00 has been unpaid/);
});

test("the page begins with the sentence that the command prints, for each way in which an invoice can end", async () => {
  const paid = await shop();
  await paid.fail();
  await paid.untilRequested();
  await paid.deliver();
  paid.wait(50 * 60_000);
  await paid.attempt({ state: "PAID" });
  await paid.decide();
  assert.match(
    ledeOf(await paid.page()),
    /^EUR 49\.00 was paid on .* A retry that Dunlin requested succeeded, after 1 failed attempt\.$/,
  );
  assert.match(await paid.page(), /<h1>in_a <span class="tag good">recovered</);
  const lost = await shop();
  await lost.fail();
  lost.wait(40 * DAY);
  await lost.decide();
  assert.match(ledeOf(await lost.page()), /^EUR 49\.00 was not recovered\. .* the recovery window was over\.$/);
  assert.match(await lost.page(), /<h2>Why it ended<\/h2>[\s\S]*The case ended: the recovery window was over\./);
  const conflict = await shop();
  await conflict.fail();
  await conflict.attempt({ state: "PAID", currency: "USD" });
  await conflict.decide();
  assert.match(ledeOf(await conflict.page()), /^It is not clear whether EUR 49\.00 is unpaid\./);
  assert.match(await conflict.page(), /<h2>Why Dunlin waits<\/h2>[\s\S]*Facts contradict each other/);
  assert.doesNotMatch(await conflict.page(), /Next: retry/);
});

test("the track has the whole window in words, in marks and in a table", async () => {
  const { fail, page, untilRequested, deliver, wait, attempt, decide } = await shop();
  await fail();
  await untilRequested();
  await deliver();
  wait(50 * 60_000);
  await attempt();
  await decide();
  const whole = await page();
  const time = String.raw`\w+ \d+ \w+, \d\d:\d\d`;
  assert.match(
    trackOf(whole),
    new RegExp(
      `^Recovery from ${time} to the end of the window on ${time}\\. It is still open\\. ${time}: first attempt: failed \\(code 51\\)\\. ${time}: retry 1: failed \\(code 51\\)\\. ${time}: next attempt, planned\\.$`,
    ),
  );
  const wide = /<svg class="chart track only-wide"[\s\S]*?<text class="now"[\s\S]*?<\/svg>/.exec(whole)![0];
  assert.deepEqual(
    [wide.match(/c-fail/g)?.length, wide.match(/c-plan/g)?.length, wide.match(/c-end/g)?.length],
    [2, 1, 1],
  );
  assert.match(whole, /1 of 8 retries used · \d+ days left/);
  assert.match(
    whole,
    /Show the numbers<\/summary><table class="small-table">[\s\S]*first attempt: failed[\s\S]*end of the recovery window/,
  );
  assert.doesNotMatch(whole, / style="/);
});

test("the track shows a request for another card, a payment, and no retries of an invoice that is only observed", async () => {
  const card = await shop();
  await card.fail({ networkDeclineCode: "41" });
  await card.untilRequested();
  await card.deliver();
  assert.match(trackOf(await card.page()), /another card or payment method asked for: sent\./);
  assert.match(await card.page(), /Requested: another card or payment method<\/h2><span class="tag">outcome awaited/);
  card.wait(HOUR);
  await card.invoice({ state: "PAID" });
  await card.decide();
  assert.match(trackOf(await card.page()), /It has ended\. .* The case ended: the invoice is paid\.$/);
  assert.match(await card.page(), /class="c-paid"/);
  const observed = await shop({ shadow: true });
  await observed.fail();
  assert.match(await observed.page(), /only observed · \d+ days left/);
  assert.match(trackOf(await observed.page()), /Dunlin would have requested a retry/);
  assert.match(await observed.page(), /Dunlin would retry EUR.49\.00 on <time[^\n]*shadow mode<\/span>/);
});

test("all times are of the customer's clock, which is named once, and tooltips have the reader's", async () => {
  const { fail, page, viewer } = await shop();
  await fail({ cardCountry: "JP" });
  await viewer.post("/account", { zone: "America/New_York", theme: "system" });
  const body = await page();
  assert.match(body, /All times are the customer's: Tokyo time \(Asia\/Tokyo\)/);
  const times = [...body.matchAll(/<time datetime="([^"]+)" title="([^"]+)">([^<]+)</g)];
  assert.ok(times.length > 8);
  const clock = (zone: string, iso: string) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeStyle: "short" }).format(new Date(iso));
  for (const [, iso, title, shown] of times) {
    assert.ok(shown!.endsWith(clock("Asia/Tokyo", iso!)), `${shown}`);
    assert.ok(
      title!.startsWith("Your time (America/New_York): ") && title!.endsWith(clock("America/New_York", iso!)),
      `${title}`,
    );
  }
  assert.equal(body.match(/\(Asia\/Tokyo\)/g)?.length, 1, "stored sentences are shown without the zone");
});

test("facts name the subscription with its plan, the card, the entity and the arm, and lead to lists", async () => {
  const { merchant, fail, page } = await shop();
  const now = at.ports.now();
  const subscription = {
    id: "sub 1",
    state: "ACTIVE",
    customerId: "cus_1",
    amount: 1,
    currency: "EUR",
    planId: "team",
  } as const;
  await ingestSubscriptions(
    at.db,
    merchant,
    [[{ ...subscription, createdAt: now, updatedAt: now }]],
    at.ports,
    () => {},
  );
  const plan = { name: "Autumn", share: 0.5, calibrationDays: 0 };
  const started = await at.db.transaction((tx) => startExperiment(tx, merchant.id, plan, COMMAND_LINE_ACTOR, at.ports));
  at.clock.serviceMs += 1_000;
  await fail({}, { subscriptionId: "sub 1", businessEntity: "Harbor Ltd" });
  const body = await page();
  assert.match(body, /Subscription<\/dt><dd><a href="\/invoices\?subscriptionId=sub\+1">sub 1<\/a>, team</);
  assert.match(body, /Card<\/dt><dd>Visa debit …4242, <a href="\/actions\?cardCountry=DE">Germany</);
  assert.match(body, /Customer<\/dt><dd><a href="\/invoices\?customerId=cus_1">/);
  assert.match(body, /Entity<\/dt><dd>Harbor Ltd</);
  const { id } = started as { id: string };
  assert.match(
    body,
    new RegExp(`Experiment</dt><dd><a href="/experiments/${id}">Autumn</a>, (Dunlin.*s arm|the holdout)<`),
  );
});

test("a fact names the recovery rule that decides, and leads those to the rules who may see them", async () => {
  const { merchant, as, fail, decide, page } = await shop();
  const setRules = (...rules: object[]) =>
    changeRecoveryRules(at.db, merchant.id, parsedRules(rules), COMMAND_LINE_ACTOR, at.ports);
  const admin = await as("admin");
  const ruleOf = (body: string) => /Rule<\/dt><dd>(.*?)<\/dd>/.exec(body)?.[1];
  await setRules({ name: "other", customerIds: ["cus_9"] });
  await fail();
  assert.equal(ruleOf(await page()), undefined, "no rule fits");
  await setRules({ name: "other", customerIds: ["cus_9"] }, { name: "A & B", currencies: ["EUR"], budget: 3 });
  await decide();
  assert.equal(ruleOf(await page()), "2, A &amp; B", "a viewer may not see the rules");
  const { body } = await admin.get("/invoices/in_a");
  assert.equal(ruleOf(body), '<a href="/settings/rules">2, A &amp; B</a>');
  await setRules({ name: "annual", leaveOut: true });
  await decide();
  assert.equal(ruleOf(await page()), "1, annual");
  assert.match(await page(), /End reason<\/dt><dd>left out</);
  await setRules();
  assert.equal(ruleOf(await page()), "deleted since the end");
});

function parsedRules(rules: readonly object[]): ProposedRule[] {
  const parsed = parseRecoveryRules(rules);
  assert.ok(Array.isArray(parsed));
  return parsed;
}

test("at most four reasons are shown, and all questions and answers stay on the page, folded", async () => {
  const { fail, page } = await shop();
  await fail({ cardBrand: "mastercard", networkAdviceCode: "26" });
  const body = await page();
  const reasons = /<h2>Why then<\/h2>[\s\S]*?<ul class="checks plain">(.*?)<\/ul>/.exec(body)![1]!;
  const count = reasons.match(/<li>/g)!.length;
  assert.ok(count > 1 && count <= 4, `${count}`);
  assert.doesNotMatch(reasons, /If it fails/, "the chart's foot says it");
  assert.match(body, /If it fails, [^<]* would be next\./);
  assert.match(
    body,
    /<details class="card questions"><summary[\s\S]*<summary>Next step<[\s\S]*<summary>How Dunlin chose</,
  );
  assert.match(body, /href="\/decisions\.csv\?invoiceId=in_a">Decisions as CSV</);
});

test("an invoice without a case has its sentence and its history, and no track and no buttons", async () => {
  const { invoice, attempt, as } = await shop();
  await invoice({ state: "PAID" });
  await attempt({ state: "PAID" });
  const body = (await (await as("owner")).get("/invoices/in_a")).body;
  assert.match(ledeOf(body), /^EUR 49\.00 is paid\. It was paid at the first attempt/);
  assert.doesNotMatch(body, /Recovery so far|action="\/invoices\//);
  assert.match(body, /Payment attempt: paid/);
});
