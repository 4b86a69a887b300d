// `npm run bench -- list`: every filter, order, direction and time range over one merchant's ten million actions.
import { availableParallelism, cpus, loadavg } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "undici";
import { measureCpu } from "../cpu-time.ts";
import { startBenchProcess } from "../worker-process.ts";
import { buildQueryCells, type QueryCell } from "./query-cells.ts";
import type { CountedListing, DeepPage, ListFacts } from "./service.ts";

const { values } = parseArgs({
  options: {
    actions: { type: "string", default: "10000000" },
    samples: { type: "string", default: "20" },
    quick: { type: "boolean" },
    // Created once and used again. Never removed.
    data: { type: "string" },
    only: { type: "string", default: "" },
  },
});
const actions = values.quick ? 200_000 : Number(values.actions);
const samples = values.quick ? 9 : Number(values.samples);
if (!(Number.isSafeInteger(actions) && actions >= 1_000 && Number.isSafeInteger(samples) && samples >= 3)) {
  console.error(
    'bench:list: write --actions 10000000 (1,000 or more), --samples 20 (3 or more), --data FOLDER, --only "a day", or --quick',
  );
  process.exit(2);
}

const PAGE_P50_MS = 10;
const PAGE_P99_MS = 50;
const TOTAL_P50_MS = 15;
const DEEP_RATIO = 1.3;
/** Not noticeable, and within a shared machine's noise. */
const NOISE_MS = 0.5;
/** A shorter list has no deep page. */
const DEEP_MIN = 1_000;
/** PostgreSQL plans a new statement five times per connection. */
const WARM_UP = 6;
const LIMIT_MS = 3_600_000;

const quantile = (sorted: readonly number[], q: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
const ms = (value: number) => value.toFixed(1).padStart(6);
const inMb = (bytes: number) => `${Math.round(bytes / 1e6).toLocaleString("en")} MB`;

/** The minimum is the time on an idle machine. */
interface Series {
  p50: number;
  p99: number;
  least: number;
}

/** `next` is the second page: the first one also counts. */
interface MeasuredCell {
  cell: QueryCell;
  total: number;
  exact: boolean;
  first: Series;
  next: Series | null;
  deep: Series | null;
  deepPage: string;
}

const load = loadavg()[0]!.toFixed(1);
console.log(`${availableParallelism()} cores (${cpus()[0]?.model}), load ${load}, Node ${process.version}`);
const until = new Date("2026-07-01T00:00:00Z");
const service = await startBenchProcess("list/service.ts", values.data ? [resolve(values.data)] : []);
try {
  const startedMs = performance.now();
  const facts = await service.ask<ListFacts>("make", { actions, until }, LIMIT_MS);
  console.log(
    `${actions.toLocaleString("en")} actions of one merchant after ${Math.round((performance.now() - startedMs) / 1000)} s: table ${inMb(facts.heap)}, indexes ${inMb(facts.indexes)}; ${facts.server}`,
  );
  await measureAll(facts);
} finally {
  await service.stop();
}

async function measureAll(facts: ListFacts) {
  const client = new Client(`https://127.0.0.1:${facts.port}`, { connect: { ca: facts.ca }, allowH2: false });
  console.log(`pages of 100 over one HTTPS connection, ${samples} requests each; p50, p99 and minimum in milliseconds`);
  console.log(`${"".padEnd(58)}${"total".padStart(13)}   first page           second page          deep page`);
  const totals = new Map<string, number>();
  const all: MeasuredCell[] = [];
  const { otherCores } = await measureCpu({ service: service.pid, PostgreSQL: facts.postmaster }, async () => {
    for (const cell of buildQueryCells(actions, until).filter(({ name }) => name.includes(values.only))) {
      const done = await measure(client, facts.apiKey, cell, totals);
      all.push(done);
      console.log(lineOf(done));
    }
  });
  await client.close();
  summarize(all);
  console.log(`other processes kept ${otherCores.toFixed(2)} cores busy meanwhile`);
}

async function measure(
  client: Client,
  apiKey: string,
  cell: QueryCell,
  totals: Map<string, number>,
): Promise<MeasuredCell> {
  const search = new URLSearchParams(cell.query).toString();
  const total = totals.get(cell.counted) ?? (await service.ask<CountedListing>("count", search, LIMIT_MS)).total;
  totals.set(cell.counted, total);
  const deep =
    total < DEEP_MIN ? null : await service.ask<DeepPage>("deep", { search, middle: cell.middle, total }, LIMIT_MS);
  const get = async (path: string) => {
    const beganMs = performance.now();
    const headers = { authorization: `Bearer ${apiKey}` };
    const { statusCode, body } = await client.request({ method: "GET", path: `/v1/recovery_actions?${path}`, headers });
    const reply = (await body.json()) as { recoveryActions: unknown[]; totalSize: number; nextPageToken: string };
    if (statusCode !== 200) throw new Error(`${statusCode}: ${JSON.stringify(reply)}`);
    return { reply, tookMs: performance.now() - beganMs };
  };
  const { reply } = await get(search);
  const paths = [search, reply.nextPageToken && `pageToken=${reply.nextPageToken}`, deep && `pageToken=${deep.token}`];
  const taken: number[][] = [[], [], []];
  // Interleaved, so that other load affects all of them.
  for (let round = -WARM_UP; round < samples; round++)
    for (const [index, path] of paths.entries()) {
      if (!path) continue;
      const { reply, tookMs } = await get(path);
      if (index === 2 && reply.recoveryActions.length !== 100) throw new Error(`a deep page of ${search} is not full`);
      if (round >= 0) taken[index]!.push(tookMs);
    }
  const [first, next, far] = taken.map(seriesOf);
  const exact = reply.totalSize === total;
  return { cell, total, exact, first: first!, next: next!, deep: far!, deepPage: deep?.page ?? "" };
}

function seriesOf(taken: number[]): Series | null {
  const sorted = taken.toSorted((a, b) => a - b);
  return sorted.length === 0 ? null : { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), least: sorted[0]! };
}

