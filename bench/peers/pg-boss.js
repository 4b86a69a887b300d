// pg-boss as a process of `bench:delivery`. Its completed jobs are its log.
import pg from "pg";
import { PgBoss } from "pg-boss";
import { eventBodies } from "../event-bodies.ts";
import { answer } from "../worker-process.ts";
import { clock, createPosting, until } from "./posting.js";

const QUEUE = "deliver";
const CHUNK = 1_000;
const BATCH = 500;
/** POSTs go on while one batch is fetched and another completed. */
const PIPELINES = 2;

let pool;
let boss;
let posting;
let bodies;
let serial = 0;

/** In batches, as its API offers for throughput. */
async function byHand(count, concurrency) {
  let done = 0;
  const pipeline = async () => {
    for (;;) {
      const jobs = await boss.fetch(QUEUE, { batchSize: BATCH });
      if (jobs.length === 0) return;
      const waiting = jobs.values();
      const sender = async () => {
        for (const { data } of waiting) await posting.post(data.body);
      };
      await Promise.all(Array.from({ length: concurrency }, sender));
      await boss.complete(
        QUEUE,
        jobs.map(({ id }) => id),
      );
      done += jobs.length;
    }
  };
  await Promise.all(Array.from({ length: PIPELINES }, pipeline));
  if (done < count) throw new Error(`${done} of ${count} jobs done`);
  return { done, endAt: clock() };
}

async function byWork(count, limitMs, options) {
  let posted = 0;
  await boss.work(QUEUE, options, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => posting.post(data.body)));
    posted += jobs.length;
  });
  const completed = async () =>
    (await pool.query("select count(*)::int as n from pgboss.job where name = $1 and state = 'completed'", [QUEUE]))
      .rows[0].n;
  await until(limitMs, async () => posted >= count && (await completed()) >= count);
  const endAt = clock();
  await boss.offWork(QUEUE);
  return { done: await completed(), endAt };
}

answer(
  {
    async open({ database, endpoint, connections }) {
      pool = new pg.Pool({ ...database, max: 2 });
      boss = new PgBoss({ ...database, max: 10 });
      boss.on("error", (error) => console.error(error));
      await boss.start();
      await boss.createQueue(QUEUE);
      posting = createPosting(endpoint, connections);
      bodies = eventBodies(1_000);
    },
    async prepare({ count }) {
      await boss.deleteAllJobs(QUEUE);
      for (let left = count; left > 0; left -= CHUNK) {
        const jobs = Array.from({ length: Math.min(CHUNK, left) }, () => {
          serial++;
          return { data: { event: `event_${serial}`, body: bodies[serial % bodies.length] } };
        });
        await boss.insert(QUEUE, jobs);
      }
      await pool.query("vacuum analyze");
    },
    run({ way, count, limitMs, concurrency }) {
      if (way === "best") return byHand(count, concurrency / PIPELINES);
      if (way === "work") return byWork(count, limitMs, { batchSize: concurrency, burstWhenBatchFull: true });
      return byWork(count, limitMs, {});
    },
  },
  async () => {
    await boss?.stop({ graceful: false });
    await pool?.end();
    await posting?.close();
  },
);
