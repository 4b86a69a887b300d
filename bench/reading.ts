import type { Prepared } from "./ingest-load.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { BATCH } from "./invoice-batches.ts";
import { startPart } from "./part.ts";
import { countFor, type Round, report, round } from "./rounds.ts";

const TARGET = 0.65;
const WARM_UP = 300;

/**
 * Invoices that the API reads per second when nothing is stored (key, limits, checks of every field, logs), against bare HTTPS whose
 * handler calls JSON.parse and answers.
 */
export async function benchReading(quick: boolean) {
  const service = await startPart("reading-service.ts");
  const load = await startPart("ingest-load.ts");
  try {
    const facts = await service.ask<IngestFacts>("facts");
    await load.ask("connect", facts);
    console.log(`\nreading: ${BATCH} invoices per request, 8 kept-alive HTTPS connections, nothing stored`);
    let batches = WARM_UP;
    let sent = 0;
    const run = async (way: Prepared["way"]): Promise<Round> => {
      const { records } = await load.ask<{ records: number }>("prepare", { way, mix: "history", batches });
      sent += records;
      return round(records, { service: service.pid, PostgreSQL: facts.postmaster, load: load.pid }, () =>
        load.ask<number>("run"),
      );
    };
    await run("bare");
    await run("https");
    const { perSecond } = await run("https");
    batches = countFor(perSecond / BATCH, 0.5, 4);
    const [ours, ceiling]: [Round[], Round[]] = [[], []];
    for (let i = 0; i < (quick ? 5 : 21); i++) {
      ours.push(await run("https"));
      ceiling.push(await run("bare"));
    }
    report({ name: "reading, all PAID; ceiling: TLS, HTTP and JSON.parse", ours, ceiling, target: TARGET }, "records");
    const read = await service.ask<number>("read");
    if (read !== sent) throw new Error(`${read} of ${sent} records were read`);
  } finally {
    await load.stop();
    await service.stop();
  }
}
