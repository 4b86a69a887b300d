import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Merchant } from "../../domain/merchant.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { uuidV7 } from "../../process/clock.ts";
import { type LoggedRequest, logRequests } from "../../tables/request-log.ts";
import { createTestConsole, SECRET_KEYS } from "../console.fixture.ts";

const at = await createTestConsole();
after(() => at.close());

let merchant: Merchant;
let logged = 0;
const newShop = () => createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
beforeEach(async () => {
  merchant = await newShop();
});

/** Logs requests a second apart. */
async function log(over: Partial<LoggedRequest>, of = merchant) {
  const moment = new Date(at.ports.now().getTime() + ++logged * 1_000);
  const request = { merchantId: of.id, id: uuidV7(moment, 0, Buffer.alloc(8)), at: moment, callerRequestId: null };
  const asked = { keyId: null, method: "POST", route: "/v1/invoices:batchUpsert", status: 200, durationUs: 1_000 };
  const none = { records: null, stored: null, older: null, error: null };
  await logRequests(at.db, [{ ...request, ...asked, ...none, ...over }]);
}

const page = async (query = "") =>
  (await (await at.browser(await at.person("viewer", merchant))).get(`/requests${query}`)).body;

/** Returns the text of each row's cells without the time and the id. */
const rowsOn = (body: string) =>
  [...body.matchAll(/<tr><td.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].slice(1).map(([, cell]) => cell!.replace(/<[^>]+>/g, "").trim()),
  );

test("requests are listed newest first with the records they stored, left unchanged and ignored as older", async () => {
  await log({ records: 200, stored: 180, older: 3 });
  await log({ status: 400, error: "invoices[0].id is required" });
  await log({ records: 5, method: "GET", route: "/v1/recovery_actions" });
  await log({ records: 1, stored: 1, older: 0 }, await newShop());
  const body = await page();
  assert.deepEqual(rowsOn(body), [
    ["GET /v1/recovery_actions", "200", "5", "", "", ""],
    ["POST /v1/invoices:batchUpsert", "400 invoices[0].id is required", "", "", "", ""],
    ["POST /v1/invoices:batchUpsert", "200", "200", "180", "17", "3"],
  ]);
  assert.match(body, />req_[0-9a-f-]{36}</);
});

test("filters show only refused requests, or only those with records ignored as older", async () => {
  await log({ records: 2, stored: 2, older: 0 });
  await log({ records: 2, stored: 1, older: 1 });
  await log({ status: 429, error: "slow down" });
  const answers = async (show: string) =>
    rowsOn(await page(`?show=${show}`)).map(([, answer, ...counts]) => [answer, counts.at(-1)]);
  assert.deepEqual(await answers("refused"), [["429 slow down", ""]]);
  assert.deepEqual(await answers("older"), [["200", "1"]]);
  assert.match(await page("?show=all"), /must be one of refused, older/);
});

test("a page has fifty requests and the next one continues after them", async () => {
  for (let n = 1; n <= 51; n++) await log({ records: n, stored: n, older: 0 });
  const first = await page();
  assert.equal(rowsOn(first).length, 50);
  const next = /href="\/requests(\?before=[^"]+)"/.exec(first)![1]!;
  assert.deepEqual(
    rowsOn(await page(next)).map(([, , records]) => records),
    ["1"],
  );
});

test("the page says when there is no request or none matches the filter", async () => {
  assert.match(await page(), /No request yet/);
  assert.match(await page("?show=older"), /No request matches this filter/);
});
