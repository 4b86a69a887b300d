// Rules, settings and notifications as people change them, and what machines then say, on the whole service in real time.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { createTestContext } from "../../src/cli/context.fixture.ts";
import { merchantList } from "../../src/cli/merchant-commands.ts";
import type { Fields } from "../contract/contract-records.ts";
import type { Shop } from "../contract/contract-shop.ts";
import { eventually } from "../contract/running-service.ts";
import { createProgram } from "../dunlin-program.ts";
import { fillEndedCases } from "./fill-ended-cases.ts";
import { type LiveService, openLiveService } from "./live-service.ts";
import { parseCsvRows } from "./parse-csv-rows.ts";

const SEEN_MS = 60_000;
const RULES = "/settings/rules";

let live: LiveService;
let shop: Shop;
let viewer: BrowserContext;
let page: Page;
let admin: Page;
let origin: string;
let large: string;
before(async () => {
  live = await openLiveService(1);
  shop = await live.service.shop({ windowDays: 28, leadMs: 49 * 60_000 });
  origin = new URL(live.service.settings.authUrl).origin;
  page = await (await live.as("owner", shop.id)).newPage();
  admin = await (await live.as("admin", shop.id)).newPage();
  viewer = await live.as("viewer", shop.id);
  large = await failedInvoice({ amount: 50_000 });
  await failedInvoice({ amount: 2_000 });
  await failedInvoice({ amount: 3_000, currency: "USD" });
});
after(() => live?.stop());

const nbsp = (text: string) => text.replaceAll("\u00a0", " ");

/** An invoice whose first attempt has failed, and which Dunlin has looked at. */
async function failedInvoice(over: Fields) {
  const invoice = shop.invoice(over);
  await shop.push("invoices", invoice);
  await shop.push("transactions", shop.transaction(invoice, { networkDeclineCode: "51", cardBrand: "visa" }));
  await eventually(async () => (await shop.actions({ invoiceId: String(invoice.id) }))[0], "a plan", SEEN_MS);
  return String(invoice.id);
}

/** Fills the form of a rule by its labels. */
async function fillRule(at: Page, fields: Record<string, string>, path = `${RULES}?edit=new`) {
  await at.goto(path);
  for (const [label, value] of Object.entries(fields)) {
    const field = at.getByLabel(label, { exact: true });
    if (label === "Position" || label === "Outcome") await field.selectOption(value);
    else await field.fill(value);
  }
}
async function saveRule(fields: Record<string, string>, path?: string) {
  await fillRule(page, fields, path);
  await page.getByRole("button", { name: "Save" }).click();
  assert.match(await page.locator(".notice.good").innerText(), /^Saved\./);
}
const storedRules = async () => (await shop.call({ path: "/v1/recovery_rules" })).json.rules as Fields[];
/** Waits until the invoice's page names a rule. */
const ruleOnPage = (id: string, words: RegExp) =>
  eventually(
    async () => {
      await page.goto(`/invoices/${id}`);
      return words.test(nbsp((await page.locator(".questions").textContent())!));
    },
    `${words}`,
    SEEN_MS,
  );

test("71. a check says to how many open cases a rule applies and how many plans change, and saves nothing", async () => {
  await fillRule(page, { Name: "Large", Currencies: "EUR", "Amount from": "400", Retries: "3" });
  await page.getByRole("button", { name: "Check" }).click();
  const notice = nbsp(await page.locator(".notice.warn").innerText());
  assert.match(
    notice,
    /^Nothing is saved yet\. The rule would hold 1 of 3 open invoices, EUR 500\.00\. With it, 1 plan changes\./,
  );
  assert.equal(await page.getByLabel("Amount from").inputValue(), "400");
  await page.getByLabel("Amount from").fill("10");
  await page.getByRole("button", { name: "Check" }).click();
  assert.match(
    nbsp(await page.locator(".notice.warn").innerText()),
    /2 of 3 open invoices, EUR 520\.00\. With it, 2 plans change\./,
  );
  assert.deepEqual(await storedRules(), []);
  await page.goto(RULES);
  assert.doesNotMatch(await page.locator("main").innerText(), /Large/);
});

