// A process of `ingest` and `reading`: sends prepared requests over HTTPS or by COPY.
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { buildCopy, type CopyTransaction } from "../lab/studies/twin-tables.ts";
import { connectTo, copyIn } from "./copy-rows.ts";
import { openPoster, postRequest } from "./https-posts.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { BATCH, createInvoiceMaker, type Mix, requestBodyOf } from "./invoice-batches.ts";
import { serveRequests } from "./worker-process.ts";

const CONNECTIONS = 8;

export interface LoadPlan {
  /** `bare`: over HTTPS to a server that only parses. */
  way: "https" | "bare" | "copy";
  mix: Mix;
  batches: number;
  /** COPY: batches per transaction. */
  together?: number;
  /** New invoices only, whatever the mix. */
  fresh?: boolean;
}

const maker = createInvoiceMaker(Date.now());
const twinMaker = createInvoiceMaker(Date.now());
const merchantId = randomUUID();
let facts: IngestFacts;
type Posters = Awaited<ReturnType<typeof openPoster>>[];
const posters: Record<"https" | "bare", Posters> = { https: [], bare: [] };
let clients: pg.Client[] = [];
let target: LoadPlan["way"] = "https";
/** Sent by `run`. */
let requests: Buffer[] = [];
let copies: CopyTransaction[] = [];

const postersTo = (port: number): Promise<Posters> =>
  Promise.all(Array.from({ length: CONNECTIONS }, () => openPoster(port, facts.ca)));

async function sendAll<Piece>(pieces: readonly Piece[], send: (index: number, piece: Piece) => Promise<void>) {
  const waiting = pieces.values();
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, index) => {
      for (const piece of waiting) await send(index, piece);
    }),
  );
  return performance.now() - startedMs;
}

function buildCopies({ mix, batches, together = 1 }: LoadPlan): CopyTransaction[] {
  const made = twinMaker.batches(mix, batches, true);
  return Array.from({ length: Math.ceil(batches / together) }, (_, index) =>
    buildCopy(made.slice(index * together, (index + 1) * together).flat(), merchantId),
  );
}

serveRequests({
  async connect(given: IngestFacts) {
    facts = given;
    posters.https = await postersTo(facts.port);
    posters.bare = await postersTo(facts.barePort);
    clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectTo(facts.address)));
  },
  prepare(what: LoadPlan) {
    target = what.way;
    if (target === "copy") copies = buildCopies(what);
    else
      requests = maker
        .batches(what.mix, what.batches, what.fresh === true)
        .map((batch) => postRequest("/ingest/v1/invoices", facts.apiKey, requestBodyOf(batch)));
    return { records: what.batches * BATCH };
  },
  run() {
    const by = target;
    return by === "copy"
      ? sendAll(copies, (index, copy) => copyIn(clients[index]!, copy))
      : sendAll(requests, (index, request) => posters[by][index]!.post(request));
  },
});
