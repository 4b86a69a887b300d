// A process of `bench:ingest`: sends batches evenly, regardless of answer times, and lists meanwhile.
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";
import { openPoster } from "../https-posts.ts";
import { serveRequests } from "../worker-process.ts";
import { makePasses, type RequestPasses } from "./request-passes.ts";

export interface SteadyOptions {
  port: number;
  ca: string;
  apiKey: string;
  seconds: number;
  perSecond: number;
}

/** In milliseconds since a request was due. */
export interface LatencySeries {
  requests: number;
  errors: string[];
  p50: number;
  p99: number;
  most: number;
}

export interface SteadyResult {
  ingest: LatencySeries;
  list: LatencySeries;
  /** Each must be a row. */
  fresh: number;
  connections: number;
}

type Poster = Awaited<ReturnType<typeof openPoster>>;

const LISTS_PER_SECOND = 5;
/** More than an SDK client has. A request's wait while all are busy counts. */
const CONNECTIONS_MAX = 16;
/** 100,000 invoices, which the next pass changes. */
const PASS_SIZE = 1_000;

/** Then the figures say nothing about the service. */
const MAX_SENDER_DELAY_MS = 1_000;
const LISTS = [
  "",
  "orderBy=updated_at",
  "status=RECOVERY_ACTION_STATUS_SCHEDULED&orderDirection=asc",
  "currency=EUR&pageSize=50",
];

let passes: RequestPasses;

function seriesOf(taken: number[], errors: string[]): LatencySeries {
  const sorted = taken.sort((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
  return {
    requests: taken.length + errors.length,
    errors: errors.slice(0, 5),
    p50: at(0.5),
    p99: at(0.99),
    most: at(1),
  };
}

/** Latency counts from when each run is due. */
async function runAtEvenRate(seconds: number, perSecond: number, work: (index: number) => Promise<void>) {
  const taken: number[] = [];
  const errors: string[] = [];
  const all: Promise<void>[] = [];
  const beganMs = performance.now();
  for (let index = 0; index < seconds * perSecond; index++) {
    const dueMs = beganMs + (index * 1_000) / perSecond;
    const earlyMs = dueMs - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    if (-earlyMs > MAX_SENDER_DELAY_MS) errors.push(`sent ${Math.round(-earlyMs)} ms late`);
    const done = work(index).then(
      () => void taken.push(performance.now() - dueMs),
      (error) => void errors.push(String(error)),
    );
    all.push(done);
  }
  await Promise.all(all);
  return seriesOf(taken, errors);
}

/** Also stores invoices for the first requests to change. */
async function prepare({ port, ca, apiKey }: SteadyOptions) {
  passes = makePasses(apiKey, PASS_SIZE);
  const poster = await openPoster(port, ca);
  for (const request of passes.first) await poster.post(request);
  poster.close();
}

async function run({ port, ca, apiKey, seconds, perSecond }: SteadyOptions): Promise<SteadyResult> {
  const idle: Poster[] = [];
  const waiting: ((poster: Poster | Promise<Poster>) => void)[] = [];
  let connections = 0;
  async function take(): Promise<Poster> {
    const poster = idle.shift(); // in turn, so that none is idle until the service closes it
    if (poster) return poster;
    if (connections === CONNECTIONS_MAX) return new Promise((resolve) => waiting.push(resolve));
    connections++;
    return open();
  }
  const open = () =>
    openPoster(port, ca).catch((error) => {
      connections--;
      throw error;
    });
  const push = async (index: number) => {
    const poster = await take();
    // After a failure, the next waiter gets a new connection.
    const failed = await poster.post(passes.request(index)).then(
      () => null,
      (error: Error) => error,
    );
    const next = waiting.shift();
    if (failed) poster.close();
    if (next) next(failed ? open() : poster);
    else if (failed) connections--;
    else idle.push(poster);
    if (failed) throw failed;
  };
  const lister = new Client(`https://127.0.0.1:${port}`, { connect: { ca }, allowH2: false });
  const list = async (index: number) => {
    const path = `/v1/recovery_actions?${LISTS[index % LISTS.length]}`;
    const headers = { authorization: `Bearer ${apiKey}` };
    const { statusCode, body } = await lister.request({ method: "GET", path, headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`the list answered ${statusCode}`);
  };
  const [ingest, listed] = await Promise.all([
    runAtEvenRate(seconds, perSecond, push),
    runAtEvenRate(seconds, LISTS_PER_SECOND, list),
  ]);
  for (const poster of idle) poster.close();
  await lister.close();
  return { ingest, list: listed, fresh: passes.fresh(seconds * perSecond), connections };
}

serveRequests({ prepare, run });