test("72. the first fitting rule decides, moving another one up changes that, and the invoice's page names the rule", async () => {
  await saveRule({ Name: "Large", Currencies: "EUR", "Amount from": "400", Retries: "3" });
  await saveRule({ Name: "Euros", Currencies: "EUR", Retries: "5" });
  assert.deepEqual(
    (await storedRules()).map(({ name }) => name),
    ["Large", "Euros"],
  );
  await ruleOnPage(large, /Your rule 1, “Large”, gives this invoice a budget of 3 retries\./);
  assert.match(await page.locator("main").innerText(), /0 of 3 retries used/);
  await page.goto(RULES);
  await page.locator("tbody tr", { hasText: "Euros" }).getByRole("link", { name: "Edit" }).click();
  await saveRule({ Position: "1" }, page.url());
  assert.deepEqual(
    (await storedRules()).map(({ name }) => name),
    ["Euros", "Large"],
  );
  await ruleOnPage(large, /Your rule 1, “Euros”, gives this invoice a budget of 5 retries\./);
  assert.match(await page.locator("main").innerText(), /0 of 5 retries used/);
});

test("73. an invoice that a rule leaves out is listed as left out, and nothing is sent", async () => {
  await saveRule({ Name: "By hand", Customers: "cus_by_hand", Outcome: "leaveOut", Position: "1" });
  const invoice = shop.invoice({ customerId: "cus_by_hand" });
  await shop.push("invoices", invoice);
  await shop.push("transactions", shop.transaction(invoice, { networkDeclineCode: "51", cardBrand: "visa" }));
  // A later one that is sent shows that this one had its turn.
  const other = shop.invoice();
  await shop.push("invoices", other);
  await shop.push("transactions", shop.transaction(other, { networkDeclineCode: "41", cardBrand: "visa" }));
  const sentAbout = (id: unknown) => shop.received.filter(({ bytes }) => bytes.includes(`"${id}"`));
  await eventually(() => sentAbout(other.id)[0], "the other invoice's event", SEEN_MS);
  await eventually(
    async () => {
      await page.goto("/invoices?customerId=cus_by_hand");
      return /left out/.test(await page.locator("tbody").innerText());
    },
    "the list",
    SEEN_MS,
  );
  assert.equal(await page.locator("tbody tr").count(), 1);
  assert.deepEqual(sentAbout(invoice.id), []);
  assert.deepEqual(await shop.actions({ invoiceId: String(invoice.id) }), []);
  await page.goto(`/invoices/${invoice.id}`);
  assert.match(await page.locator("main").innerText(), /End reason\s+left out/);
  assert.match(await page.locator("main").innerText(), /Your rule 1, “By hand”, leaves this invoice to/);
});

test("74. a change of rules is in the audit log, a viewer cannot make it, and a save over another person's change is refused in words", async () => {
  const rules = await storedRules();
  const edit = `${RULES}?edit=${String(rules.find(({ name }) => name === "Large")!.id)}`;
  await fillRule(admin, { Retries: "4" }, edit);
  await saveRule({ Retries: "2" }, edit);
  await admin.getByRole("button", { name: "Save" }).click();
  assert.match(
    await admin.locator("main").innerText(),
    /Nothing was saved\. The rules changed after this page was opened/,
  );
  const stored = async () => (await storedRules()).find(({ name }) => name === "Large")!.budget;
  assert.equal(await stored(), 2);
  await fillRule(page, {}, edit);
  const was = (await page.locator("form.rule-form [name=was]").getAttribute("value"))!;
  const id = (await page.locator("form.rule-form [name=id]").getAttribute("value"))!;
  const form = { was, id, name: "Large", position: "1", outcome: "recover", budget: "9", do: "save" };
  const refused = await viewer.request.post(RULES, { form, headers: { origin } });
  assert.equal(refused.status(), 403);
  assert.match(await refused.text(), /Your role \(viewer\) does not allow this operation/);
  assert.equal((await viewer.request.get(RULES)).status(), 403);
  assert.equal(await stored(), 2);
  await page.goto("/org/audit?noun=rules");
  const [latest] = await page.locator("tbody tr").allInnerTexts();
  assert.match(
    latest!,
    /owner-\w+@example\.com[\s\S]*after [^\n]*Large: [^;]*→ 2 retries\nbefore [^\n]*Large: [^;]*→ 3 retries/,
  );
});