function lineOf({ cell, total, exact, first, next, deep, deepPage }: MeasuredCell): string {
  const order = `${cell.orderBy.split("_")[0]} ${cell.orderDirection}`.padEnd(13);
  const counted = `${total.toLocaleString("en")}${exact ? "" : " WRONG"}`.padStart(11);
  const figures = (series: Series | null) =>
    series === null ? "–".padStart(20) : `${ms(series.p50)} ${ms(series.p99)} ${ms(series.least)}`;
  const far = deep === null ? "" : `${figures(deep)}  page ${deepPage}`;
  return `${cell.name.padEnd(44)} ${order} ${counted}  ${figures(first)} ${figures(next)} ${far}`;
}

function summarize(all: readonly MeasuredCell[]) {
  const pages = all.flatMap(({ first, next, deep }) => [first, next, deep].filter((each) => each !== null));
  const deeps = all.flatMap(({ next, deep }) => (next && deep ? [{ next, deep }] : []));
  const said = (name: string, met: number, of: number, worst: string) =>
    console.log(`${name.padEnd(46)} ${met} of ${of}${met === of ? "" : " MISSED"}   worst ${worst}`);
  const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), 0);
  const p50s = pages.map(({ p50 }) => p50);
  const p99s = pages.map(({ p99 }) => p99);
  const totals = all.map(({ first, next }) => first.p50 - (next?.p50 ?? 0));
  const ratios = deeps.map(({ next, deep }) => deep.least / next.least).toSorted((a, b) => a - b);
  const near = deeps.filter(({ next, deep }) => deep.least <= next.least * DEEP_RATIO + NOISE_MS).length;
  const least = pages.map((page) => page.least);
  console.log(`\n${all.length} cells, ${pages.length} pages`);
  said(
    `p50 <= ${PAGE_P50_MS} ms`,
    p50s.filter((p50) => p50 <= PAGE_P50_MS).length,
    p50s.length,
    `${ms(most(p50s))} ms`,
  );
  said(
    `p99 <= ${PAGE_P99_MS} ms`,
    p99s.filter((p99) => p99 <= PAGE_P99_MS).length,
    p99s.length,
    `${ms(most(p99s))} ms`,
  );
  said(
    `totalSize (first page minus second), p50 <= ${TOTAL_P50_MS} ms`,
    totals.filter((p50) => p50 <= TOTAL_P50_MS).length,
    totals.length,
    `${ms(most(totals))} ms`,
  );
  said(
    `minimum <= ${PAGE_P50_MS} ms`,
    least.filter((each) => each <= PAGE_P50_MS).length,
    least.length,
    `${ms(most(least))} ms`,
  );
  said(
    `deep <= ${DEEP_RATIO} x second page + ${NOISE_MS} ms, by the minimum`,
    near,
    deeps.length,
    ratios.length === 0 ? "none" : `${most(ratios).toFixed(2)}, median ${quantile(ratios, 0.5).toFixed(2)}`,
  );
  said("totalSize as counted one by one", all.filter(({ exact }) => exact).length, all.length, "");
}
