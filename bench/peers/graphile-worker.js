// graphile-worker with a delivery log, as a process of `bench:delivery`.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { eventBodies } from "../event-bodies.ts";
import { answer } from "../worker-process.ts";
import { createBatches, createTable, lineOf, writeOne } from "./delivery-log.js";
import { clock, createPosting, until } from "./posting.js";

const CHUNK = 1_000;
const quiet = new Logger(() => () => {});
/** As its performance guide advises. */
const WAYS = {
  best: (concurrentJobs) => ({
    concurrentJobs,
    maxPoolSize: 10,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  }),
  defaults: () => ({}),
};

let pool;
let utils;
let posting;
let batches;
let bodies;
let serial = 0;
let done = 0;

async function deliver({ event, body }) {
  const startedAt = new Date();
  const line = lineOf(event, 1, startedAt, await posting.post(body));
  return line;
}

/** A job is done when its line is in the log, or a crash could lose the line. */
const TASKS = {
  best: async (payload) => {
    await batches.add(await deliver(payload));
    done++;
  },
  defaults: async (payload, { withPgClient }) => {
    const line = await deliver(payload);
    await withPgClient((client) => writeOne(client, line));
    done++;
  },
};

answer(
  {
    async open({ database, endpoint, connections }) {
      pool = new pg.Pool({ ...database, max: 10 });
      // It asks for both.
      pool.on("error", () => {});
      pool.on("connect", (client) => client.on("error", () => {}));
      await createTable(pool);
      utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
      await utils.migrate();
      posting = createPosting(endpoint, connections);
      batches = createBatches(pool);
      bodies = eventBodies(1_000);
    },
    async prepare({ count }) {
      await pool.query("truncate graphile_worker._private_jobs");
      for (let left = count; left > 0; left -= CHUNK) {
        const jobs = Array.from({ length: Math.min(CHUNK, left) }, () => {
          serial++;
          return { identifier: "deliver", payload: { event: `event_${serial}`, body: bodies[serial % bodies.length] } };
        });
        await utils.addJobs(jobs);
      }
      await pool.query("vacuum analyze graphile_worker._private_jobs");
      await pool.query("vacuum analyze delivery_log");
    },
    async run({ way, count, limitMs, concurrency }) {
      done = 0;
      const worker = WAYS[way](concurrency);
      const taskList = { deliver: TASKS[way] };
      const runner = await run({ pgPool: pool, taskList, noHandleSignals: true, logger: quiet, preset: { worker } });
      const left = async () => (await pool.query("select 1 from graphile_worker._private_jobs limit 1")).rowCount;
      await until(limitMs, async () => done >= count && (await left()) === 0);
      const endAt = clock();
      const completed = done;
      await runner.stop();
      return { done: completed, endAt };
    },
  },
  async () => {
    await pool?.end();
    await posting?.close();
  },
);