test("75. each person's choice of digest and alerts is kept, and is their own", async () => {
  const other = await viewer.newPage();
  const fields = (at: Page) => at.locator("form[action='/settings/notifications']");
  const shown = async (at: Page) => {
    await at.goto("/settings/notifications");
    const checked = fields(at).locator("[name=alert]:checked");
    return {
      digest: await fields(at).locator("[name=digest]").inputValue(),
      weekday: await fields(at).locator("[name=weekday]").inputValue(),
      hour: await fields(at).locator("[name=hour]").inputValue(),
      alerts: await checked.evaluateAll((all) => all.map((each) => each.getAttribute("value")!)),
    };
  };
  const choose = async (at: Page, digest: string, weekday: string, hour: string, alerts: number[]) => {
    await at.goto("/settings/notifications");
    await fields(at).locator("[name=digest]").selectOption(digest);
    await fields(at).locator("[name=weekday]").selectOption(weekday);
    await fields(at).locator("[name=hour]").selectOption(hour);
    const boxes = fields(at).locator("[name=alert]");
    for (const [index, box] of (await boxes.all()).entries()) await box.setChecked(alerts.includes(index));
    const values = await boxes.evaluateAll((all) => all.map((each) => each.getAttribute("value")!));
    await fields(at).getByRole("button", { name: "Save" }).click();
    assert.match(await at.locator(".notice.good").innerText(), /^Saved\./);
    return { digest, weekday, hour, alerts: alerts.map((index) => values[index]!) };
  };
  const own = await choose(page, "weekly", "3", "17", [0, 2]);
  assert.deepEqual((await shown(other)).alerts, []);
  assert.equal((await shown(other)).digest, "off");
  const theirs = await choose(other, "daily", "1", "6", [1]);
  assert.deepEqual(await shown(page), own);
  assert.deepEqual(await shown(other), theirs);
  await other.close();
});

test("76. a test message reaches a chat over HTTPS, and no page shows the whole address again", async () => {
  const chat = await live.service.shop();
  const url = `${chat.hook.url}/hooks/very-secret-token`;
  await page.goto("/settings/notifications");
  await page.getByLabel("URL").fill(url);
  await page.locator("form[action$='/chat']").getByRole("button", { name: "Save" }).click();
  assert.match(await page.locator(".notice.good").innerText(), /^Saved\./);
  await page.getByRole("button", { name: "Send a test" }).click();
  assert.match(await page.locator(".notice").first().innerText(), /^The chat accepted the test\./);
  assert.equal(chat.received.length, 1);
  const [{ method, path, json }] = chat.received as [(typeof chat.received)[0]];
  assert.deepEqual(
    [method, `https://localhost:${new URL(url).port}${path}`],
    ["POST", url.replace("127.0.0.1", "localhost")],
  );
  assert.match(String(json.text), /Harbor Coffee/);
  chat.hook.answer = (_request, response) => void response.writeHead(500).end();
  await page.getByRole("button", { name: "Send a test" }).click();
  assert.match(await page.locator(".notice.bad").innerText(), /^The chat did not accept the test: .*500/);
  for (const each of ["/settings/notifications", "/org/audit"]) {
    await page.goto(each);
    const content = await page.content();
    assert.ok(!content.includes("very-secret-token") && !content.includes(url), each);
  }
});

