// BullMQ as a process of `bench:delivery`; its Redis syncs each write to its append-only file.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { eventBodies } from "../event-bodies.ts";
import { answer } from "../worker-process.ts";
import { clock, createPosting, until } from "./posting.js";

const QUEUE = "deliver";
const CHUNK = 1_000;

let folder;
let server;
let queue;
let posting;
let bodies;
let serial = 0;

const connect = () => new Redis(join(folder, "redis.sock"), { maxRetriesPerRequest: null });

async function startRedis() {
  folder = await mkdtemp(join(tmpdir(), "dunlin-bench-redis-"));
  await chmod(folder, 0o755);
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const place = ["--dir", folder, "--port", "0", "--unixsocket", join(folder, "redis.sock")];
  server = spawn("redis-server", [...place, ...durable], { stdio: "ignore" });
  await once(server, "spawn");
  await until(5_000, () => existsSync(join(folder, "redis.sock")));
}

answer(
  {
    available: () => spawnSync("redis-server", ["--version"]).status === 0,
    async open({ endpoint, connections }) {
      await startRedis();
      queue = new Queue(QUEUE, { connection: connect() });
      posting = createPosting(endpoint, connections);
      bodies = eventBodies(1_000);
      return { redis: server.pid };
    },
    async prepare({ count, way }) {
      await queue.obliterate({ force: true });
      // At its best it keeps no finished jobs, so it has no log.
      const opts = way === "best" ? { removeOnComplete: true } : {};
      for (let left = count; left > 0; left -= CHUNK) {
        const jobs = Array.from({ length: Math.min(CHUNK, left) }, () => {
          serial++;
          return { name: "deliver", data: { event: `event_${serial}`, body: bodies[serial % bodies.length] }, opts };
        });
        await queue.addBulk(jobs);
      }
    },
    async run({ way, count, limitMs, concurrency }) {
      let done = 0;
      const worker = new Worker(QUEUE, ({ data }) => posting.post(data.body), {
        connection: connect(),
        ...(way === "best" ? { concurrency } : {}),
      });
      worker.on("completed", () => done++);
      await until(limitMs, () => done >= count);
      const endAt = clock();
      const completed = done;
      await worker.close();
      return { done: completed, endAt };
    },
  },
  async () => {
    await posting?.close();
    if (server) {
      const exit = once(server, "exit");
      server.kill("SIGKILL");
      await exit;
    }
    if (folder) await rm(folder, { recursive: true, force: true });
  },
);
