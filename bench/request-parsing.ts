import type { LoadPlan } from "./ingest-load.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { BATCH } from "./invoice-batches.ts";
import { itemCountFor, measureRound, printComparison, type Round } from "./measure-rounds.ts";
import { startBenchProcess } from "./worker-process.ts";

const TARGET = 0.65;
const WARM_UP = 300;

/** Measures invoices per second that the API checks and logs, against bare HTTPS with JSON.parse. */
export async function benchRequestParsing(quick: boolean) {
  const service = await startBenchProcess("request-parsing-service.ts");
  const load = await startBenchProcess("ingest-load.ts");
  try {
    const facts = await service.ask<IngestFacts>("facts");
    await load.ask("connect", facts);
    console.log(`\nreading: ${BATCH} invoices per request, 8 kept-alive HTTPS connections, nothing stored`);
    let batches = WARM_UP;
    let sent = 0;
    const run = async (way: LoadPlan["way"]): Promise<Round> => {
      const { records } = await load.ask<{ records: number }>("prepare", { way, mix: "history", batches });
      sent += records;
      return measureRound(records, { service: service.pid, PostgreSQL: facts.postmaster, load: load.pid }, () =>
        load.ask<number>("run"),
      );
    };
    await run("bare");
    await run("https");
    const { perSecond } = await run("https");
    batches = itemCountFor(perSecond / BATCH, 0.5, 4);
    const [ours, ceiling]: [Round[], Round[]] = [[], []];
    for (let i = 0; i < (quick ? 5 : 21); i++) {
      ours.push(await run("https"));
      ceiling.push(await run("bare"));
    }
    printComparison(
      { name: "reading, all PAID; ceiling: TLS, HTTP and JSON.parse", ours, ceiling, target: TARGET },
      "records",
    );
    const read = await service.ask<number>("read");
    if (read !== sent) throw new Error(`${read} of ${sent} records were read`);
  } finally {
    await load.stop();
    await service.stop();
  }
}
