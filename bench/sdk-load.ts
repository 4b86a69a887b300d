// A process of `bench:sdk`: pushes invoices by the SDK's client or by hand.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { type Client, createClient, type Invoice } from "#sdk";
import type { IngestFacts } from "./ingest-service.ts";
import { createInvoiceMaker } from "./invoice-batches.ts";
import { serveRequests } from "./worker-process.ts";

export interface Memory {
  heapMb: number;
  rssMb: number;
}

export interface MemoryRun {
  start: Memory;
  /** Maxima. */
  tenths: Memory[];
  end: Memory;
}

const BATCH = 100;
const IN_FLIGHT = 5;
const MB = 1024 * 1024;

const maker = createInvoiceMaker(Date.now());
let agent: https.Agent;
let client: Client;
let facts: IngestFacts;
let prepared: Invoice[] = [];

const toSdkInvoice = (invoice: { state: string; createdAt: Date; updatedAt: Date }) =>
  ({
    ...invoice,
    state: `INVOICE_STATE_${invoice.state}`,
    createdAt: invoice.createdAt.toISOString(),
    updatedAt: invoice.updatedAt.toISOString(),
  }) as Invoice;

/** The minimum that works: no pacing, retries, timeouts or error handling. */
async function postInLoop(records: readonly Invoice[]) {
  let next = 0;
  const lane = async () => {
    while (next < records.length) {
      const batch = records.slice(next, next + BATCH);
      next += BATCH;
      const body = Buffer.from(JSON.stringify({ invoices: batch }));
      const headers = {
        authorization: `Bearer ${facts.apiKey}`,
        "content-type": "application/json",
        "content-length": body.length,
      };
      const request = https.request(`https://127.0.0.1:${facts.port}/ingest/v1/invoices`, {
        method: "POST",
        agent,
        headers,
      });
      request.end(body);
      const [response] = (await once(request, "response")) as [IncomingMessage];
      let text = "";
      for await (const chunk of response) text += chunk;
      if (response.statusCode !== 200 || !JSON.parse(text).requestId) throw new Error(text);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

function* generateInvoices(count: number): Generator<Invoice> {
  const at = new Date().toISOString();
  const money = { amount: 4900, currency: "EUR", createdAt: at, updatedAt: at };
  const run = Date.now();
  for (let n = 0; n < count; n++)
    yield { id: `in_${run}_${n}`, state: "INVOICE_STATE_PAID", customerId: `cus_${n % 5000}`, ...money };
}

function readMemory(): Memory {
  const { heapUsed, rss } = process.memoryUsage();
  return { heapMb: heapUsed / MB, rssMb: rss / MB };
}

serveRequests({
  connect(given: IngestFacts) {
    facts = given;
    agent = new https.Agent({ keepAlive: true, maxSockets: IN_FLIGHT, ca: facts.ca });
    const baseUrl = `https://127.0.0.1:${facts.port}`;
    client = createClient({ baseUrl, apiKey: facts.apiKey, ca: facts.ca, requestsPerSecond: 100_000 });
  },
  prepare(count: number) {
    prepared = maker
      .batches("history", Math.ceil(count / 200), true)
      .flat()
      .slice(0, count)
      .map(toSdkInvoice);
  },
  async run(way: "sdk" | "loop") {
    const startedMs = performance.now();
    if (way === "loop") await postInLoop(prepared);
    else await client.ingest.invoices(prepared);
    return performance.now() - startedMs;
  },
  async memory(count: number): Promise<MemoryRun> {
    prepared = [];
    const start = readMemory();
    const tenths: Memory[] = [];
    let done = 0;
    let most = { heapMb: 0, rssMb: 0 };
    await client.ingest.invoices(generateInvoices(count), {
      onBatch({ records }) {
        done += records;
        const { heapMb, rssMb } = readMemory();
        most = { heapMb: Math.max(most.heapMb, heapMb), rssMb: Math.max(most.rssMb, rssMb) };
        if (done < ((tenths.length + 1) * count) / 10) return;
        tenths.push(most);
        most = { heapMb: 0, rssMb: 0 };
      },
    });
    return { start, tenths, end: readMemory() };
  },
});