test("79. window, budget, shadow mode, exploration and shared learning are saved on a page and audited, and the command shows the same", async () => {
  const own = await live.service.shop({ endpoint: false });
  const at = await (await live.as("owner", own.id)).newPage();
  await at.goto("/settings/recovery");
  await at.getByLabel("Recovery window, days").fill("21");
  await at.getByLabel("Retries per invoice").fill("6");
  await at.getByLabel("Random exploration").selectOption("yes");
  await at.getByLabel("Learn with other merchants").selectOption("no");
  await at.getByRole("button", { name: "Save" }).first().click();
  assert.match(await at.locator(".notice.good").innerText(), /^Saved\./);
  await at.getByRole("link", { name: "Turn on…" }).click();
  await at.getByRole("button", { name: "Turn on shadow mode" }).click();
  assert.match(await at.locator("main").innerText(), /on: Dunlin sends nothing/);
  assert.equal(await at.getByLabel("Recovery window, days").inputValue(), "21");
  assert.equal(await at.getByLabel("Retries per invoice").inputValue(), "6");
  const { context, lines } = createTestContext(live.service.store.owner);
  await merchantList.run(context, { json: true }, []);
  const listed = (JSON.parse(lines.join("")) as Fields[]).find(({ id }) => id === own.id)!;
  const { windowDays, budget, shadow, explore, sharesLearning } = listed;
  assert.deepEqual([windowDays, budget, shadow, explore, sharesLearning], [21, 6, true, true, false]);
  await at.goto("/org/audit?noun=merchant");
  const text = (await at.locator("tbody tr").allInnerTexts()).join("\n");
  for (const words of [
    /window days 1 → 21/,
    /budget \d+ → 6/,
    /explore after \d+ outcomes → yes/,
    /share learning yes → no/,
    /shadow no → yes/,
  ])
    assert.match(text, words);
  assert.match(text, /owner-\w+@example\.com/);
  await at.context().close();
});

test("80. a reporting currency and its rates are saved, and a wrong rate is named at its line", async () => {
  const form = page.locator("form[action$='/currency']");
  const save = () => form.getByRole("button", { name: "Save" }).click();
  await page.goto("/settings/recovery");
  await form.locator("[name=report]").selectOption("EUR");
  const dollars = form.getByLabel("1 USD =");
  for (const wrong of ["0,92", "-1", "0"]) {
    await dollars.fill(wrong);
    await save();
    assert.match(await page.locator(".notice.bad").innerText(), /^Nothing was saved\. Correct the marked fields/);
    assert.equal(await form.locator("[aria-invalid]").count(), 1);
    assert.equal(await dollars.getAttribute("aria-invalid"), "true");
    assert.equal(await dollars.inputValue(), wrong);
    assert.match(await form.locator("#rateUSD-problem").innerText(), /^Enter a number above 0 with a point/);
  }
  await page.goto("/settings/recovery");
  assert.equal(await form.locator("[name=report]").inputValue(), "none");
  await form.locator("[name=report]").selectOption("EUR");
  await dollars.fill("0.92");
  await save();
  assert.match(await page.locator(".notice.good").innerText(), /^Saved\./);
  await page.goto("/settings/recovery");
  assert.equal(await form.locator("[name=report]").inputValue(), "EUR");
  assert.equal(await dollars.inputValue(), "0.92");
  await page.goto("/org/audit?noun=merchant");
  assert.match(await page.locator("tbody tr").first().innerText(), /USD[\s\S]*0\.92/);
});

interface Answer {
  result?: { content?: { text: string }[]; isError?: boolean };
}

