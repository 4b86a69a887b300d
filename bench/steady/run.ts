// `npm run bench -- ingest`: a steady load on the whole service in one process.
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import { prepared } from "../../src/postgres/database.ts";
import { measureCpu } from "../cpu-time.ts";
import { startBenchService } from "../delivery/bench-service.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { BATCH } from "../invoice-batches.ts";
import { startBenchProcess } from "../worker-process.ts";
import type { LatencySeries, SteadyOptions, SteadyResult } from "./steady-load.ts";

const P99_MS = 250;
const PER_SECOND = 100;

const { values } = parseArgs({ options: { quick: { type: "boolean" }, seconds: { type: "string", default: "300" } } });
const seconds = values.quick ? 20 : Number(values.seconds);
if (!(seconds >= 1)) {
  console.error("bench:ingest: use --seconds 300 or --quick");
  process.exit(2);
}

const STORED = prepared(
  "bench_stored",
  `select (select count(*) from invoices) as invoices, (select count(*) from cases) as cases,
     (select count(*) from recovery_actions) as actions, (select count(*) from delivery_attempts where ends = 'delivered') as delivered`,
);
const ms = (value: number) => `${value.toFixed(0)} ms`;
const line = (name: string, { requests, errors, p50, p99, most }: LatencySeries) =>
  console.log(
    `${name}  ${requests.toLocaleString("en")} requests, ${errors.length} errors${errors.map((error) => `; ${error}`).join("")}; p50 ${ms(p50)}, p99 ${ms(p99)}, most ${ms(most)}`,
  );

console.log(
  `${availableParallelism()} cores (${cpus()[0]?.model}), load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}`,
);
const receiver = await startBenchProcess("delivery-receiver.ts");
const load = await startBenchProcess("steady/steady-load.ts");
try {
  const endpoint = await receiver.ask<Endpoint>("endpoint");
  const stage = await startBenchService(endpoint, {}, "api,decide,deliver");
  try {
    const { db, secretKeys, ports } = stage.store;
    const webhookUrl = `https://127.0.0.1:${endpoint.port}/hooks`;
    const limits = { ratePerSecond: 1_000, rateBurst: 1_000, webhookCap: 50 };
    const credential = { auth: "bearer" as const, secret: "a-token-of-some-length" };
    const merchant = await createMerchant(db, "Bench", { webhookUrl, credential, ...limits }, secretKeys, ports);
    const { apiKey } = await createApiKey(
      db,
      { merchantId: merchant.id, permissions: ["ingest:invoices", "read:recovery_actions"] },
      ports,
    );
    const ca = readFileSync(join(stage.dataDir, "tls", "ca.pem"), "utf8");
    console.log(
      `${PER_SECOND} requests per second with ${BATCH} invoices each, 1% of them unpaid, for ${seconds} s; ${stage.facts.server}`,
    );
    const given: SteadyOptions = { port: stage.port, ca, apiKey, seconds, perSecond: PER_SECOND };
    const pids = {
      service: stage.service.pid,
      PostgreSQL: stage.facts.postmaster,
      load: load.pid,
      receiver: receiver.pid,
    };
    await load.ask("prepare", given);
    const { result, cpuMs, otherCores } = await measureCpu(pids, () =>
      load.ask<SteadyResult>("run", given, (seconds + 120) * 1_000),
    );
    line("ingest", result.ingest);
    line("list  ", result.list);
    const stored = (await db.run<Record<"invoices" | "cases" | "actions" | "delivered", number>>(STORED)).rows[0]!;
    console.log(
      `stored ${stored.invoices.toLocaleString("en")} invoices and ${stored.cases.toLocaleString("en")} cases, planned ${stored.actions.toLocaleString("en")} actions, delivered ${stored.delivered.toLocaleString("en")} webhooks meanwhile`,
    );
    const cores = Object.entries(cpuMs).map(([name, used]) => `${name} ${(used / 1_000 / seconds).toFixed(2)}`);
    console.log(`cores busy: ${cores.join(", ")}, others ${otherCores.toFixed(2)}; ${result.connections} connections`);
    const met = result.ingest.p99 <= P99_MS && result.ingest.errors.length === 0;
    console.log(`target p99 <= ${P99_MS} ms, no error: ${met ? "met" : "MISSED"}`);
    if (result.ingest.errors.length === 0 && stored.invoices !== result.fresh)
      throw new Error(`stored ${stored.invoices} of ${result.fresh} invoices`);
  } finally {
    await stage.close();
  }
} finally {
  await load.stop();
  await receiver.stop();
}
