import type { Endpoint } from "./delivery-receiver.ts";
import { itemCountFor, measureRound, printComparison, type Round } from "./measure-rounds.ts";
import type { DatabaseFacts } from "./scratch-database.ts";
import { type BenchProcess, startBenchProcess } from "./worker-process.ts";

const TARGET = 0.35;
/** For Dunlin and for the ceiling. */
const IN_FLIGHT = 100;
const MERCHANTS = 20;
const WARM_UP = 4_000;

interface BenchProcesses {
  service: BenchProcess;
  receiver: BenchProcess;
  loop: BenchProcess;
  facts: DatabaseFacts;
}

interface Scenario {
  name: string;
  from: number;
  to: number;
}

const SCENARIOS: Scenario[] = [
  { name: `${MERCHANTS} merchants with the default cap of ${IN_FLIGHT / MERCHANTS} each`, from: 0, to: MERCHANTS },
  { name: `1 merchant with a cap of ${IN_FLIGHT}`, from: MERCHANTS, to: MERCHANTS + 1 },
];

/** Measures events per second from the decision's transaction over HTTPS to the delivery log, against undici alone. */
export async function benchDelivery(quick: boolean) {
  const started = [];
  try {
    const service = await startBenchProcess("delivery-service.ts");
    started.push(service);
    const receiver = await startBenchProcess("delivery-receiver.ts");
    started.push(receiver);
    const loop = await startBenchProcess("delivery-loop.ts");
    started.push(loop);
    const endpoint = await receiver.ask<Endpoint>("endpoint");
    const facts = await service.ask<DatabaseFacts>("facts");
    const caps = [...Array(MERCHANTS).fill(IN_FLIGHT / MERCHANTS), IN_FLIGHT];
    await service.ask("begin", { endpoint, caps });
    await loop.ask("open", { endpoint, connections: IN_FLIGHT });
    console.log(`\ndelivery: events of 0.3 kB, ${IN_FLIGHT} requests in flight, HTTPS kept alive; ${facts.server}`);
    for (const scenario of SCENARIOS) await compare({ service, receiver, loop, facts }, scenario, quick);
  } finally {
    for (const part of started.reverse()) await part.stop();
  }
}

async function compare(parts: BenchProcesses, scenario: Scenario, quick: boolean) {
  // Unmeasured.
  await postWithoutDunlin(parts, WARM_UP);
  await deliver(parts, scenario, WARM_UP);
  const { perSecond } = await deliver(parts, scenario, WARM_UP);
  const count = itemCountFor(perSecond, quick ? 0.5 : 1.5, MERCHANTS);
  const ours: Round[] = [];
  const ceiling: Round[] = [];
  for (let i = 0; i < (quick ? 3 : 5); i++) {
    ours.push(await deliver(parts, scenario, count));
    ceiling.push(await postWithoutDunlin(parts, count));
  }
  printComparison(
    { name: `delivery, ${scenario.name}; ceiling: undici.request alone`, ours, ceiling, target: TARGET },
    "events",
  );
}

async function deliver(
  { service, receiver, facts }: BenchProcesses,
  { from, to }: Scenario,
  count: number,
): Promise<Round> {
  await service.ask("tidy");
  const [before, loggedBefore] = [await receiver.ask<number>("received"), await service.ask<number>("logged")];
  await service.ask("prepare", { count, from, to });
  const pids = { deliverer: service.pid, PostgreSQL: facts.postmaster, receiver: receiver.pid };
  const measured = await measureRound(count, pids, async () => {
    const startedMs = performance.now();
    await service.ask("create");
    await receiver.ask("reached", before + count);
    await service.ask("recorded");
    return performance.now() - startedMs;
  });
  const [sent, logged] = [(await receiver.ask<number>("received")) - before, await service.ask<number>("logged")];
  if (sent !== count || logged - loggedBefore !== count)
    throw new Error(`${sent} of ${count} events were sent, and ${logged - loggedBefore} logged as delivered`);
  return measured;
}

const postWithoutDunlin = ({ loop, receiver }: BenchProcesses, count: number): Promise<Round> =>
  measureRound(count, { loop: loop.pid, receiver: receiver.pid }, () =>
    loop.ask<number>("run", { count, inFlight: IN_FLIGHT }),
  );