/** Runs `dunlin mcp` with a key, as an assistant does. */
async function startMcp(apiKey: string, name: string) {
  const { dataDir, port } = live.service.settings;
  const file = join(dataDir, name);
  writeFileSync(file, apiKey, { mode: 0o600 });
  const program = createProgram(dataDir, () => ({ DUNLIN_DATA: dataDir, DUNLIN_PORT: String(port) }));
  const child = program.start(["mcp", "--api-key-file", file]);
  let errors = "";
  child.stderr!.on("data", (chunk) => {
    errors += chunk;
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  createInterface({ input: child.stdout! }).on("line", (line) => {
    const message = JSON.parse(line) as Answer & { id: number };
    waiting.get(message.id)?.(message);
  });
  const ended = new Promise<never>((_resolve, reject) =>
    child.once("exit", (code) => reject(new Error(`${code} ${errors}`))),
  );
  ended.catch(() => {});
  let ids = 0;
  const send = (method: string, params: object) => {
    const id = ++ids;
    const answer = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return Promise.race([answer, ended]);
  };
  const clientInfo = { name: "test", version: "1" };
  await send("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  const call = async (tool: string, given: object = {}) => {
    const { result } = await send("tools/call", { name: tool, arguments: given });
    return { text: result!.content![0]!.text, isError: result!.isError === true };
  };
  return {
    call,
    json: async (tool: string, given?: object) => JSON.parse((await call(tool, given)).text),
    async close() {
      const gone = new Promise((resolve) => child.once("close", resolve));
      child.stdin!.end();
      await gone;
    },
  };
}

test("81. an assistant gets the numbers of the pages with a read key, and a refusal without the permission", async () => {
  await fillEndedCases(live.service.store.owner, shop.id, live.service.store.ports);
  const reader = await startMcp(
    await shop.key(["read:explanations", "read:attention", "read:analytics", "read:recovery_actions"]),
    "reader.key",
  );
  const weak = await startMcp(await shop.key(["read:attention"]), "weak.key");
  try {
    const day = (days: number) => new Date(shop.now().getTime() - days * 86_400_000).toISOString().slice(0, 10);
    const [from, to, until] = [day(300), day(101), day(100)];
    const span = { from: `${from}T00:00:00Z`, to: `${until}T00:00:00Z` };
    const { rows } = await reader.json("recovery_analytics", { by: "country", currency: "JPY", ...span });
    const reply = await page.context().request.get(`/analytics.csv?by=country&currency=JPY&from=${from}&to=${to}`);
    const file = parseCsvRows(await reply.text());
    assert.ok(file.length > 3);
    const order = (a: unknown[], b: unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1);
    assert.deepEqual(
      rows
        .map((row: Fields) => [row.value, row.count, row.recovered, row.rate, row.failedAmount, row.recoveredAmount])
        .sort(order),
      file
        .map((row) => [
          ...[row.value, Number(row.invoices_or_retries), Number(row.recovered), Number(row.rate)],
          ...[row.failed_amount, row.recovered_amount],
        ])
        .sort(order),
    );
    const { items } = await reader.json("list_attention");
    await page.goto("/overview");
    const titles = await page
      .locator(".todo li > a")
      .evaluateAll((all) => all.map((each) => each.lastChild!.textContent));
    assert.deepEqual(
      items.map(({ title }: Fields) => title),
      titles,
    );
    const explained = await reader.json("explain_invoice", { invoiceId: large });
    await page.goto(`/invoices/${large}`);
    const asked = await page
      .locator(".asked details")
      .evaluateAll((all) => all.map((each) => [...each.children].map(({ textContent }) => textContent!)));
    assert.ok(asked.length > 3);
    for (const [question, ...sentences] of asked)
      assert.deepEqual(explained.answers.find((each: Fields) => each.question === question)?.sentences, sentences);
    const { recoveryActions } = await reader.json("list_recovery_actions", { pageSize: 100 });
    await page.goto("/actions");
    assert.ok(recoveryActions.length >= 3);
    assert.match(await page.locator(".list-sum").innerText(), new RegExp(`^${recoveryActions.length} actions\\b`));
    for (const tool of ["recovery_analytics", "list_recovery_actions", "explain_invoice"]) {
      const refused = await weak.call(tool, tool === "explain_invoice" ? { invoiceId: large } : {});
      assert.equal(refused.isError, true, tool);
      assert.match(refused.text, /lacks the permission read:/);
    }
    assert.equal((await weak.call("list_attention")).isError, false);
  } finally {
    await Promise.all([reader.close(), weak.close()]);
  }
});
