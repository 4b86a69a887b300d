import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { listConnectorProblems } from "../../../src/tables/connections.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { createConnectorStore } from "../store.ts";
import { createOptOutLinks } from "./opt-out.ts";
import { createMessages, type MessageFacts } from "./send-messages.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database?.drop());

const FACTS: MessageFacts = {
  ...{ to: "anna@example.com", languages: [], brand: undefined, isOpen: true, name: "Anna", merchant: "Shop" },
  ...{ amount: "€49.00", number: "HC-1", card: "", payUrl: "https://pay.example/i" },
};

test("a problem is stored without the addresses in it", async () => {
  const merchantId = "01990000-0000-7000-8000-000000000001";
  const store = createConnectorStore(database.db, { merchantId, connection: "stripe" });
  const at = new Date("2026-03-01T12:00:00Z");
  const rendered = { language: "en", subject: "Pay", text: "", html: "" };
  const messages = createMessages({
    ...{ store, links: createOptOutLinks("https://pay.example", ["s"]), now: () => at },
    policy: { quietHours: { zone: "UTC", from: 0, to: 0 }, most: 1, everyDays: 1 },
    templates: { languages: ["en"], render: () => rendered },
    readFacts: async () => FACTS,
    sendMail: async () => "refused: 550 5.1.1 <anna@example.com>, anna.b@mail.example.com: unknown",
  });
  await store.own("in_1", at);
  await messages.askForCard({ id: "a-1", invoiceId: "in_1" } as never, "cus_1");
  await messages.sendDue();
  const [problem] = await listConnectorProblems(database.db, merchantId, "stripe", 5, at);
  assert.equal(problem!.problem, "refused: 550 5.1.1 <…>, …: unknown");
});
