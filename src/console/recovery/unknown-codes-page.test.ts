import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { DAY_MS } from "../../domain/durations.ts";
import type { Merchant } from "../../domain/merchant.ts";
import type { Transaction } from "../../domain/transaction.ts";
import { parseRules } from "../../engine/rules/rule-overrides.ts";
import { ingestTransactions } from "../../ingest/ingest.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { createTestConsole, SECRET_KEYS } from "../console.fixture.ts";

const at = await createTestConsole();
after(() => at.close());

let merchant: Merchant;
let ids = 0;
const newShop = () => createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
beforeEach(async () => {
  merchant = await newShop();
});

/** Pushes a decline from `days` days ago. */
async function decline(over: Partial<Transaction>, days = 0, of = merchant) {
  const createdAt = new Date(at.ports.now().getTime() - days * DAY_MS);
  const money = { invoiceId: "in_1", amount: 4900, currency: "EUR" };
  const attempt = { id: `txn_${++ids}`, state: "FAILED" as const, ...money, createdAt, updatedAt: createdAt };
  const card = { paymentMethodType: "card", cardBrand: "visa" };
  await ingestTransactions(at.db, of, [[{ ...attempt, ...card, ...over }]], at.ports, () => {});
}

const page = async () => (await (await at.browser(await at.person("viewer", merchant))).get("/decline_codes")).body;
const unescaped = (text: string) => text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&amp;", "&");
const rulesOn = (body: string) => unescaped(/aria-label="Rules">(.*?)<\/pre>/s.exec(body)?.[1] ?? "");

test("an unknown code is listed with its gateway, its count and the time of its last decline", async () => {
  await decline({ paymentGatewayName: "Acme", paymentGatewayErrorCode: "card_eaten" }, 3);
  await decline({ paymentGatewayName: "Acme", paymentGatewayErrorCode: "card_eaten", networkDeclineCode: "05" }, 2);
  await decline({ networkDeclineCode: "Q9" });
  const rows = [...(await page()).matchAll(/<tr><td.*?<\/tr>/gs)].map(([row]) =>
    row
      .replace(/<time.*?<\/time>/gs, "then")
      .split(/<[^>]+>/)
      .filter((cell) => cell.trim() !== ""),
  );
  assert.deepEqual(rows, [
    ["Acme", "card_eaten", "Gateway code", "2", "then"],
    ["not named", "Q9", "Network code", "1", "then"],
  ]);
});

test("the suggested rules are refused until each has a group, and then give the codes their groups", async () => {
  await decline({ paymentGatewayName: "Acme", paymentGatewayErrorCode: "card_eaten" });
  await decline({ paymentGatewayName: "Acme", paymentGatewayErrorCode: "77" });
  await decline({ paymentGatewayName: "NMI", paymentGatewayErrorCode: "299" });
  await decline({ networkDeclineCode: "Q9" });
  await decline({ networkAdviceCode: "77", cardBrand: "mastercard" });
  const text = rulesOn(await page());
  assert.equal(parseRules(text).problems.length, 5);
  const { rules, problems } = parseRules(text.replaceAll("GROUP", "HARD_CARD"));
  assert.deepEqual(problems, []);
  assert.deepEqual(rules!.gatewayCodes.map(([code]) => code).sort(), ["Acme 77", "card_eaten", "nmi 299"]);
  assert.deepEqual(
    rules!.responseCodes.map(([code, { category, group }]) => [code, category, group]),
    [["Q9", 4, "HARD_CARD"]],
  );
  assert.deepEqual(
    rules!.advice.map(({ code, group }) => [code, group]),
    [["77", "HARD_CARD"]],
  );
});

test("a code is not listed when it is known, gives no reason, is older than 90 days or belongs to another merchant", async () => {
  await decline({ paymentGatewayErrorCode: "lostCard", networkDeclineCode: "51" });
  await decline({ paymentGatewayErrorCode: "card_declined" });
  await decline({ paymentGatewayErrorCode: "51", networkDeclineCode: "51" });
  await decline({ paymentGatewayName: "Checkout.com", paymentGatewayErrorCode: "20051" });
  await decline({ paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "AC04" });
  await decline({ paymentGatewayErrorCode: "card_eaten", state: "PENDING" });
  await decline({ paymentGatewayErrorCode: "card_eaten", state: "PAID" });
  await decline({ paymentGatewayErrorCode: "card_eaten" }, 91);
  await decline({ paymentGatewayErrorCode: "card_eaten" }, 0, await newShop());
  assert.match(await page(), /Dunlin knows every decline code from the last 90 days/);
});

test("a code with control characters or markup is shown harmlessly and left out of the suggested rules", async () => {
  const script = "<script>alert(1)</script>\u202e\u001b[31m";
  await decline({ paymentGatewayName: "<b>Acme</b>", paymentGatewayErrorCode: script });
  const body = await page();
  assert.match(body, /&lt;b&gt;Acme&lt;\/b&gt;/);
  for (const harm of ["<script>alert", "\u202e", "\u001b"]) assert.ok(!body.includes(harm), JSON.stringify(harm));
  assert.doesNotMatch(rulesOn(body), /alert/);
});
