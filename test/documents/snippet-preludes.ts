/** Code that a document's snippets assume: the reader's own program. */
export const PRELUDES: Record<string, string> = {};
const now = new Date().toISOString();

const COPY_PRELUDE = `
const stored: { actions: RecoveryAction[]; token: string | undefined } = { actions: [], token: undefined };
const copy = {
  async token() { return stored.token; },
  async store(actions: readonly RecoveryAction[], token: string) { stored.actions.push(...actions); stored.token = token; },
};`;
const CLIENT_PRELUDE = `
import { readFileSync } from "node:fs";
import { createClient } from "#sdk";
const dunlin = createClient({
  baseUrl: \`https://localhost:\${process.env.DUNLIN_PORT}\`,
  apiKey: process.env.DUNLIN_API_KEY!,
  ca: readFileSync("data/tls/ca.pem"),
});`;

PRELUDES["docs/guides/ingest.md"] = `${CLIENT_PRELUDE}
import type { Invoice } from "#sdk";
async function* rows(): AsyncGenerator<Invoice> {
  for (let n = 0; n < 250; n++)
    yield { id: \`row_\${n}\`, state: "INVOICE_STATE_PAID", customerId: "c", amount: 1, currency: "EUR", createdAt: "${now}" };
}
const cursorOverYourInvoices = rows();
let progressed = 0;
const progress = (records: number) => { progressed = records; };
process.on("exit", () => { if (progressed !== 250) throw new Error(\`\${progressed} records\`); });`;

PRELUDES["docs/guides/listing-and-sync.md"] = `${CLIENT_PRELUDE}
import type { RecoveryAction } from "#sdk";
${COPY_PRELUDE}
const executedAfter = "2026-01-01T00:00:00Z";
const executedBefore = "2199-01-01T00:00:00Z";
const reported: RecoveryAction[] = [];
const report = (action: RecoveryAction) => { reported.push(action); };
process.on("exit", () => {
  if (stored.actions.length < 1 || reported.length < 1) throw new Error("nothing was read");
});`;

PRELUDES["sdk/README.md"] = `
import { type Invoice, type RecoveryAction, type Subscription, type Transaction } from "#sdk";
import pg from "pg";
import { postgresEventStore } from "../sdk/examples/postgres-event-store.ts";
const subscriptions: Subscription[] = [];
const transactions: Transaction[] = [];
const invoices: Invoice[] = [{ id: "inv_1", state: "INVOICE_STATE_PAID", customerId: "cus_1", amount: 1, currency: "EUR", createdAt: "2026-01-01T00:00:00Z" }];
process.env.DUNLIN_WEBHOOK_TOKEN ??= "a-token";
${COPY_PRELUDE}
const planRetry = async (id: string, data: { invoiceId: string; idealRetryTime: string }) => { console.log(id, data.idealRetryTime); };
const stopOwnRetries = async (invoiceId: string) => { console.log(invoiceId); };
const endDunning = async (invoiceId: string) => { console.log(invoiceId); };
const cert = readFileSync("data/tls/cert.pem");
const key = readFileSync("data/tls/key.pem");
const auth = { bearer: "a-token" };
const pool = new pg.Pool(); // opened when an event comes`;
